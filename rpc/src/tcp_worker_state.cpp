// SPDX-License-Identifier: BSD-3-Clause
// Operation: lists the connections of a worker, to drain, end or report them.
// Ownership: connections own themselves, and are removed from the list when they are closed.
// Error handling: nothing here fails.
#include "tcp_worker_state.hpp"

#include <algorithm>
#include <vector>

#include "tcp_connection.hpp"

namespace rpcrdma::rpc {

TcpWorkerState::TcpWorkerState(const TcpWorker& worker, std::shared_ptr<TcpShared> s)
    : shared(std::move(s)),
      worker_(worker),
      replies_(shared->options.bulk_budget),
      records_(std::max<std::size_t>(shared->options.record_budget, shared->options.max_record)) {}

void TcpWorkerState::remove(TcpConnection& connection) noexcept {
  connections_.erase(&connection);
  if (draining_ && connections_.empty() && on_empty_) std::exchange(on_empty_, {})();
}

void TcpWorkerState::drain(UniqueFunction<void()> handler) {
  draining_ = true;
  on_empty_ = std::move(handler);
  const std::vector<TcpConnection*> all(connections_.begin(), connections_.end());
  for (TcpConnection* connection : all) connection->drain();
  if (connections_.empty() && on_empty_) std::exchange(on_empty_, {})();
}

void TcpWorkerState::cut() noexcept {
  while (!connections_.empty()) (*connections_.begin())->end_because("the server ends all connections");
}

std::vector<transport::ConnectionReport> TcpWorkerState::report(std::size_t most) const {
  std::vector<const TcpConnection*> busiest(connections_.begin(), connections_.end());
  const std::size_t shown = std::min(most, busiest.size());
  std::ranges::partial_sort(busiest, busiest.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater{},
                            &TcpConnection::calls_taken);
  std::vector<transport::ConnectionReport> out;
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < shown; ++i) out.push_back(busiest[i]->report(now));
  return out;
}

}  // namespace rpcrdma::rpc
