// SPDX-License-Identifier: BSD-3-Clause
// Operation: makes calls until the quota is reached, with pauses, and at most `width_` at a time.
// Ownership: each OneCall lives as long as the client; the memory of a call returns to the pool after the call.
// Error handling: any error may end a call unless must_succeed is set; a success is checked against the call's token.
#include "call_client.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

namespace rpcrdma::sim {

namespace {

constexpr std::uint32_t kShortBallast = 60;

transport::ClientOptions options_of(const Setup& setup) {
  transport::ClientOptions out;
  out.connection = setup.client;
  out.first_backoff = std::chrono::milliseconds(5);
  out.last_backoff = std::chrono::milliseconds(1000);
  out.silence = std::chrono::milliseconds(setup.silence_ms);
  out.grace = std::chrono::milliseconds(setup.grace_ms);
  return out;
}

}  // namespace

struct CallClient::OneCall {
  std::uint64_t token = 0;
  std::string_view name;
  bool must_succeed = false;
  std::uint32_t completions = 0;
  std::array<memory::RegisteredBuffer, 2> memory;
  std::array<BufferRef, 2> parts;
  std::string ballast;
  boost::asio::cancellation_signal cancel;
};

CallClient::CallClient(Stage& stage, std::uint32_t number, std::uint32_t quota)
    : stage_(stage),
      number_(number),
      quota_(quota),
      random_(stage.plan.seed * 1000 + number),
      width_(random_.between(1, 6)),
      fabric_(stage.network.make_fabric(fmt::format("client{}", number), stage.setup().client_device)),
      pool_(*fabric_, {std::size_t{16} << 20}),
      waits_(stage.context),
      pause_(stage.context),
      drain_(stage.context) {
  connection_ = transport::Client::make(*fabric_, pool_, stage.endpoint, options_of(stage.setup()), stage.log);
  if (random_.chance(60)) {
    handlers_of_pings_.emplace(*connection_);
    handlers_of_pings_->on<Ping>([this](rpc::ServerCall<Ping> call) { return ping(std::move(call)); });
  }
  watched_.emplace(connection_->requester(), *fabric_, stage_);
  client_.emplace(*watched_, stage.context.get_executor());
  pump();
}

CallClient::~CallClient() = default;

void CallClient::pump() {
  while (!ended_ && !paused_ && made_ < quota_ && open_ < width_) {
    make_call();
    if (!random_.chance(30)) continue;
    paused_ = true;
    pause_.expires_after(std::chrono::milliseconds(random_.below(40)));
    pause_.async_wait([this](error_code cancelled) {
      if (cancelled) return;
      paused_ = false;
      pump();
    });
  }
}

void CallClient::make_call() {
  ++made_;
  ++open_;
  OneCall& call = *calls_.emplace_back(std::make_unique<OneCall>());
  call.token = std::uint64_t{number_} << 32 | std::uint64_t{made_} << 8;
  call.must_succeed = stage_.plan.liveness || (stage_.faults_over && !stage_.plan.fails_operations());
  switch (random_.below(handlers_of_pings_ ? 10 : 8)) {
    case 0:
    case 1: return make_once(call, random_.below(kShortBallast));
    case 2: return make_once(call, random_.below(stage_.setup().max_bulk));
    case 3:
    case 4: return make_store(call);
    case 8:
    case 9: return make_watch(call);
    default: return make_fetch(call);
  }
}

bool CallClient::take_memory(OneCall& call, std::size_t index, std::uint32_t size) {
  auto memory = pool_.allocate(size);
  if (!memory) return false;
  call.memory[index] = std::move(*memory);
  call.parts[index] = call.memory[index].ref();
  return true;
}

void CallClient::make_once(OneCall& call, std::uint32_t ballast) {
  call.name = "ONCE";
  call.ballast.resize(ballast);
  fill(std::as_writable_bytes(std::span(call.ballast)), call.token);
  OnceArgs args{};
  args.token = call.token;
  args.hold = random_.chance(40) ? random_.below(500) : 0;
  args.ballast.set(call.ballast);
  start<Once>(call, args, {}, [&call](const TokenResult& result) { return result.token == call.token; });
}

void CallClient::make_store(OneCall& call) {
  call.name = "STORE";
  StoreArgs args{};
  args.token = call.token;
  for (std::size_t i = 0; i < call.memory.size(); ++i) {
    const std::uint32_t size = random_.below(stage_.setup().max_bulk);
    if (size == 0 || !take_memory(call, i, size)) continue;
    fill(call.memory[i].octets(), call.token + i);
    (i == 0 ? args.first : args.second).set_parts({&call.parts[i], 1});
  }
  start<Store>(call, args, {}, [&call](const TokenResult& result) { return result.token == call.token; });
}

void CallClient::make_fetch(OneCall& call) {
  call.name = "FETCH";
  FetchArgs args{call.token, random_.below(stage_.setup().max_bulk), random_.below(stage_.setup().max_bulk)};
  rpc::CallOptions options;
  const bool placed = random_.chance(60) && args.first != 0 && args.second != 0 && take_memory(call, 0, args.first) &&
                      take_memory(call, 1, args.second);
  if (placed) options.into({&call.parts[0], 1}).into({&call.parts[1], 1});
  start<Fetch>(call, args, std::move(options), [&call, args, placed](const FetchResult& result) {
    if (result.token != call.token || result.first.length != args.first || result.second.length != args.second)
      return false;
    if (placed) return matches(call.memory[0].octets(), call.token) && matches(call.memory[1].octets(), call.token + 1);
    return matches(result.first.octet_span(), call.token) && matches(result.second.octet_span(), call.token + 1);
  });
}

void CallClient::make_watch(OneCall& call) {
  call.name = "WATCH";
  const WatchArgs args{call.token, random_.between(1, 4), random_.below(2)};
  start<Watch>(call, args, {}, [&call](const TokenResult& result) { return result.token == call.token; });
}

template <rpc::Procedure P, class Check>
void CallClient::start(OneCall& call, const typename P::Args& args, rpc::CallOptions options, Check check) {
  const std::uint32_t timeout = stage_.faults_over ? 600'000 : stage_.setup().call_timeout_ms;
  options.within(std::chrono::milliseconds(stage_.plan.liveness ? timeout : random_.between(timeout / 4, timeout)));
  stage_.trace.note("client{}: {} {:x}", number_, call.name, call.token);
  const auto done = [this, &call, check](error_code status, const rpc::Decoded<typename P::Result>& reply) {
    over(call, status);
    if (!status) stage_.trace.require(check(*reply), invariant::kBytes, "reply to {} {:x}", call.name, call.token);
    for (memory::RegisteredBuffer& memory : call.memory) memory.reset();
    pump();
  };
  client_->async_call<P>(args, options, boost::asio::bind_cancellation_slot(call.cancel.slot(), done));
}

void CallClient::over(OneCall& call, error_code status) {
  stage_.trace.note("client{}: {} {:x}: {}", number_, call.name, call.token, status.message());
  ++call.completions;
  stage_.trace.require(call.completions == 1, invariant::kOnce, "{} {:x} completes {} times", call.name, call.token,
                       call.completions);
  check_memory(call);
  --open_;
  if (!status) ++succeeded_;
  if (!status && call.name != "FETCH")
    stage_.trace.require(stage_.ever_run.contains(call.token), invariant::kExecutedOnce,
                         "{} {:x} succeeds but has not run", call.name, call.token);
  if (call.must_succeed && !ended_)
    stage_.trace.require(!status, invariant::kAlive, "{} {:x} fails: {}", call.name, call.token, status.message());
}

void CallClient::check_memory(const OneCall& call) {
  for (const fabric::LoopbackExposure& exposure : fabric_->exposures())
    for (const memory::RegisteredBuffer& own : call.memory) {
      const bool apart = !own || exposure.memory.data >= own.octets().data() + own.octets().size() ||
                         exposure.memory.data + exposure.memory.size <= own.octets().data();
      stage_.trace.require(apart, invariant::kInvalidated, "memory of {} {:x} remains exposed", call.name, call.token);
    }
}

void CallClient::cancel(std::uint32_t which) {
  if (calls_.empty()) return;
  OneCall& call = *calls_[calls_.size() - 1 - which % std::min<std::size_t>(calls_.size(), width_)];
  call.must_succeed = false;
  call.cancel.emit(boost::asio::cancellation_type::terminal);
}

boost::asio::awaitable<void> CallClient::ping(rpc::ServerCall<Ping> call) {
  const std::uint64_t token = call.args().token;
  stage_.trace.require(pings_.insert(token).second, invariant::kExecutedOnce, "PING {:x} runs twice", token);
  ++handlers_;
  co_await waits_.wait(std::chrono::milliseconds(call.args().hold));
  call.reply({token});
  --handlers_;
}

void CallClient::end() {
  if (ended_) return;
  ended_ = true;
  pause_.cancel();
  client_.reset();
  connection_.reset();
  handlers_of_pings_.reset();
  waits_.end();
  drain_.start();
}

void CallClient::check_idle() {
  if (ended_) return;
  const Counters counters = watched_->counters();
  stage_.trace.require(counters.in_flight == 0 && counters.waiting == 0, invariant::kNothingLeft,
                       "client{}: {} calls in flight and {} waiting", number_, counters.in_flight, counters.waiting);
  stage_.trace.require(fabric_->bound_windows() == 0, invariant::kNothingLeft, "client{}: {} windows bound", number_,
                       fabric_->bound_windows());
}

void CallClient::check_over() {
  for (const auto& call : calls_)
    stage_.trace.require(call->completions == 1, invariant::kOnce, "{} {:x} has completed {} times", call->name,
                         call->token, call->completions);
}

}  // namespace rpcrdma::sim
