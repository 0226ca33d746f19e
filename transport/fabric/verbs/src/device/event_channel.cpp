// SPDX-License-Identifier: BSD-3-Clause
// Operation. Reads events until there are none, at most a fixed number per turn, and passes each to the context of its
// id.
// Ownership. The event is acknowledged before its handler runs: handlers destroy ids, and the destruction of an id
// waits for the acknowledgement. The id's context is read before the acknowledgement, as the id may migrate to another
// thread afterwards.
// Error handling. A channel that cannot be read has no more events; connections then end by their own timers.
#include "device/event_channel.hpp"

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kEventsPerTurn = 32;

CmEvent copy(const rdma_cm_event& from) {
  CmEvent event;
  event.type = from.event;
  event.status = from.status;
  event.id = from.id;
  const rdma_conn_param& parameters = from.param.conn;
  switch (from.event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
    case RDMA_CM_EVENT_ESTABLISHED:
    case RDMA_CM_EVENT_REJECTED: {
      event.inbound_reads = parameters.responder_resources;
      event.outbound_reads = parameters.initiator_depth;
      const auto* data = static_cast<const std::byte*>(parameters.private_data);
      if (data != nullptr) event.private_data.assign(data, data + parameters.private_data_len);
      break;
    }
    default: break;
  }
  return event;
}

}  // namespace

Result<std::shared_ptr<EventChannel>> EventChannel::make(boost::asio::io_context& context) {
  CmChannel channel(rdma_create_event_channel());
  if (!channel) return last_error();
  auto self = std::make_shared<EventChannel>(context, std::shared_ptr<rdma_event_channel>(std::move(channel)));
  // The constructor cannot call assign(): the wait that assign() starts holds a shared_ptr to this object.
  self->assign(self->channel_->fd);
  return self;
}

void EventChannel::drain() noexcept {
  for (int i = 0; i < kEventsPerTurn; ++i) {
    rdma_cm_event* raw = nullptr;
    if (rdma_get_cm_event(channel_.get(), &raw) != 0) return;
    CmEvent event = copy(*raw);
    auto* handler = static_cast<CmHandler*>(raw->id->context);
    rdma_ack_cm_event(raw);
    if (handler != nullptr) handler->on_cm_event(std::move(event));
  }
}

}  // namespace rpcrdma::fabric::verbs
