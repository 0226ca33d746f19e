// SPDX-License-Identifier: BSD-3-Clause
// Operation. The command runs while the io_context serves it. The misbehaviour consists of hooks, the setup of
// connections, answers to connection requests, and rules that take over calls or change replies. Of each kind of rule,
// the first that chooses the call and is not used up applies; one that leaves the reply unchanged is passed over.
// Ownership. Connections live until the end of the trial.
// Errors. run() throws CaseFailed if the command fails the case, and CaseSkipped if the misbehaviour never takes place.
// run_baseline() returns an error message instead.
#include "trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <csignal>

#include "process.hpp"

namespace rpcrdma::conform::client {
namespace {

using Clock = std::chrono::steady_clock;

/// A command is reported as retrying without end after more than kMostConnections connections, or after more than
/// kMostCalls calls plus kCallsOfBaseline for each call of the run without a fault.
constexpr std::size_t kMostCalls = 3000, kMostConnections = 100, kCallsOfBaseline = 20;

std::chrono::milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t begin = text.rfind('\n');
  return begin == text.npos ? text : text.substr(begin + 1);
}

std::string address_text(const fabric::Endpoint& endpoint) {
  const std::string text = endpoint.address().to_string();
  return endpoint.address().is_v6() ? '[' + text + ']' : text;
}

}  // namespace

void Stage::watch_interrupts() {
  interrupts = std::make_unique<boost::asio::signal_set>(context, SIGINT, SIGTERM);
  interrupts->async_wait([this](const boost::system::error_code& failed, int signal) {
    if (!failed) interrupted = signal;
  });
}

void Stage::wait(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  const auto guard = boost::asio::make_work_guard(context);
  context.restart();
  while (!done() && interrupted == 0 && Clock::now() < end) context.run_one_until(end);
  if (interrupted != 0) throw ClientInterrupted{interrupted};
}

When from(std::size_t number) {
  return [number](const Call& call) { return call.number >= number; };
}
When of(std::uint32_t procedure) {
  return [procedure](const Call& call) { return call.is(nfs::kProgram, procedure); };
}
When with_write_chunk() {
  return [](const Call& call) { return call.has_writes(); };
}
When with_reply_chunk() {
  return [](const Call& call) { return call.has_reply_chunk(); };
}
When with_read_chunk() {
  return [](const Call& call) { return call.has_reads(); };
}
When without_chunks() {
  return [](const Call& call) { return call.number > 1 && call.header.lists == ChunkLists{}; };
}

Trial::Trial(Stage& stage, Record& record, std::string id)
    : stage_(stage), record_(record), id_(std::move(id)), service_('/' + stage.options.export_name) {
  stage_.trial = this;
  stage_.watch.begin(id_.empty() ? "without a fault" : id_);
}

Trial::~Trial() { stage_.trial = nullptr; }

void Trial::on_reply(When when, Change change, std::size_t times) {
  rules_.push_back({std::move(when), std::move(change), {}, times});
}

void Trial::on_call(When when, TakeOver action, std::size_t times) {
  rules_.push_back({std::move(when), {}, std::move(action), times});
}

void Trial::requested(std::unique_ptr<fabric::ConnectionRequest> request) {
  if (connections() > kMostConnections) return;
  if (!answering_) return accept(std::move(request));
  happened();
  answering_(std::move(request));
}

void Trial::accept(std::unique_ptr<fabric::ConnectionRequest> request) {
  links_.emplace_back(*stage_.fabric, std::move(request), setup_, *this, stage_.watch);
}

void Trial::reject(std::unique_ptr<fabric::ConnectionRequest> request, const Bytes& private_data) {
  ++rejected_;
  stage_.fabric->reject(std::move(request), private_data);
}

void Trial::complete_later(Link& link, const Call& call, std::chrono::milliseconds delay) {
  boost::asio::steady_timer& timer = timers_.emplace_back(stage_.context, delay);
  timer.async_wait([&link, call, alive = std::weak_ptr(alive_)](const boost::system::error_code& failed) {
    if (!failed && !alive.expired() && !link.ended()) link.complete(call);
  });
}

void Trial::on_call(Link& link, Call call) {
  call.number = ++calls_;
  last_call_ = Clock::now();
  if (observer_) observer_(link, call);
  for (Rule& rule : rules_) {
    if (!rule.action || rule.times == 0 || !rule.when(call)) continue;
    --rule.times;
    happened();
    return rule.action(link, call);
  }
  link.complete(std::move(call));
}

void Trial::on_whole_call(Link& link, Call& call) {
  Reply reply = plan_reply(call, service_.serve(call.rpc), link.agreed(), link.setup().credits);
  for (Rule& rule : rules_) {
    if (!rule.change || rule.times == 0 || !rule.when(call)) continue;
    rule.change(reply, call, link);
    if (std::exchange(reply.unchanged, false)) continue;
    --rule.times;
    happened();
    break;
  }
  link.send(reply);
}

