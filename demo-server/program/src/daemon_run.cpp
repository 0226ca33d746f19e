// SPDX-License-Identifier: BSD-3-Clause
// The server from ready to exit: signals, housekeeping, draining.
// Operation: the control thread waits for signals and never blocks, so that a second SIGTERM and the deadline of the
// first one take effect whatever hangs. It passes work that may block to the main thread or to the I/O threads.
// Error handling: at the deadline _Exit() ends the process, whatever still hangs.
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/nfsd/program/daemon.hpp"
#include "rpcrdma/nfsd/service/signals.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::chrono::seconds kDrain{10};
/// Time to close connections and file systems after the drain.
constexpr std::chrono::seconds kGrace{5};
constexpr std::chrono::seconds kTidying{2};

struct TidyingEnds {
  std::atomic<bool>& now;
  ~TidyingEnds() { now = false; }
};

}  // namespace

void Daemon::catch_signals() {
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.add(SIGUSR1);
  if (capture_ != nullptr) signals_.add(SIGUSR2);
  // Without a configuration file, SIGHUP keeps its action: by default, it ends the process.
  if (!options_.config.empty()) signals_.add(SIGHUP);
  await_signal();
  control_thread_ = std::thread([this] {
    const auto guard = boost::asio::make_work_guard(control_);
    control_.run();
  });
  block_external_signals();
}

int Daemon::run() {
  manager_.ready(ready_line());
  boost::asio::post(control_, [this] {
    await_tidying();
    await_watchdog();
  });
  const auto guard = boost::asio::make_work_guard(slow_);
  slow_.run();
  return EXIT_SUCCESS;
}

void Daemon::await_signal() {
  signals_.async_wait([this](error_code failed, int number) {
    if (failed) return;
    if (number == SIGUSR1) {
      report_counters();
    } else if (number == SIGUSR2) {
      toggle_capture();
    } else if (number == SIGHUP) {
      if (!ending_) boost::asio::post(slow_, [this] { reload(); });
    } else if (ending_) {
      log_.warn("second signal: exiting at once");
      std::_Exit(EXIT_FAILURE);
    } else {
      shut_down();
    }
    await_signal();
  });
}

void Daemon::toggle_capture() {
  capture_->toggle();
  const capture::CaptureCounts counts = capture_->counts();
  log_.info("capture: {}: {} frames so far, {} dropped", capture_->running() ? "started" : "stopped", counts.frames,
            counts.dropped);
}

void Daemon::await_tidying() {
  if (ending_) return;
  tidying_.expires_after(kTidying);
  tidying_.async_wait([this](error_code failed) {
    if (failed || ending_) return;
    // tidy() may block, because it closes files: at most one thread runs it.
    if (!tidying_now_.exchange(true)) {
      io_->submit([this](const HandleCodec&) {
        const TidyingEnds ends{tidying_now_};
        exports_.tidy();
      });
    }
    await_tidying();
  });
}

/// Runs on the control thread every watchdog_interval(), and schedules its next run. If every event loop has answered
/// the previous check, notifies the service manager and starts a new check. Otherwise loop_answered() sends the
/// notification when the last answer arrives. The notifications thus stop if the control thread or an event loop stays
/// blocked.
void Daemon::await_watchdog() {
  const auto interval = manager_.watchdog_interval();
  if (ending_ || !interval) return;
  if (silent_loops_ == 0) {
    manager_.alive();
    silent_loops_ = loops_.size();
    for (const auto& loop : loops_)
      boost::asio::post(loop->context, [this] { boost::asio::post(control_, [this] { loop_answered(); }); });
  } else {
    late_ = true;
  }
  watchdog_.expires_after(*interval);
  watchdog_.async_wait([this](error_code failed) {
    if (!failed) await_watchdog();
  });
}

/// Called when an event loop has answered await_watchdog(). If the last answer comes after the watchdog's interval,
/// notifies the service manager at once instead of at the next interval. This may still be in time, because the
/// interval is half of the manager's limit.
void Daemon::loop_answered() {
  if (--silent_loops_ == 0 && std::exchange(late_, false)) manager_.alive();
}

