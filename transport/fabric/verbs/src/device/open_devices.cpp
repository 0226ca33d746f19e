// SPDX-License-Identifier: BSD-3-Clause
// Error handling: if a lost device cannot be closed, its descriptors stay open until the process ends.
#include "device/open_devices.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace rpcrdma::fabric::verbs {

// librdmacm (rdma-core 44) closes a lost device only when it reads the list of devices, and not even then if the list
// is empty. The kernel completes the removal only when the two descriptors of the context are closed. /dev/null takes
// over their numbers, because the context, which remains in memory, still contains the numbers.
OpenDevice::~OpenDevice() {
  if (!removed_) return;
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int descriptor : {context_.async_fd, context_.cmd_fd}) ::dup3(nothing, descriptor, O_CLOEXEC);
  ::close(nothing);
}

OpenDevice::Users::iterator OpenDevice::enter(UniqueFunction<void()> post_failure) {
  const std::lock_guard lock(mutex_);
  return users_.insert(users_.end(), std::move(post_failure));
}

void OpenDevice::leave(Users::iterator user) noexcept {
  const std::lock_guard lock(mutex_);
  users_.erase(user);
}

void OpenDevice::note_failed() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& post_failure : users_) post_failure();
}

std::shared_ptr<OpenDevice> OpenDevices::of(ibv_context& context) {
  const std::lock_guard lock(mutex_);
  std::erase_if(devices_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<OpenDevice>& entry = devices_[&context];
  auto device = entry.lock();
  if (!device) entry = device = std::make_shared<OpenDevice>(context);
  return device;
}

}  // namespace rpcrdma::fabric::verbs