Bytes Trial::mount_reply(View message) {
  try {
    const RpcCall call = decode_call(message);
    last_call_ = Clock::now();
    if (call.program != nfs::kMountProgram) return encode(RpcReply{.xid = call.xid, .accept = kProgUnavail});
    const Answer answer = service_.serve(call);
    return encode(RpcReply{.xid = call.xid, .accept = answer.accept, .low = 3, .high = 3, .results = answer.results});
  } catch (const DecodeError&) {
    return {};
  }
}

bool Trial::retries_without_end() const noexcept {
  return calls_ > kMostCalls + kCallsOfBaseline * stage_.baseline.calls.size() || connections() > kMostConnections;
}

Outcome Trial::execute() {
  const fabric::Endpoint local = stage_.listener->local();
  const std::string address = address_text(local), port = std::to_string(local.port());
  std::map<std::string, std::string> values{
      {"url", fmt::format("nfs://{}:{}/{}", address, port, stage_.options.export_name)},
      {"address", address},
      {"port", port},
      {"dir", workplace_.local()},
      {"source", workplace_.source()}};
  if (stage_.mount_listener) values["mount_port"] = std::to_string(stage_.mount_listener->port());
  std::vector<std::string> command;
  for (const std::string& each : stage_.options.command) command.push_back(filled(each, values));
  std::map<std::string, std::string> environment{{"RPCRDMA_CONFORM_CASE", id_}};
  for (const auto& [name, value] : values) {
    std::string variable = "RPCRDMA_CONFORM_" + name;
    std::ranges::transform(variable, variable.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    environment[variable] = value;
  }

  Outcome out;
  const Clock::time_point start = last_call_ = Clock::now();
  {
    Process process(stage_.context, command, environment, workplace_.output());
    stage_.wait([&] { return process.ended() || retries_without_end(); }, stage_.options.patience);
    out.ended = process.ended();
    out.retries_without_end = !out.ended && retries_without_end();
    out.status = process.status();
    out.signal = process.signal();
    out.memory = process.memory();
  }
  out.took = since(start);
  out.silent = since(last_call_);
  out.calls = calls_;
  out.connections = connections();
  out.output = workplace_.end_of_output();
  out.outside = workplace_.changes_outside();
  for (const std::string& each : damage(stage_.baseline.local, workplace_.local_tree()))
    out.damaged.push_back("{dir}/" + each);
  for (const std::string& each : damage(stage_.baseline.exported, service_.files().tree()))
    out.damaged.push_back(each + " on the server");
  return out;
}

/// True if the case needs no run, because its rules and hooks apply to no call of the baseline run, the run without a
/// fault. False if an observer, a status hook or a function for connection requests is set, because the baseline run
/// does not show whether these would act.
bool Trial::is_out_of_reach() const {
  const Stage::Baseline& baseline = stage_.baseline;
  const Hooks& hooks = service_.hooks();
  if (answering_ || observer_ || hooks.status || hooks.reached_in(baseline.hooks)) return false;
  return std::ranges::none_of(rules_, [&](const Rule& rule) { return std::ranges::any_of(baseline.calls, rule.when); });
}

void Trial::run(Expect expect) {
  if (is_out_of_reach()) Record::skip("the command makes no call to which this applies");
  const auto breaches = [&] { return required_ ? stage_.watch.times(*required_) : 0; };
  const std::size_t before = breaches();
  const Outcome outcome = execute();
  record_.received(describe(outcome));
  if (const std::string line = last_line(outcome.output); !line.empty()) record_.received("it wrote: " + line);
  const bool occurred = happened_ || service_.hooks().used();
  const std::string wrong =
      judge(outcome, occurred ? expect : Expect::intact, {stage_.baseline.memory + stage_.options.memory});
  if (!wrong.empty()) Record::fail(occurred ? wrong : wrong + " (before the fault)");
  if (breaches() != before) Record::fail("the rule is broken: " + stage_.watch.last(*required_));
  if (!broken_.empty()) Record::fail(broken_);
  if (!occurred && outcome.status != 0) Record::skip("the command fails before the fault: " + describe(outcome));
  if (!occurred) Record::skip("the command makes no call to which this applies");
}

std::string Trial::run_baseline() {
  Stage::Baseline found;
  observe([&found](Link&, const Call& call) {
    if (found.calls.size() < kMostCalls) found.calls.push_back(call);
  });
  const Outcome outcome = execute();
  const std::string line = last_line(outcome.output), wrote = line.empty() ? "" : "; it wrote: " + line;
  if (outcome.calls == 0 && outcome.ended) return fmt::format("COMMAND makes no call ({}){}", describe(outcome), wrote);
  if (const std::string wrong = judge(outcome, Expect::success, {}); !wrong.empty())
    return "without a fault: " + wrong + wrote;
  found.local = workplace_.local_tree();
  found.exported = service_.files().tree();
  found.hooks = service_.hooks();
  found.memory = outcome.memory;
  stage_.baseline = std::move(found);
  return {};
}

}  // namespace rpcrdma::conform::client
