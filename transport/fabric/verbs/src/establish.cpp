// SPDX-License-Identifier: BSD-3-Clause
// Operation. A connector's id is bound to the fabric's device from the start, because its receives need the queue pair.
// The connector resolves the address, resolves the route, and connects (on iWARP in another thread). An acceptor's id
// already has device, address and route when it arrives. In both roles ESTABLISHED ends the set-up; an iWARP connector
// then waits for kSettle.
// Error handling. A failure that is not retried, and the end of the time limit, lead to finish() with the reason.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>

#include "error.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

// An iWARP connector waits for this time before its first Send: Linux siw does not read a Send that follows the MPA
// Reply too closely until more data arrives (peer_watch.hpp).
constexpr std::chrono::milliseconds kSettle{2};

// The number of times that the device sends a packet again if the peer does not acknowledge it. The maximum is 7, but
// the software device rxe treats 7 as unlimited. A connection to a peer that has vanished would then never end. Such
// connections can block all threads of the kernel's NFS server permanently.
constexpr std::uint8_t kRetries = 6;
// The time that the device waits for an acknowledgement: 4.096 us * 2^18 = 1.07 s. With kRetries retries, the device
// notices a silent peer after about 8 s.
constexpr std::uint8_t kAckTimeout = 18;
// A Send that finds no posted receive is not retried: it ends the connection. A sender that respects its credits (RFC
// 8166, section 3.3.1) does not cause this.
constexpr std::uint8_t kReceiverNotReadyRetries = 0;

}  // namespace

void VerbsQueuePair::start() {
  if (state_ != State::idle || ending_) return;
  arm_timer(options_.handshake_timeout);
  std::uint8_t ack_timeout = kAckTimeout;
  rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout, sizeof(ack_timeout));
  error_code error = receives_.submit(id_->qp);
  advance(role_ == Role::connector ? Event::start_connector : Event::start_acceptor);
  if (!error) error = role_ == Role::connector ? resolve() : accept();
  if (error) end_later(error);
}

error_code VerbsQueuePair::resolve() {
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
  const DeviceLimits& limits = core_->device->limits();
  info_.inbound_reads = std::min(options_.inbound_reads, limits.max_inbound_reads);
  info_.outbound_reads = std::min(options_.outbound_reads, limits.max_outbound_reads);
  rdma_conn_param wanted = parameters();
  if (limits.iwarp) return connect_in_thread(wanted);
  return rdma_connect(id_.get(), &wanted) != 0 ? last_error() : error_code();
}

// Calls rdma_connect() on another thread, because the driver siw blocks the caller until the TCP connection is
// established. If the peer drops the SYNs, it blocks the caller for two minutes.
error_code VerbsQueuePair::connect_in_thread(const rdma_conn_param& wanted) {
  auto call = [id = id_.get(), to_send = wanted, data = options_.private_data]() mutable {
    to_send.private_data = data.data();
    return rdma_connect(id, &to_send) != 0 ? last_error() : error_code();
  };
  auto done = [&context = core_->context, returned = self_.guard([](VerbsQueuePair& self, error_code failed) {
    self.on_connect_returned(failed);
  })](error_code failed) { boost::asio::post(context, [returned, failed]() mutable { returned(failed); }); };
  auto started = core_->calls.start(std::move(call), std::move(done));
  if (!started) return started.error();
  connecting_ = std::move(*started);
  return {};
}

// `failed` is the error with which rdma_connect has returned on the other thread. An error has no effect if the queue
// pair has meanwhile left the state `connecting`, for example because of a CM event.
void VerbsQueuePair::on_connect_returned(error_code failed) {
  connecting_.reset();
  port_ = {};
  if (failed && advance(Event::connect_failed)) finish(failed);
}

error_code VerbsQueuePair::accept() {
  const DeviceLimits& limits = core_->device->limits();
  // info_ has the read depths that the peer requested. This side grants at most these depths.
  info_.inbound_reads = std::min({info_.inbound_reads, options_.inbound_reads, limits.max_inbound_reads});
  info_.outbound_reads = std::min({info_.outbound_reads, options_.outbound_reads, limits.max_outbound_reads});
  rdma_conn_param granted = parameters();
  return rdma_accept(id_.get(), &granted) != 0 ? last_error() : error_code();
}

