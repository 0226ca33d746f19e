// SPDX-License-Identifier: BSD-3-Clause
// Operation: a connector sends its request to the listener in a later turn; the acceptor's start() joins the two ends.
// Ownership: each end belongs to its queue pair and refers to the other end weakly.
// Error handling: if one end is missing or fails, the other end reports on_disconnected.
#include <algorithm>

#include "end.hpp"
#include "listener.hpp"

namespace rpcrdma::fabric::loopback {
namespace {

error_code reset_by_peer() noexcept {
  return boost::system::errc::make_error_code(boost::system::errc::connection_reset);
}

}  // namespace

void End::start_connecting(const Endpoint& peer) {
  state_ = State::connecting;
  info_.number = options_.number != 0 ? options_.number : next_connection_number();
  info_.fabric = fabric_->capabilities.name;
  info_.peer = peer;
  info_.local = Endpoint(peer.address(), core_->next_port());
  if (const error_code error = fabric_->faults.next(LoopbackOperation::connect)) return die(error);
  timer_.expires_after(options_.handshake_timeout);
  timer_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (!error && self && self->state_ == State::connecting) self->die(FabricError::handshake_timeout);
  });
  core_->later([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr || self->state_ != State::connecting) return;
    const auto listener = self->core_->find_listener(self->info_.peer);
    if (listener == nullptr)
      return self->die(boost::system::errc::make_error_code(boost::system::errc::connection_refused));
    ConnectionInfo info;
    info.number = next_connection_number();
    info.fabric = self->info_.fabric;
    info.local = self->info_.peer;
    info.peer = self->info_.local;
    info.private_data = self->options_.private_data;
    info.inbound_reads = self->options_.inbound_reads;
    info.outbound_reads = self->options_.outbound_reads;
    listener->take(std::make_unique<LoopbackRequest>(self->core_, weak, std::move(info)));
  });
}

void End::set_connector(std::weak_ptr<End> connector, ConnectionInfo info) {
  peer_ = std::move(connector);
  info_ = std::move(info);
}

void End::start_accepting() {
  state_ = State::connecting;
  if (const error_code error = fabric_->faults.next(LoopbackOperation::accept)) {
    if (const auto connector = peer_.lock()) connector->die(FabricError::handshake_failed);
    return die(error);
  }
  core_->later([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr || self->state_ != State::connecting) return;
    const auto connector = self->peer_.lock();
    if (connector == nullptr || connector->state_ != State::connecting) return self->die(reset_by_peer());
    self->answer(connector);
  });
}

void End::answer(const std::shared_ptr<End>& connector) {
  // info_ is still that of the connection request. Its inbound_reads is the number of Reads that the connector offers
  // to accept, and its outbound_reads is the number that the connector wants to make.
  const std::uint32_t to_us = std::min(options_.inbound_reads, info_.outbound_reads);
  const std::uint32_t from_us = std::min(options_.outbound_reads, info_.inbound_reads);
  connector->peer_ = weak_from_this();
  ConnectionInfo theirs = connector->info_;
  theirs.private_data = options_.private_data;
  theirs.inbound_reads = from_us;
  theirs.outbound_reads = to_us;
  ConnectionInfo ours = info_;
  ours.inbound_reads = to_us;
  ours.outbound_reads = from_us;
  establish(ours);
  connector->establish(theirs);
}

void End::establish(const ConnectionInfo& info) {
  info_ = info;
  state_ = State::established;
  timer_.cancel();
  dispatcher_.establish(info_);
  core_->schedule();
}

void End::disconnect() {
  if (state_ == State::closed || state_ == State::closing) return;
  if (state_ != State::established) return abort();
  state_ = State::closing;
  submit();
}

void End::abort() {
  if (state_ == State::closed) return;
  if (const auto peer = peer_.lock()) peer->die(reset_by_peer());
  die(BaseError::cancelled);
}

void End::lose_device() {
  if (const auto peer = peer_.lock()) peer->die(reset_by_peer());
  die(FabricError::device_lost);
}

void End::quiesce() noexcept {
  dispatcher_.quiesce();
  abort();
}

LoopbackRequest::~LoopbackRequest() {
  if (const auto connector = take_connector()) connector->die(FabricError::rejected);
}

std::shared_ptr<End> LoopbackRequest::take_connector() noexcept {
  auto connector = connector_.lock();
  connector_.reset();
  return connector;
}

}  // namespace rpcrdma::fabric::loopback
