// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each CONNECT_REQUEST becomes a VerbsRequest, handed to the user at once: the event carries the private
// data. Ownership. A request owns its id until it is accepted, here or on another fabric, rejected, or dropped. Error
// handling. While its device is removed a listener is suspended.
#include "listener.hpp"

#include <algorithm>

#include "device/device.hpp"
#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kBacklog = 128;

}  // namespace

VerbsRequest::VerbsRequest(std::shared_ptr<rdma_event_channel> channel, CmEvent event)
    : channel_(std::move(channel)), id_(event.id) {
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
  // rdma_migrate_id returns when every event read from the old channel is acknowledged; from then on only this thread
  // uses the id.
  if (id_->channel != channel && rdma_migrate_id(id_.get(), channel) != 0) return last_error();
  return std::move(id_);
}

Result<std::unique_ptr<Listener>> VerbsListener::make(const std::shared_ptr<DeviceLifecycle>& lifecycle,
                                                      const Endpoint& local, Fabric::RequestHandler handler, Log log) {
  auto listener = std::make_unique<VerbsListener>(lifecycle, local, std::move(handler), std::move(log));
  if (const error_code failed = listener->listen()) return lifecycle->refused(failed);
  return listener;
}

VerbsListener::VerbsListener(std::shared_ptr<DeviceLifecycle> lifecycle, const Endpoint& local,
                             Fabric::RequestHandler handler, Log log)
    : lifecycle_(std::move(lifecycle)),
      local_(local),
      handler_(std::make_shared<Fabric::RequestHandler>(std::move(handler))),
      log_(std::move(log)),
      cm_interest_(lifecycle_->events()),
      async_interest_(lifecycle_->async_events()) {
  lifecycle_->add(*this);
}

VerbsListener::~VerbsListener() { lifecycle_->remove(*this); }

error_code VerbsListener::listen() {
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(lifecycle_->events()->channel().get(), &raw, static_cast<CmHandler*>(this), RDMA_PS_TCP) != 0)
    return last_error();
  CmId id(raw);
  if (local_.address().is_v6()) {
    int only = 1;
    rdma_set_option(raw, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only));
  }
  Endpoint address = local_;
  if (rdma_bind_addr(raw, address.data()) != 0) return last_error();
  // An id that has just been bound is in the wrong state only if its device is being removed.
  if (rdma_listen(raw, kBacklog) != 0) return errno == EINVAL ? system_error(ENODEV) : last_error();
  // With the port that the first call found free.
  local_ = to_endpoint(*rdma_get_local_addr(raw), rdma_get_src_port(raw));
  id_ = std::move(id);
  return {};
}

error_code VerbsListener::resume() {
  if (id_) return {};
  const error_code failed = listen();
  const std::string address = local_.address().to_string();
  if (!failed)
    log_.info("verbs: the device is back: listening again at {} port {}", address, local_.port());
  else if (failed != refused_)
    log_.warn("verbs: the device is back, but cannot listen at {} port {} yet: {}", address, local_.port(),
              failed.message());
  else
    log_.debug("verbs: still cannot listen at {} port {}: {}", address, local_.port(), failed.message());
  refused_ = failed;
  return failed;
}

void VerbsListener::on_cm_event(CmEvent event) noexcept {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    event.id->context = nullptr;
    auto request = std::make_unique<VerbsRequest>(lifecycle_->events()->channel(), std::move(event));
    const auto handler = handler_;
    (*handler)(std::move(request));
  } else if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
    const auto lifecycle = lifecycle_;
    lifecycle->lose(SharedContext::Loss::removal);
  }
}

}  // namespace rpcrdma::fabric::verbs
