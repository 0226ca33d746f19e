// SPDX-License-Identifier: BSD-3-Clause
// Operation. Reads until there is no event, a bounded number a turn, and acknowledges each event after it was passed
// on: no thread can destroy the object that the event names before that. Ownership. The descriptor is a duplicate of
// the device's; the removal of the device waits until it is closed. Error handling. The end of the stream means that
// the device was removed; DEVICE_FATAL alone does not.
#include "device/async_events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kAsyncEventsPerTurn = 32;

}  // namespace

AsyncEvents::AsyncEvents(boost::asio::io_context& context, UniqueFunction<void(SharedContext::Loss)> on_lost, Log log)
    : Watch(context), on_lost_(std::move(on_lost)), log_(std::move(log)) {}

error_code AsyncEvents::attach(ibv_context* device, SharedContext& use) {
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
      if (errno != EAGAIN && errno != EINTR) on_lost_(SharedContext::Loss::removal);
      return;
    }
    const bool lost = !handle(event);
    ibv_ack_async_event(&event);
    if (lost) return on_lost_(SharedContext::Loss::fault);
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
    log_.debug("verbs: {}: a {} of another user in this process reports: {}", name, kind, ibv_event_type_str(what));
}

void AsyncEvents::log_port_event(const ibv_async_event& event) {
  const char* name = ibv_get_device_name(device_->device);
  switch (event.event_type) {
    case IBV_EVENT_PORT_ERR:
      log_.warn("verbs: {}: port {} is down; connections whose peers stay unreachable end", name,
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
