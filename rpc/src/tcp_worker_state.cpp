// SPDX-License-Identifier: BSD-3-Clause
// Operation: lists the connections of a worker, to drain or end them.
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
  while (!connections_.empty()) (*connections_.begin())->close();
}

}  // namespace rpcrdma::rpc
