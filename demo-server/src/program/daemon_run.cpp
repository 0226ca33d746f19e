// SPDX-License-Identifier: BSD-3-Clause
// The life of the server between ready and gone: signals, housekeeping, draining.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "rpcrdma/nfsd/program/daemon.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::chrono::seconds kDrain{10};
/// For closing what the deadline has cut off.
constexpr std::chrono::seconds kGrace{5};
constexpr std::chrono::seconds kTidying{2};

std::size_t open_descriptors() {
  std::error_code ignored;
  const std::filesystem::directory_iterator all("/proc/self/fd", ignored);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

void Daemon::catch_signals() {
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.add(SIGUSR1);
  // With nothing to read again it ends the program, as it does others.
  if (!options_.config.empty()) signals_.add(SIGHUP);
}

int Daemon::run() {
  await_signal();
  await_tidying();
  control_.run();
  return EXIT_SUCCESS;
}

void Daemon::await_signal() {
  signals_.async_wait([this](error_code failed, int number) {
    if (failed) return;
    if (number == SIGUSR1)
      report_counters();
    else if (number == SIGHUP)
      reload();
    else if (ending_)
      std::_Exit(EXIT_FAILURE);  // asked twice: at once
    else
      shut_down();
    await_signal();
  });
}

void Daemon::await_tidying() {
  tidying_.expires_after(kTidying);
  tidying_.async_wait([this](error_code failed) {
    if (failed) return;
    // Closing files may block.
    io_->submit([this](const HandleCodec&) { exports_.tidy(); });
    await_tidying();
  });
}

void Daemon::shut_down() {
  ending_ = true;
  tidying_.cancel();
  log_.info("ending");
  // First, so that nobody new is sent here.
  rpcbind_.remove();
  const auto deadline = std::chrono::steady_clock::now() + kDrain;
  open_fronts_ = groups_.size() + tcp_servers_.size();
  const auto one_closed = [this] { boost::asio::post(control_, [this] { closed(); }); };
  for (const auto& group : groups_) group->server->close(deadline, one_closed);
  for (const auto& server : tcp_servers_) server->close(deadline, one_closed);
  grace_.expires_at(deadline + kGrace);
  grace_.async_wait([this](error_code failed) {
    if (failed) return;
    log_.error("connections could not be closed in time");
    std::_Exit(EXIT_FAILURE);
  });
}

void Daemon::closed() {
  if (--open_fronts_ != 0) return;
  grace_.cancel();
  end_loops();
  control_.stop();
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
  auto report = std::make_shared<CountersReport>();
  for (const auto& group : groups_) report->waiting += group->lanes.size();
  const auto print = [this, report] {
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
