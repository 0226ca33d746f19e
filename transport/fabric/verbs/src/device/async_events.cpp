// SPDX-License-Identifier: BSD-3-Clause
// Operation. Reads events until there are none, at most a fixed number per turn.
// Ownership. The descriptor is a duplicate of the device's descriptor; the removal of the device waits until both are
// closed. The objects that events name may belong to other users of the device, and are not accessed.
// Error handling. The end of the stream means that the device was removed. DEVICE_FATAL alone means only that the
// device has failed.
#include "device/async_events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr int kAsyncEventsPerTurn = 32;

}  // namespace

error_code AsyncEvents::attach(ibv_context* device) {
  descriptor_ = ::fcntl(device->async_fd, F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0) return last_error();
  device_ = device;
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
      if (errno != EAGAIN && errno != EINTR) on_lost_(Loss::removal);
      return;
    }
    log_event(event);
    ibv_ack_async_event(&event);
    if (event.event_type == IBV_EVENT_DEVICE_FATAL) return on_lost_(Loss::fault);
  }
}

void AsyncEvents::log_event(const ibv_async_event& event) {
  const char* name = ibv_get_device_name(device_->device);
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
      log_.error("verbs: {} reports: {}", name, ibv_event_type_str(event.event_type));
      return;
    case IBV_EVENT_PORT_ERR:
      log_.warn("verbs: {}: port {} is down; connections end if their peers stay unreachable", name,
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
