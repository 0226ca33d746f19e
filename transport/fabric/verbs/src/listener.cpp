// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each CONNECT_REQUEST becomes a VerbsRequest, which is passed to the user at once: the event already
// carries the private data.
// Ownership. A request owns its id until it is accepted, here or on another fabric, rejected, or dropped.
// Error handling. A listener whose device is lost receives no more requests.
#include "listener.hpp"

#include <algorithm>

#include "device/local_port.hpp"
#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kBacklog = 128;

}  // namespace

VerbsRequest::VerbsRequest(std::shared_ptr<rdma_event_channel> channel, CmEvent event, std::uint64_t number)
    : channel_(std::move(channel)), id_(event.id) {
  info_.number = number;
  info_.fabric = kName;
  info_.local = to_endpoint(*rdma_get_local_addr(id_.get()), rdma_get_src_port(id_.get()));
  info_.peer = to_endpoint(*rdma_get_peer_addr(id_.get()), rdma_get_dst_port(id_.get()));
  info_.private_data = std::move(event.private_data);
  info_.inbound_reads = event.inbound_reads;
  info_.outbound_reads = event.outbound_reads;
}

VerbsRequest::~VerbsRequest() {
  if (id_) reject({});
}

void VerbsRequest::reject(Octets private_data) noexcept {
  const auto length = static_cast<std::uint8_t>(std::min<std::size_t>(private_data.size(), UINT8_MAX));
  rdma_reject(id_.get(), private_data.data(), length);
  id_.reset();
}

Result<CmId> VerbsRequest::take(rdma_event_channel* channel) {
  // The thread of another fabric may still handle an event of the id, read from the old channel. rdma_migrate_id()
  // returns only when each such event has been acknowledged. Afterwards, only this thread uses the id.
  if (id_->channel != channel && rdma_migrate_id(id_.get(), channel) != 0) return last_error();
  return std::move(id_);
}

Result<std::unique_ptr<Listener>> VerbsListener::make(std::shared_ptr<Core> core, Endpoint local,
                                                      Fabric::RequestHandler handler) {
  auto listener = std::make_unique<VerbsListener>(std::move(core), std::move(handler));
  if (const error_code failed = listener->listen(std::move(local))) return Core::refused(failed);
  return listener;
}

VerbsListener::VerbsListener(std::shared_ptr<Core> core, Fabric::RequestHandler handler)
    : core_(std::move(core)), handler_(std::make_shared<Fabric::RequestHandler>(std::move(handler))) {}

error_code VerbsListener::listen(Endpoint local) {
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(core_->events->channel().get(), &raw, static_cast<CmHandler*>(this), RDMA_PS_TCP) != 0)
    return last_error();
  id_.reset(raw);
  if (local.address().is_v6()) {
    int only = 1;
    rdma_set_option(raw, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only));
  }
  const auto port = bind_to_port(*raw, std::move(local), core_->device->limits());
  if (!port) return port.error();
  // rdma_listen() fails with EINVAL if the id is in the wrong state. For an id that has just been bound, this means
  // that its device is being removed.
  if (rdma_listen(raw, kBacklog) != 0) return errno == EINVAL ? system_error(ENODEV) : last_error();
  return {};
}

void VerbsListener::on_cm_event(CmEvent event) noexcept {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    event.id->context = nullptr;
    auto request =
        std::make_unique<VerbsRequest>(core_->events->channel(), std::move(event), core_->options.next_number());
    const auto handler = handler_;
    (*handler)(std::move(request));
  } else if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
    core_->lose(AsyncEvents::Loss::removal);
  }
}

}  // namespace rpcrdma::fabric::verbs
