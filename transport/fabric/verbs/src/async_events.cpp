// SPDX-License-Identifier: BSD-3-Clause
// Operation. Reads until there is nothing, a bounded number a turn, and acknowledges each event once it has been
// passed on: an object that an event names is not destroyed, here or in another thread, before that.
// Ownership. The descriptor is a duplicate of the device's, to be closed before the device can go.
// Error handling. A stream that has ended says that the device was taken away; DEVICE_FATAL alone does not.
#include "async_events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kAsyncEventsPerTurn = 32;

}  // namespace

AsyncEvents::AsyncEvents(boost::asio::io_context& context, UniqueFunction<void(ContextUse::Loss)> on_lost, Log log)
    : Watch(context), on_lost_(std::move(on_lost)), log_(std::move(log)) {}

error_code AsyncEvents::attach(ibv_context* device, ContextUse& use) {
  descriptor_ = ::fcntl(device->async_fd, F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0) return last_error();
  device_ = device;
  use_ = &use;
  assign(descriptor_);
  return {};
}

void AsyncEvents::detach() noexcept {
  if (device_ == nullptr) return;
  device_ = nullptr;
  release();
  ::close(descriptor_);
}

void AsyncEvents::drain() noexcept {
  for (int i = 0; i < kAsyncEventsPerTurn && device_ != nullptr; ++i) {
    ibv_async_event event{};
    errno = 0;
    if (ibv_get_async_event(device_, &event) != 0) {
      if (errno != EAGAIN && errno != EINTR) on_lost_(ContextUse::Loss::removal);
      return;
    }
    const bool lost = !handle(event);
    ibv_ack_async_event(&event);
    if (lost) return on_lost_(ContextUse::Loss::fault);
  }
}

bool AsyncEvents::handle(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR: report(event.element.qp, "queue pair", event.event_type); return true;
    case IBV_EVENT_CQ_ERR: report(event.element.cq, "completion queue", event.event_type); return true;
    case IBV_EVENT_DEVICE_FATAL:
      log_.error("verbs: {} reports: {}", ibv_get_device_name(device_->device), ibv_event_type_str(event.event_type));
      return false;
    default: log_port_event(event); return true;
  }
}

void AsyncEvents::report(const void* object, const char* kind, ibv_event_type what) {
  const char* name = ibv_get_device_name(device_->device);
  if (use_->report_trouble(object))
    log_.warn("verbs: {}: a {} reports: {}", name, kind, ibv_event_type_str(what));
  else
    log_.debug("verbs: {}: a {} that is not ours reports: {}", name, kind, ibv_event_type_str(what));
}

void AsyncEvents::log_port_event(const ibv_async_event& event) {
  const char* name = ibv_get_device_name(device_->device);
  switch (event.event_type) {
    case IBV_EVENT_PORT_ERR:
      log_.warn("verbs: {}: port {} is down; connections whose peers stay out of reach end", name,
                event.element.port_num);
      return;
    case IBV_EVENT_PORT_ACTIVE: log_.info("verbs: {}: port {} is up", name, event.element.port_num); return;
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
      log_.info("verbs: {}: port {}: {}", name, event.element.port_num, ibv_event_type_str(event.event_type));
      return;
    default: log_.debug("verbs: {}: {}", name, ibv_event_type_str(event.event_type)); return;
  }
}

}  // namespace rpcrdma::fabric::verbs