void Daemon::shut_down() {
  ending_ = true;
  tidying_.cancel();
  watchdog_.cancel();
  manager_.stopping();
  log_.info("shutting down");
  const auto deadline = std::chrono::steady_clock::now() + kDrain;
  end_by(deadline + kGrace);
  boost::asio::post(slow_, [this] { rpcbind_.remove(); });
  open_servers_ = groups_.size() + tcp_servers_.size();
  const auto one_closed = [this] { boost::asio::post(control_, [this] { closed(); }); };
  for (const auto& group : groups_) group->server->close(deadline, one_closed);
  for (const auto& server : tcp_servers_) server->close(deadline, one_closed);
}

void Daemon::closed() {
  if (--open_servers_ != 0) return;
  closed_ = true;
  boost::asio::post(slow_, [this] { slow_.stop(); });
}

void Daemon::end_by(std::chrono::steady_clock::time_point deadline) {
  grace_.expires_at(deadline);
  grace_.async_wait([this](error_code failed) {
    if (failed) return;
    if (const std::size_t hang = io_->busy(); hang != 0)
      log_.error("shutdown timed out: {} file system calls still running; exiting anyway", hang);
    else if (!closed_)
      log_.error("shutdown timed out: connections still open; exiting anyway");
    else
      log_.error("shutdown timed out: opening or closing a file system still blocks; exiting anyway");
    std::_Exit(EXIT_FAILURE);
  });
}

/// Destroys the members whose destruction may block, for example in a system call on a file system that hangs. If the
/// control thread has been started, it still runs meanwhile, and ends the process at the deadline of end_by().
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
  end_metrics();
  end_loops();
  tcp_servers_.clear();
  groups_.clear();
  shared_.reset();
  loops_.clear();
  static_cast<void>(exports_.replace({}, options_.state_dir, log_));
  exports_.tidy();
}

/// The sums of the counters of all workers. Each worker adds its own on its thread; then the control thread prints the
/// sums.
struct Daemon::CountersReport {
  std::atomic<std::size_t> waiting{0};
  std::atomic<std::size_t> regions{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::size_t> lent{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> rejected{0};
};

void Daemon::report_counters() {
  if (closed_) return;
  auto report = std::make_shared<CountersReport>();
  for (const auto& group : groups_) report->waiting += group->workers.size();
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
    Runner::Counters waits;
    for (const auto& loop : loops_) {
      const auto one = loop->runner.counters();
      waits.polls += one.polls;
      waits.found += one.found;
      waits.blocks += one.blocks;
    }
    print_error(
        "counters connections={} accepted={} refused={} calls={} rejected={} rdma_errors={} regions={} "
        "registered={} lent={} bulk={} receive={} descriptors={} tcp_connections={} tcp_accepted={} tcp_refused={} "
        "polls={} polls_found={} blocks={}\n",
        sum.connections, sum.accepted, sum.refused, report->calls.load(), report->rejected.load(), sum.errors_sent,
        report->regions.load(), report->bytes.load(), report->lent.load(), sum.bulk_in_use, sum.receive_octets,
        open_descriptors(), tcp.connections, tcp.accepted, tcp.refused, waits.polls, waits.found, waits.blocks);
    std::fflush(stderr);
  };
  for (const auto& group : groups_) {
    for (const auto& one : group->workers) {
      boost::asio::post(one->context(), [this, &worker = *one, report, print] {
        const auto pool = worker.pool().counters();
        report->regions += worker.regions();
        report->bytes += pool.registered_octets;
        report->lent += pool.lent;
        report->calls += worker.dispatcher().counters().calls;
        report->rejected += worker.dispatcher().counters().rejected;
        if (--report->waiting == 0) boost::asio::post(control_, print);
      });
    }
  }
}

}  // namespace rpcrdma::nfsd
