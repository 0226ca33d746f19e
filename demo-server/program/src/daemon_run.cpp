// SPDX-License-Identifier: BSD-3-Clause
// The life of the server between ready and gone: signals, housekeeping, draining.
// Operation: the control thread waits for signals and never blocks, so that a second SIGTERM, and the bound on what the
// first one began, take effect whatever hangs. What may block, it hands to the main thread or to the I/O threads.
// Error handling: whoever does not come back in time is left behind by _Exit().
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <utility>

#include "rpcrdma/nfsd/program/daemon.hpp"
#include "rpcrdma/nfsd/service/signals.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::chrono::seconds kDrain{10};
/// For closing what the deadline has cut off, and for the file systems.
constexpr std::chrono::seconds kGrace{5};
constexpr std::chrono::seconds kTidying{2};

std::size_t open_descriptors() {
  std::error_code ignored;
  const std::filesystem::directory_iterator all("/proc/self/fd", ignored);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct TidyingEnds {
  std::atomic<bool>& now;
  ~TidyingEnds() { now = false; }
};

}  // namespace

void Daemon::catch_signals() {
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.add(SIGUSR1);
  // With nothing to read again it ends the program, as it does others.
  if (!options_.config.empty()) signals_.add(SIGHUP);
  await_signal();
  control_thread_ = std::thread([this] {
    const auto guard = boost::asio::make_work_guard(control_);
    control_.run();
  });
  leave_signals_to_others();
}

int Daemon::run() {
  boost::asio::post(control_, [this] { await_tidying(); });
  const auto guard = boost::asio::make_work_guard(slow_);
  slow_.run();
  return EXIT_SUCCESS;
}

void Daemon::await_signal() {
  signals_.async_wait([this](error_code failed, int number) {
    if (failed) return;
    if (number == SIGUSR1) {
      report_counters();
    } else if (number == SIGHUP) {
      if (!ending_) boost::asio::post(slow_, [this] { reload(); });
    } else if (ending_) {
      log_.warn("told to end again: at once");
      std::_Exit(EXIT_FAILURE);
    } else {
      shut_down();
    }
    await_signal();
  });
}

void Daemon::await_tidying() {
  if (ending_) return;
  tidying_.expires_after(kTidying);
  tidying_.async_wait([this](error_code failed) {
    if (failed || ending_) return;
    // Closing files may block, and hang: one thread at a time.
    if (!tidying_now_.exchange(true)) {
      io_->submit([this](const HandleCodec&) {
        const TidyingEnds ends{tidying_now_};
        exports_.tidy();
      });
    }
    await_tidying();
  });
}

void Daemon::shut_down() {
  ending_ = true;
  tidying_.cancel();
  log_.info("ending");
  const auto deadline = std::chrono::steady_clock::now() + kDrain;
  end_by(deadline + kGrace);
  boost::asio::post(slow_, [this] { rpcbind_.remove(); });
  open_fronts_ = groups_.size() + tcp_servers_.size();
  const auto one_closed = [this] { boost::asio::post(control_, [this] { closed(); }); };
  for (const auto& group : groups_) group->server->close(deadline, one_closed);
  for (const auto& server : tcp_servers_) server->close(deadline, one_closed);
}

void Daemon::closed() {
  if (--open_fronts_ != 0) return;
  closed_ = true;
  boost::asio::post(slow_, [this] { slow_.stop(); });
}

void Daemon::end_by(std::chrono::steady_clock::time_point deadline) {
  grace_.expires_at(deadline);
  grace_.async_wait([this](error_code failed) {
    if (failed) return;
    if (const std::size_t hang = io_->at_work(); hang != 0)
      log_.error("not ended in time, as {} calls have not come back from a file system: ending without them", hang);
    else if (!closed_)
      log_.error("connections could not be closed in time");
    else
      log_.error("not ended in time, as a file system could not be opened or closed: ending without it");
    std::_Exit(EXIT_FAILURE);
  });
}

/// What may hang, while the control thread still watches.
void Daemon::tear_down() {
  if (control_thread_.joinable()) {
    std::promise<void> left;
    boost::asio::post(control_, [&] {
      if (!std::exchange(ending_, true)) end_by(std::chrono::steady_clock::now() + kGrace);
      closed_ = true;
      left.set_value();
    });
    left.get_future().get();
  }
  end_loops();
  tcp_servers_.clear();
  groups_.clear();
  shared_.reset();
  loops_.clear();
  std::string why;
  exports_.replace({}, options_.state_dir, log_, why);
}

/// Sums over all lanes, each asked on its own thread; the last one prints.
struct Daemon::CountersReport {
  std::atomic<std::size_t> waiting{0};
  std::atomic<std::size_t> regions{0};
  std::atomic<std::size_t> octets{0};
  std::atomic<std::size_t> lent{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> rejected{0};
};

void Daemon::report_counters() {
  if (closed_) return;
  auto report = std::make_shared<CountersReport>();
  for (const auto& group : groups_) report->waiting += group->lanes.size();
  const auto print = [this, report] {
    if (closed_) return;
    transport::Server::Counters sum;
    for (const auto& group : groups_) {
      const auto one = group->server->counters();
      sum.connections += one.connections;
      sum.accepted += one.accepted;
      sum.refused += one.refused;
      sum.errors_sent += one.errors_sent;
      sum.bulk_in_use += one.bulk_in_use;
      sum.receive_octets += one.receive_octets;
    }
    rpc::TcpServer::Counters tcp;
    for (const auto& server : tcp_servers_) {
      const auto one = server->counters();
      tcp.connections += one.connections;
      tcp.accepted += one.accepted;
      tcp.refused += one.refused;
    }
    fmt::print(
        stderr,
        "counters connections={} accepted={} refused={} calls={} rejected={} rdma_errors={} regions={} "
        "registered={} lent={} bulk={} receive={} descriptors={} tcp_connections={} tcp_accepted={} tcp_refused={}\n",
        sum.connections, sum.accepted, sum.refused, report->calls.load(), report->rejected.load(), sum.errors_sent,
        report->regions.load(), report->octets.load(), report->lent.load(), sum.bulk_in_use, sum.receive_octets,
        open_descriptors(), tcp.connections, tcp.accepted, tcp.refused);
    std::fflush(stderr);
  };
  for (const auto& group : groups_) {
    for (const auto& lane : group->lanes) {
      boost::asio::post(lane->context(), [this, &lane = *lane, report, print] {
        const auto pool = lane.pool().counters();
        report->regions += lane.regions();
        report->octets += pool.registered_octets;
        report->lent += pool.lent;
        report->calls += lane.dispatcher().counters().calls;
        report->rejected += lane.dispatcher().counters().rejected;
        if (--report->waiting == 0) boost::asio::post(control_, print);
      });
    }
  }
}

}  // namespace rpcrdma::nfsd
