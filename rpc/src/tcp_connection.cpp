// SPDX-License-Identifier: BSD-3-Clause
// Operation: one read and one write are outstanding at most, and a timer that looks whether anything moves.
// Ownership: the connection is shared by its operations and calls; its part lists it until it is closed.
// Error handling: anything wrong ends the connection; its calls live on and are answered into nothing.
#include "tcp_connection.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <boost/asio/write.hpp>

#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::rpc {

using boost::asio::ip::tcp;
/// Of one system call.
constexpr std::size_t kStep = 65536;

TcpConnection::TcpConnection(std::shared_ptr<TcpPart> part, tcp::socket socket, fabric::Endpoint peer)
    : part_(std::move(part)),
      peer_(&part_->enter(peer.address())),
      bulk_(peer_->bulk),
      records_(peer_->records),
      socket_(std::move(socket)),
      timer_(*part_->worker.context),
      reader_(part_->shared->options.max_record, kUncounted),
      last_progress_(std::chrono::steady_clock::now()) {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  info_.local = socket_.local_endpoint(ignored);
  info_.peer = std::move(peer);
  part_->add(*this);
}

TcpConnection::~TcpConnection() {
  close();
  part_->leave(info_.peer.address());
}

void TcpConnection::start() {
  watch();
  read_next();
}

void TcpConnection::close() noexcept {
  if (!std::exchange(open_, false)) return;
  const auto alive = weak_from_this().lock();
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  part_->shared->leave(info_.peer.address());
  part_->remove(*this);
  withdraw();
  awaits_room_.reset();
  records_.release(std::exchange(record_reserved_, 0));
  // Their answers reach nobody any more.
  for (const auto& call : calls_) serving_octets_ -= call->give_up();
}

void TcpConnection::drain() noexcept {
  draining_ = true;
  if (serving_ == 0) return close();
  // Ends an outstanding read, but no write.
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_receive, ignored);
}

void TcpConnection::watch() {
  const TcpServerOptions& options = part_->shared->options;
  timer_.expires_after(std::min(options.idle_timeout, options.stall_timeout));
  timer_.async_wait([self = weak_from_this()](error_code status) {
    const auto connection = self.lock();
    if (connection && !status && connection->open_) connection->on_tick();
  });
}

void TcpConnection::on_tick() {
  const TcpServerOptions& options = part_->shared->options;
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t progress = reader_.steps() + taken_by_peer();
  if (std::exchange(seen_progress_, progress) != progress) last_progress_ = now;
  const auto still = now - last_progress_;
  const bool stalled = (writing_ || (reader_.partial() && !waits())) && still >= options.stall_timeout;
  const bool idle = serving_ == 0 && still >= options.idle_timeout;
  if (stalled || idle) return close();
  if (serving_ == 0) {  // memory of large calls is kept while there are more of them
    for (TcpCall* call : rest_) std::vector<std::byte>().swap(call->record());
    reader_.shrink();
  }
  watch();
}

bool TcpConnection::may_read() const noexcept {
  const TcpServerOptions& options = part_->shared->options;
  return open_ && !reading_ && !draining_ && serving_ < options.max_calls && serving_octets_ < options.max_call_octets;
}

void TcpConnection::read_next() {
  if (!may_read()) return;
  reading_ = true;
  reader_.async_read(socket_, [self = shared_from_this()](error_code status) {
    self->reading_ = false;
    self->on_read(status);
  });
}

void TcpConnection::on_read(error_code status) {
  // What else the peer sent while the server ends is for its next connection.
  if (draining_ && serving_ != 0) return;
  if (status || !open_ || draining_) return close();
  if (reader_.wanted() != 0) return await_room();
  on_record();
  read_next();
}

void TcpConnection::await_room() {
  reading_ = true;
  awaits_room_ = shared_from_this();
  ask(records_, reader_.wanted());
}

void TcpConnection::granted(std::size_t octets) noexcept {
  const auto self = std::exchange(awaits_room_, {});
  record_reserved_ = octets;
  reader_.use(part_->records.take(octets));
  reading_stands_.begin();
  part_->watch();
  reader_.async_go_on(socket_, [self](error_code status) {
    self->reading_ = false;
    self->on_read(status);
  });
}

/// Octets of replies that its host has acknowledged.
std::uint64_t TcpConnection::taken_by_peer() noexcept {
  int left = 0;
  if (::ioctl(socket_.native_handle(), SIOCOUTQ, &left) != 0 || left < 0) left = 0;
  return written_ - std::min(written_, static_cast<std::uint64_t>(left));
}

bool TcpConnection::is_in_the_way(Clock::time_point now) noexcept {
  const Clock::duration limit = part_->shared->options.pressed_timeout;
  const bool unread = writing_stands_.look(taken_by_peer(), now) >= limit && writing_;
  const bool unsent = reading_stands_.look(reader_.steps(), now) >= limit && record_reserved_ != 0;
  return (unread && (bulk_.is_awaited() || records_.is_awaited())) || (unsent && records_.is_awaited());
}

void TcpConnection::on_record() {
  if (rest_.empty()) {
    calls_.push_back(std::make_unique<TcpCall>());
    rest_.push_back(calls_.back().get());
  }
  TcpCall& call = *rest_.back();
  if (!call.start(shared_from_this(), reader_.record())) return close();
  rest_.pop_back();
  call.record_reserved = std::exchange(record_reserved_, 0);
  ++serving_;
  serving_octets_ += call.record_size();
  part_->shared->calls.fetch_add(1, std::memory_order_relaxed);
  part_->worker.handler->on_call(call);
}

void TcpConnection::ended(TcpCall& call) noexcept {
  --serving_;
  serving_octets_ -= call.record_size() + call.reserved;
  rest_.push_back(&call);
  if (call.record_reserved != 0) part_->records.put(std::exchange(call.record(), {}));
  records_.release(std::exchange(call.record_reserved, 0));
  bulk_.release(std::exchange(call.reserved, 0));
  if (draining_ && serving_ == 0) return close();
  read_next();
}

void TcpConnection::reserve(TcpCall& call, std::uint32_t octets, transport::IncomingCall::Handler handler) {
  if (octets > part_->shared->options.bulk_budget) return handler(BaseError::out_of_memory);
  if (!open_) return handler(transport::TransportError::connection_lost);
  if (octets <= kUncounted) return handler({});
  serving_octets_ += octets;
  call.await(bulk_, octets, std::move(handler));
}

void TcpConnection::write(TcpCall& call) noexcept {
  replies_.push_back(&call);
  write_next();
}

void TcpConnection::write_next() {
  const auto alive = shared_from_this();  // its last call may let go of it
  while (!open_ && !writing_ && !replies_.empty()) {
    TcpCall* call = replies_.front();
    replies_.pop_front();
    call->written(transport::TransportError::connection_lost);
  }
  if (writing_ || replies_.empty()) return;
  writing_ = true;
  writing_stands_.begin();
  part_->watch();
  written_before_ = written_;
  gather_.clear();
  buffers_.clear();
  replies_.front()->gather(gather_);
  for (const auto octets : gather_) buffers_.emplace_back(octets.data(), octets.size());
  const auto all = [this](error_code status, std::size_t octets) {
    written_ = written_before_ + octets;
    return status ? 0 : kStep;
  };
  boost::asio::async_write(socket_, buffers_, all, [self = shared_from_this()](error_code status, std::size_t) {
    TcpCall* call = self->replies_.front();
    self->replies_.pop_front();
    self->writing_ = false;
    if (status) self->close();
    call->written(status);
    self->write_next();
  });
}

}  // namespace rpcrdma::rpc
