// SPDX-License-Identifier: BSD-3-Clause
// Operation: as many CallSequences as the depth of the case, spread over its connections, run until the time is up.
// Ownership: sequences and their registered buffers belong to a run and outlive their calls; connections stay open for
// the next run.
// Error handling: the first failed call ends the run with an exception.
#include "rpcrdma_subject.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "call_sequence.hpp"
#include "child.hpp"
#include "idle_connections.hpp"

namespace rpcrdma::bench {
namespace {

/// An upper bound on the memory registered for the receives and sends of one idle connection.
constexpr std::size_t kPoolForEach = 128u << 10;
/// The number of idle connections that are opened before the measurement of idle connections begins. Their cost, which
/// includes allocations that the server makes only once, is not part of the result.
constexpr std::uint32_t kFirstIdle = 16;

/// Makes sure that a child process can open `connections` connections to one port of the server. Raises the limit of
/// file descriptors, which child processes inherit, if it is too low. Throws Unavailable if the limit cannot be raised,
/// or if there are too few local ports.
void require_room(std::uint32_t connections) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = rlim_t{connections} + 200;
  if (limit.rlim_cur < wanted) {
    limit = {wanted, std::max(wanted, limit.rlim_max)};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
      throw Unavailable(fmt::format("{} connections need a limit of {} descriptors (ulimit -n)", connections, wanted));
  }
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first >> last;
  if (last < first + connections)
    throw Unavailable(
        fmt::format("{} connections need as many ports (sysctl net.ipv4.ip_local_port_range)", connections));
}

class Rpcrdma final : public Subject {
 public:
  Rpcrdma(const Setting& setting, std::uint32_t idle)
      : idle_count_(idle),
        setting_(setting),
        child_([&setting](Board& board, const auto& ready) { serve_rpcrdma(setting, board, ready); }) {
    if (idle != 0) add_idle(setting, idle);
  }

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    switch (which.operation) {
      case Operation::null: return value_of<service::Null>(which, budget);
      case Operation::read: return value_of<service::Read>(which, budget);
      case Operation::write: return value_of<service::Write>(which, budget);
      case Operation::setup: return setup_rate(which, budget, [this] { set_up(); });
      case Operation::idle_memory: return Outcome{idle_kib_.value(), 0};
      case Operation::posted_receives: return Outcome{posted_kib_.value(), 0};
      case Operation::connect_all: return Outcome{connect_ms_.value(), 0};
      case Operation::notice_end: return Outcome{notice_end(), 0};
      default: return std::nullopt;
    }
  }

  Usage usage() override {
    call<service::Publish>(loop(), link(0));
    return child_.usage(loop().fabric->counters());
  }

 private:
  void add_idle(const Setting& setting, std::uint32_t count) {
    // Opens a few connections first, so that allocations that the server makes only once are not counted.
    first_idle_ = hold_connections(setting, child_.port(), kFirstIdle);
    const auto [resident_before, posted_before] = footprint();
    const auto start = Clock::now();
    idle_ = hold_connections(setting, child_.port(), count);
    connect_ms_ = 1000 * seconds_since(start);
    const auto [resident, posted] = footprint();
    idle_kib_ = (static_cast<double>(resident) - static_cast<double>(resident_before)) / count / 1024;
    posted_kib_ = static_cast<double>(posted - posted_before) / count / 1024;
  }

  /// Ends the process that holds the measured idle connections (idle_). Returns the time, in milliseconds, after which
  /// the server no longer counts these connections. Later calls measure nothing and return the same value.
  double notice_end() {
    if (notice_ms_) return *notice_ms_;
    // Opens the first link, because connections() makes a call. The link must be open before links_ is counted.
    connections();
    const std::size_t others = kFirstIdle + links_.size();
    const auto start = Clock::now();
    idle_.reset();
    for (std::uint32_t left = connections(); left > others; left = connections()) {
      if (seconds_since(start) > 300)
        throw std::runtime_error(
            fmt::format("the server still has {} connections, not {}, after {} idle connections have ended", left,
                        others, idle_count_));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    notice_ms_ = 1000 * seconds_since(start);
    return *notice_ms_;
  }
  std::uint32_t connections() {
    call<service::Publish>(loop(), link(0));
    return child_.board().connections;
  }

  /// The server's resident bytes, and the bytes registered for the receives of its connections.
  std::pair<std::uint64_t, std::uint64_t> footprint() {
    call<service::Publish>(loop(), link(0));
    return {child_.resident(), child_.board().receive_bytes};
  }

  /// Returns the event loop of the clients. The first call makes it. The loop is not made earlier, because a capture
  /// starts a thread when the loop is made, and the server processes must be forked while there is only one thread.
  Loop& loop() { return loop_ ? *loop_ : loop_.emplace(setting_); }

  Link& link(std::size_t number) {
    while (links_.size() <= number) links_.push_back(std::make_unique<Link>(loop(), child_.port()));
    return *links_[number];
  }

  void set_up() {
    Link once(loop(), child_.port());
    call<service::Null>(loop(), once);
  }

  /// Makes calls for `budget`; returns the seconds that they took.
  template <class P>
  double drive(Run& run, const Case& which, std::chrono::milliseconds budget) {
    run.bytes = which.bytes;
    std::vector<memory::RegisteredBuffer> buffers;
    std::vector<std::unique_ptr<CallSequence<P>>> sequences;
    for (std::uint32_t i = 0; i < which.depth; ++i) {
      auto buffer = loop().pool.allocate(std::max(run.bytes, 4096u));
      if (!buffer) throw std::runtime_error(buffer.error().message());
      buffers.push_back(std::move(*buffer));
      sequences.push_back(
          std::make_unique<CallSequence<P>>(run, link(i % which.connections).rpc, buffers.back().ref()));
    }
    const auto start = Clock::now();
    run.end = start + budget;
    for (const auto& sequence : sequences) sequence->start();
    loop_->context.restart();
    // Runner::run() would not return, because connections stay open and the context therefore always has work. This
    // loop ends when the last sequence has ended.
    while (run.active != 0) loop_->runner.run_one();
    if (run.failed) throw std::runtime_error(run.failed.message());
    return seconds_since(start);
  }

  template <class P>
  Outcome value_of(const Case& which, std::chrono::milliseconds budget) {
    Run run;
    std::vector<double> samples;
    if (which.unit == "us") {
      samples.reserve(1 << 20);
      run.samples = &samples;
    }
    const double seconds = drive<P>(run, which, budget);
    return run.samples != nullptr ? typical(samples) : rate(which, run.done, seconds);
  }

  std::uint32_t idle_count_;
  Setting setting_;
  Child child_;
  std::unique_ptr<Child> first_idle_;
  std::unique_ptr<Child> idle_;
  std::optional<double> idle_kib_;
  std::optional<double> posted_kib_;
  std::optional<double> connect_ms_;
  std::optional<double> notice_ms_;
  std::optional<Loop> loop_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace

std::unique_ptr<Subject> make_rpcrdma(const Setting& setting, std::uint32_t idle) {
  require_room(idle);
  Setting roomy = setting;
  roomy.pool_octets = std::max(setting.pool_octets, std::size_t{idle} * kPoolForEach);
  return std::make_unique<Rpcrdma>(roomy, idle);
}

}  // namespace rpcrdma::bench
