// SPDX-License-Identifier: BSD-3-Clause
// Operation: while connections are at work, a timer looks every second whether one of them holds memory for which
// others wait and does not go on. Ownership: connections are listed, not owned. Error handling: what is in the way is
// closed.
#include "tcp_part.hpp"

#include <algorithm>
#include <vector>

#include "tcp_connection.hpp"

namespace rpcrdma::rpc {
namespace {

constexpr std::chrono::seconds kLook{1};

std::size_t records_of(const TcpServerOptions& options) noexcept {
  return std::max<std::size_t>(options.record_budget, options.max_record);
}

}  // namespace

bool TcpShared::enter(const boost::asio::ip::address& peer) {
  const std::lock_guard lock(mutex_);
  if (connections_ >= options.max_connections) return false;
  std::uint32_t& here = peers_[peer];
  if (here >= options.max_connections_per_peer) return false;
  ++here;
  ++connections_;
  return true;
}

void TcpShared::leave(const boost::asio::ip::address& peer) noexcept {
  const std::lock_guard lock(mutex_);
  --connections_;
  const auto at = peers_.find(peer);
  if (at != peers_.end() && --at->second == 0) peers_.erase(at);
}

std::uint32_t TcpShared::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

TcpPart::TcpPart(TcpWorker w, std::shared_ptr<TcpShared> s)
    : worker(w),
      shared(std::move(s)),
      bulk_(shared->options.bulk_budget, shared->options.bulk_budget / kBudgetShares),
      all_records_(records_of(shared->options), records_of(shared->options) / kBudgetShares) {}

TcpPeer& TcpPart::enter(const boost::asio::ip::address& address) {
  TcpPeer& peer = peers_.try_emplace(address, bulk_, all_records_).first->second;
  ++peer.connections;
  return peer;
}

void TcpPart::leave(const boost::asio::ip::address& address) noexcept {
  const auto at = peers_.find(address);
  if (--at->second.connections == 0) peers_.erase(at);
}

void TcpPart::remove(TcpConnection& connection) noexcept {
  connections_.erase(&connection);
  if (draining_ && connections_.empty() && on_empty_) std::exchange(on_empty_, {})();
}

void TcpPart::drain(UniqueFunction<void()> handler) {
  draining_ = true;
  on_empty_ = std::move(handler);
  const std::vector<TcpConnection*> all(connections_.begin(), connections_.end());
  for (TcpConnection* connection : all) connection->drain();
  if (connections_.empty() && on_empty_) std::exchange(on_empty_, {})();
}

void TcpPart::watch() {
  if (std::exchange(watching_, true)) return;
  look_again(std::make_shared<boost::asio::steady_timer>(*worker.context));
}

/// The timer is its handler's, and goes with the io_context, which a part may outlive.
void TcpPart::look_again(std::shared_ptr<boost::asio::steady_timer> timer) {
  boost::asio::steady_timer& waiting = *timer;
  waiting.expires_after(std::min<std::chrono::steady_clock::duration>(kLook, shared->options.pressed_timeout));
  waiting.async_wait([self = weak_from_this(), timer = std::move(timer)](error_code status) mutable {
    const auto part = self.lock();
    if (part && !status && part->on_look()) part->look_again(std::move(timer));
  });
}

/// Whether to look again.
bool TcpPart::on_look() {
  const auto now = std::chrono::steady_clock::now();
  bool at_work = false;
  std::vector<std::shared_ptr<TcpConnection>> in_the_way;
  for (TcpConnection* connection : connections_) {
    if (!connection->at_work()) continue;
    at_work = true;
    if (connection->is_in_the_way(now)) in_the_way.push_back(connection->shared_from_this());
  }
  for (const auto& connection : in_the_way) {
    shared->log.info("{}:{} over TCP is closed: others wait for memory that it holds, and it does not go on",
                     connection->info().peer.address().to_string(), connection->info().peer.port());
    connection->close();
  }
  if (std::exchange(was_at_work_, at_work) || at_work) return true;
  watching_ = false;
  records.clear();
  return false;
}

void TcpPart::cut() noexcept {
  while (!connections_.empty()) (*connections_.begin())->close();
}

}  // namespace rpcrdma::rpc
