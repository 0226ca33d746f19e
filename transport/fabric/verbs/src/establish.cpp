// SPDX-License-Identifier: BSD-3-Clause
// Operation. A connector's id is bound to the fabric's device from the start (its receives need the queue pair);
// then address, route, connect, which on iWARP runs aside. An acceptor's id has all that. Either is done at
// ESTABLISHED. Ownership. Callbacks may destroy the queue pair; nothing of it is touched after the last one. Error
// handling. Whatever fails on the way, and the timer, ends in finish() with the reason.
#include <algorithm>
#include <cerrno>

#include "defer.hpp"
#include "error.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

// An RDMA Send that follows the MPA reply too closely is left unread by Linux's siw until more arrives (keepalive.cpp).
constexpr std::chrono::milliseconds kSettle{2};

// Not the largest number, 7: rxe takes it for "without end" and never gives a peer up that has gone, which has held all
// threads of the kernel's NFS server for good.
constexpr std::uint8_t kRetries = 6;
// How long the device waits for an acknowledgement: 4.096 us * 2^18 = 1.07 s. With the retries a silent peer is
// noticed after 8 s; the kernel's choice makes that half a minute.
constexpr std::uint8_t kAckTimeout = 18;
// A message without a receive ends the connection: it is the sender's mistake (RFC 8166 section 3.3.1).
constexpr std::uint8_t kReceiverNotReadyRetries = 0;

}  // namespace

void VerbsQueuePair::start() {
  if (state_ != State::idle || ending_) return;
  arm_timer(options_.handshake_timeout);
  std::uint8_t ack_timeout = kAckTimeout;
  rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout, sizeof(ack_timeout));
  error_code error = receives_.submit(id_->qp);
  if (!error) error = role_ == Role::connector ? resolve() : accept();
  if (error) end_later(error);
}

error_code VerbsQueuePair::resolve() {
  state_ = State::resolving;
  Endpoint peer = info_.peer;
  const auto timeout = static_cast<int>(std::min(options_.handshake_timeout, kResolveTry).count());
  return rdma_resolve_addr(id_.get(), nullptr, peer.data(), timeout) != 0 ? last_error() : error_code();
}

rdma_conn_param VerbsQueuePair::parameters() const noexcept {
  rdma_conn_param parameters{};
  parameters.private_data = options_.private_data.data();
  parameters.private_data_len = static_cast<std::uint8_t>(options_.private_data.size());
  parameters.responder_resources = static_cast<std::uint8_t>(info_.inbound_reads);
  parameters.initiator_depth = static_cast<std::uint8_t>(info_.outbound_reads);
  parameters.flow_control = 1;
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kReceiverNotReadyRetries;
  return parameters;
}

error_code VerbsQueuePair::connect() {
  state_ = State::connecting;
  const DeviceLimits& limits = parts_.device->limits();
  info_.inbound_reads = std::min(options_.inbound_reads, limits.max_inbound_reads);
  info_.outbound_reads = std::min(options_.outbound_reads, limits.max_outbound_reads);
  rdma_conn_param wanted = parameters();
  if (limits.iwarp) return connect_aside(wanted);
  return rdma_connect(id_.get(), &wanted) != 0 ? last_error() : error_code();
}

// siw connects TCP while its caller waits, for two minutes if the peer drops what it is sent.
error_code VerbsQueuePair::connect_aside(const rdma_conn_param& wanted) {
  auto call = [id = id_.get(), to_send = wanted, data = options_.private_data]() mutable {
    to_send.private_data = data.data();
    return rdma_connect(id, &to_send) != 0 ? last_error() : error_code();
  };
  auto done = [&context = parts_.context, self = self_](error_code failed) {
    defer_to(context, self, [failed](VerbsQueuePair& queue_pair) { queue_pair.on_connect_returned(failed); });
  };
  auto started = Aside::start(parts_.device.get(), std::move(call), std::move(done));
  if (!started) return started.error();
  connecting_ = std::move(*started);
  return {};
}

// The event may have come before this.
void VerbsQueuePair::on_connect_returned(error_code failed) {
  connecting_.reset();
  if (!failed || state_ != State::connecting) return;
  state_ = State::routing;  // the kernel has forgotten about it
  finish(failed);
}

