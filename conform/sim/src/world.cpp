// SPDX-License-Identifier: BSD-3-Clause
// Operation: handlers of the event loop run one by one, and faults are applied between them. The handlers check most
// invariants; the others are checked after each handler or at the end. When nothing is ready, simulated time moves to
// the next timer. When the clients have finished, the faults are ended, and one of a few new clients must succeed.
// Clients and server are then ended, and nothing may be left.
// Ownership: a World owns its clients and servers. The objects of a run that has failed are not destroyed.
#include "world.hpp"

#include <algorithm>
#include <thread>

#include "environment.hpp"

namespace rpcrdma::sim {

namespace {

constexpr std::uint64_t kMostSteps = 400'000;
constexpr std::chrono::nanoseconds kMostTime = std::chrono::hours(4);
constexpr std::chrono::nanoseconds kStep = std::chrono::microseconds(2);
constexpr std::uint32_t kProbeCalls = 4;
constexpr std::uint32_t kMostProbes = 20;

}  // namespace

World::World(const Plan& plan, const RunOptions& options, nfsd::IoPool& io)
    : plan_(plan),
      trace_(options.trace),
      network_(context_, plan.setup.network),
      stage_{context_, network_, plan_, trace_, {}, {boost::asio::ip::make_address("127.0.0.1"), 20049},
             false,    0,        {},    {}},
      io_(io) {
  if (options.log != LogLevel::off) stage_.log = Log(make_stderr_sink(options.log, "sim"));
  nfsd::ExportSpec spec;
  spec.memory = true;
  spec.name = "/data";
  trace_.require(exports_.add(spec, {}, stage_.log).has_value(), invariant::kAlive, "cannot make the export");
  network_.start_trace();
}

World::~World() = default;

bool World::step() {
  if (context_.stopped()) context_.restart();
  if (context_.run_one() == 0) return false;
  trace_.begin_step();
  environment::advance(kStep);
  note_frames();
  trace_.require(network_.overruns() == 0, invariant::kCredits, "{} messages found no receive of sufficient size",
                 network_.overruns());
  sweep();
  while (!stage_.faults_over && next_fault_ < plan_.faults.size() && plan_.faults[next_fault_].at <= trace_.step())
    apply(plan_.faults[next_fault_++]);
  return true;
}

void World::note_frames() {
  if (network_.trace().empty()) return;
  for (const fabric::LoopbackTraceEntry& entry : network_.trace()) {
    const std::string_view octets(reinterpret_cast<const char*>(entry.octets.data()), entry.octets.size());
    trace_.note("{} qp {} handle {:08x} offset {:x} octets {:016x}", entry.text(), entry.queue_pair, entry.handle,
                entry.offset, hash_of(octets));
  }
  network_.start_trace();
}

template <class Done>
bool World::run_until(Done done, std::string_view what) {
  while (!trace_.failed() && !done()) {
    const bool moved = step();
    trace_.require(!stalled_, invariant::kAlive, "{}: has not happened within the limit of simulated time", what);
    trace_.require(moved, invariant::kAlive, "{}: no event is pending", what);
    trace_.require(trace_.step() < kMostSteps, invariant::kAlive, "{}: has not happened after {} steps", what,
                   kMostSteps);
  }
  return !trace_.failed();
}

bool World::finished() const {
  const auto over = [](const auto& client) { return client->finished(); };
  return std::ranges::all_of(call_clients_, over) && std::ranges::all_of(file_clients_, over) && lost_clients_.empty();
}

/// Ends the simulated faults of the network and lets the actions that are still scheduled, such as a restart of the
/// server, happen at once. Then waits until the server is running and no handler of a call runs any more.
void World::settle() {
  stage_.faults_over = true;
  trace_.note("faults are over");
  network_.set_max_delay(0);
  network_.resume();
  network_.drop_connection_after(std::uint64_t{1} << 40);
  for (const auto& later : later_) later->timer.cancel();
  run_until([this] { return later_.empty() && life_ != nullptr && !life_->closing(); }, "the server restarts");
  // The handler of a call that has timed out keeps memory of its ended connection until the handler ends.
  run_until([this] { return !life_->busy(); }, "handlers end");
}

/// Checks that the server still works. Makes up to kMostProbes new clients, one after another, until one succeeds with
/// all its calls. A client may fail, because faults that make fabric operations fail may still be pending.
void World::probe() {
  for (std::uint32_t i = 0; i < kMostProbes && !trace_.failed(); ++i) {
    CallClient& client =
        *call_clients_.emplace_back(std::make_unique<CallClient>(stage_, ++clients_made_, kProbeCalls));
    if (!run_until([&client] { return client.finished(); }, "the last calls")) return;
    if (client.succeeded() == kProbeCalls) return;
  }
  trace_.require(trace_.failed(), invariant::kAlive, "the last calls fail again and again");
}

void World::check_idle() {
  run_until([this] { return !life_->busy(); }, "handlers end");
  for (const auto& client : call_clients_) client->check_idle();
  for (const auto& client : file_clients_) client->check_idle();
}

void World::end_clients() {
  for (const auto& client : call_clients_) client->check_over();
  while (!call_clients_.empty()) crash_client(0);
  for (auto& client : file_clients_) {
    client->end();
    retired_.push_back(std::move(client));
  }
  file_clients_.clear();
  run_until([this] { return ended_clients_.empty(); }, "the memory of clients returns");
  run_until([this] { return life_->server()->counters().connections == 0; }, "connections of clients end");
  run_until([this] { return !life_->busy(); }, "handlers end");
  const transport::Server::Counters counters = life_->server()->counters();
  trace_.require(counters.bulk_in_use == 0, invariant::kNothingLeft, "server: {} bytes of the bulk budget are in use",
                 counters.bulk_in_use);
  for (const auto& client : retired_)
    trace_.require(client->fabric()->regions() == 0 && client->fabric()->bound_windows() == 0, invariant::kNothingLeft,
                   "file client: {} regions and {} windows", client->fabric()->regions(),
                   client->fabric()->bound_windows());
}

void World::end_server() {
  bool closed = false;
  life_->close(std::chrono::seconds(1), [&closed] { closed = true; });
  if (!run_until([&closed] { return closed; }, "the server closes")) return;
  end_life();
  run_until([this] { return ended_lives_.empty(); }, "the memory of the server returns");
}

/// Runs the handlers that are still queued. The event loop must not wait for a timer meanwhile, because the clients and
/// servers, to which the timers belong, have ended.
void World::end_network() {
  const std::uint64_t before = environment::waits();
  while (step()) {
  }
  trace_.require(environment::waits() == before, invariant::kNothingLeft, "a timer");
}

Outcome World::play() {
  trace_.note("{}", text_of(plan_.setup));
  environment::set_limit(
      kMostTime,
      [](void* self) {
        auto& world = *static_cast<World*>(self);
        world.stalled_ = true;
        world.context_.stop();
      },
      this);
  start_server(plan_.setup.server.credits);
  const Setup& setup = plan_.setup;
  for (std::uint32_t i = 0; i < setup.call_clients; ++i)
    call_clients_.push_back(std::make_unique<CallClient>(stage_, ++clients_made_, setup.operations));
  for (std::uint32_t i = 0; i < setup.file_clients; ++i)
    file_clients_.push_back(std::make_unique<FileClient>(stage_, ++clients_made_));
  run_until([this] { return finished(); }, "clients finish");
  if (!trace_.failed()) settle();
  if (!trace_.failed()) probe();
  if (!trace_.failed()) check_idle();
  if (!trace_.failed()) end_clients();
  if (!trace_.failed()) end_server();
  if (!trace_.failed()) {
    for (const auto& client : retired_) client->check_files(*exports_.find("/data")->file_system);
    end_network();
  }
  return {trace_.violation(), trace_.hash(), trace_.step(), network_.frames(), calls_};
}

namespace {

/// An I/O pool that runs no job, because a memory export does not block. Its thread must be asleep before simulated
/// time begins.
nfsd::IoPool& idle_pool() {
  static nfsd::IoPool pool(1, {});
  while (pool.idle() == 0) std::this_thread::yield();
  return pool;
}

}  // namespace

Outcome play(const Plan& plan, const RunOptions& options) {
  nfsd::IoPool& io = idle_pool();
  environment::begin(plan.seed);
  auto world = std::make_unique<World>(plan, options, io);
  const Outcome outcome = world->play();
  if (outcome.violation)
    static_cast<void>(world.release());  // the remaining objects might not be in a state that can be destroyed
  world.reset();
  environment::end();
  return outcome;
}

}  // namespace rpcrdma::sim
