// SPDX-License-Identifier: BSD-3-Clause
// Ownership. One for each ibv_context in use, in a list of the process, as librdmacm has one.
// Error handling. Closing cannot fail in a way that matters: the descriptors belong to the process.
#include "device/shared_context.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace rpcrdma::fabric::verbs {
namespace {

std::mutex registry_mutex;
std::unordered_map<ibv_context*, std::weak_ptr<SharedContext>>& registry() {
  static std::unordered_map<ibv_context*, std::weak_ptr<SharedContext>> contexts;
  return contexts;
}

// librdmacm (rdma-core 44) closes a lost device only when it reads the list of devices, and not if that is empty. The
// kernel waits for these two descriptors; the context stays valid memory, whose descriptor numbers remain taken.
void give_up_descriptors(const ibv_context& context) noexcept {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int descriptor : {context.async_fd, context.cmd_fd}) ::dup3(nothing, descriptor, O_CLOEXEC);
  ::close(nothing);
}

}  // namespace

std::shared_ptr<SharedContext> SharedContext::of(ibv_context* context) {
  const std::lock_guard lock(registry_mutex);
  std::erase_if(registry(), [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<SharedContext>& entry = registry()[context];
  auto use = entry.lock();
  if (!use) entry = use = std::make_shared<SharedContext>(context);
  return use;
}

SharedContext::~SharedContext() {
  if (removed_) give_up_descriptors(*context_);
}

void SharedContext::enter(const void* who, UniqueFunction<void()> notify) {
  const std::lock_guard lock(mutex_);
  users_.push_back({who, std::move(notify)});
}

void SharedContext::leave(const void* who) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(users_, [who](const User& user) { return user.who == who; });
}

void SharedContext::note_lost(const void* who, Loss loss) {
  if (loss == Loss::removal) removed_ = true;
  if (lost_.exchange(true)) return;
  const std::lock_guard lock(mutex_);
  for (User& user : users_)
    if (user.who != who) user.notify();
}

void SharedContext::add(const void* object, CompletionHandler& handler) {
  const std::lock_guard lock(mutex_);
  objects_.insert_or_assign(object, &handler);
}

void SharedContext::remove(const void* object) noexcept {
  const std::lock_guard lock(mutex_);
  objects_.erase(object);
}

bool SharedContext::report_trouble(const void* object) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(object);
  if (found == objects_.end()) return false;
  found->second->on_device_trouble();
  return true;
}

}  // namespace rpcrdma::fabric::verbs