void VerbsQueuePair::on_cm_event(CmEvent event) noexcept {
  log_.debug("librdmacm event {}, status {}", rdma_event_str(event.type), event.status);
  error_code error;
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (!advance(Event::address_resolved)) return;
      if (rdma_resolve_route(id_.get(), static_cast<int>(options_.handshake_timeout.count())) != 0)
        error = last_error();
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      if (advance(Event::route_resolved)) error = connect();
      break;
    case RDMA_CM_EVENT_ESTABLISHED: return on_peer_accepted(std::move(event));
    case RDMA_CM_EVENT_DISCONNECTED: return finish(reason_of_disconnect());
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return core_->lose(AsyncEvents::Loss::removal);
    case RDMA_CM_EVENT_UNREACHABLE:
      // On an established connection, this event means that the kernel (6.0 and later) has lost the peer's hardware
      // address.
      if (is_connected(state_)) return finish(fault_.value_or(system_error(ETIMEDOUT)));
      return finish(connect_error(event.type, event.status));
    case RDMA_CM_EVENT_ADDR_ERROR:
      if (state_ != State::resolving || event.status != -ETIMEDOUT)
        return finish(connect_error(event.type, event.status));
      // The attempt to resolve the address has timed out. Attempts follow one another until the handshake times out.
      error = resolve();
      break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR: return finish(connect_error(event.type, event.status));
    case RDMA_CM_EVENT_REJECTED: return on_peer_rejected(std::move(event));
    default: return;  // ADDR_CHANGE and TIMEWAIT_EXIT do not concern the connection
  }
  if (error) finish(error);
}

void VerbsQueuePair::on_peer_accepted(CmEvent event) {
  if (role_ == Role::acceptor) return establish(Event::peer_accepted);
  if (state_ != State::connecting) return;
  const DeviceLimits& limits = core_->device->limits();
  if (limits.swapped_read_depths) std::swap(event.inbound_reads, event.outbound_reads);
  info_.inbound_reads = std::min(info_.inbound_reads, event.inbound_reads);
  info_.outbound_reads = std::min(info_.outbound_reads, event.outbound_reads);
  info_.private_data = std::move(event.private_data);
  if (!limits.iwarp) return establish(Event::peer_accepted);
  advance(Event::peer_replied);
  arm_timer(kSettle);
}

void VerbsQueuePair::on_peer_rejected(CmEvent event) {
  const error_code why = connect_error(event.type, event.status);
  if (why == FabricError::rejected && state_ == State::connecting) info_.private_data = std::move(event.private_data);
  finish(why);
}

void VerbsQueuePair::establish(Event how) {
  if (!advance(how)) return;
  timer_.cancel();
  info_.local = to_endpoint(*rdma_get_local_addr(id_.get()), rdma_get_src_port(id_.get()));
  info_.peer = to_endpoint(*rdma_get_peer_addr(id_.get()), rdma_get_dst_port(id_.get()));
  peer_watch_.start(role_ == Role::connector && core_->device->limits().iwarp);
  dispatcher_->establish(info_);
  // Until now, poll() left the completions in the completion queue, because the connection was not established.
  poll();
}

void VerbsQueuePair::arm_timer(std::chrono::milliseconds after) {
  timer_.expires_after(after);
  timer_.async_wait(self_.guard([](VerbsQueuePair& self, boost::system::error_code cancelled) {
    if (!cancelled) self.on_timer();
  }));
}

void VerbsQueuePair::on_timer() {
  switch (state_) {
    case State::resolving:
    case State::routing:
    case State::connecting:
    case State::accepting: return finish(FabricError::handshake_timeout);
    case State::settling: return establish(Event::settled);
    case State::draining: return finish(FabricError::flushed);
    case State::hanging_up: return finish({});
    case State::peer_fault: return finish(fault_.value_or(FabricError::flushed));
    default: return;
  }
}

}  // namespace rpcrdma::fabric::verbs