error_code VerbsQueuePair::accept() {
  state_ = State::accepting;
  const DeviceLimits& limits = parts_.device->limits();
  // No more than the peer asked for, which info_ holds so far.
  info_.inbound_reads = std::min({info_.inbound_reads, options_.inbound_reads, limits.max_inbound_reads});
  info_.outbound_reads = std::min({info_.outbound_reads, options_.outbound_reads, limits.max_outbound_reads});
  rdma_conn_param granted = parameters();
  return rdma_accept(id_.get(), &granted) != 0 ? last_error() : error_code();
}

void VerbsQueuePair::on_cm_event(CmEvent event) noexcept {
  parts_.log.debug("verbs: {}: {} status {}", info_.peer.address().to_string(), rdma_event_str(event.type),
                   event.status);
  error_code error;
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (state_ != State::resolving) return;
      state_ = State::routing;
      if (rdma_resolve_route(id_.get(), static_cast<int>(options_.handshake_timeout.count())) != 0)
        error = last_error();
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      if (state_ == State::routing) error = connect();
      break;
    case RDMA_CM_EVENT_ESTABLISHED: return on_peer_accepted(std::move(event));
    case RDMA_CM_EVENT_DISCONNECTED: return finish(reason_of_disconnect());
    case RDMA_CM_EVENT_DEVICE_REMOVAL: {
      const auto presence = parts_.presence;
      return presence->lose(ContextUse::Loss::removal);
    }
    case RDMA_CM_EVENT_UNREACHABLE:
      // Later than that, the kernel (6.0 and later) has lost the peer's hardware address.
      if (state_ >= State::established) return finish(fault_.value_or(system_error(ETIMEDOUT)));
      return finish(connect_error(event.type, event.status));
    case RDMA_CM_EVENT_ADDR_ERROR:
      if (state_ != State::resolving || event.status != -ETIMEDOUT)
        return finish(connect_error(event.type, event.status));
      error = resolve();  // until the timer ends it
      break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_REJECTED: return finish(connect_error(event.type, event.status));
    default: return;  // ADDR_CHANGE and TIMEWAIT_EXIT say nothing about the connection
  }
  if (error) finish(error);
}

void VerbsQueuePair::on_peer_accepted(CmEvent event) {
  if (state_ == State::connecting) {
    if (parts_.device->limits().swapped_read_depths) std::swap(event.inbound_reads, event.outbound_reads);
    info_.inbound_reads = std::min(info_.inbound_reads, event.inbound_reads);
    info_.outbound_reads = std::min(info_.outbound_reads, event.outbound_reads);
    info_.private_data = std::move(event.private_data);
    if (parts_.device->limits().iwarp) {
      state_ = State::settling;
      return arm_timer(kSettle);
    }
  } else if (state_ != State::accepting) {
    return;
  }
  establish();
}

void VerbsQueuePair::establish() {
  timer_.cancel();
  info_.local = to_endpoint(*rdma_get_local_addr(id_.get()), rdma_get_src_port(id_.get()));
  info_.peer = to_endpoint(*rdma_get_peer_addr(id_.get()), rdma_get_dst_port(id_.get()));
  state_ = State::established;
  watch_peer();
  if (role_ == Role::connector && parts_.device->limits().iwarp) nudge_later();
  const Alive alive(*this);
  events_.on_established(info_);
  if (!alive) return;
  // What came before this moment has been announced already, and left in the completion queue.
  poll();
}

void VerbsQueuePair::arm_timer(std::chrono::milliseconds after) {
  timer_.expires_after(after);
  timer_.async_wait([self = self_](boost::system::error_code error) {
    if (!error && *self != nullptr) (*self)->on_timer();
  });
}

void VerbsQueuePair::on_timer() {
  switch (state_) {
    case State::resolving:
    case State::routing:
    case State::connecting:
    case State::accepting: return finish(FabricError::handshake_timeout);
    case State::settling: return establish();
    case State::draining: return finish(FabricError::flushed);
    case State::hanging_up: return finish({});
    case State::peer_fault: return finish(fault_.value_or(FabricError::flushed));
    default: return;
  }
}

}  // namespace rpcrdma::fabric::verbs
