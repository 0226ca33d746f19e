// SPDX-License-Identifier: BSD-3-Clause
// Ownership. One for each ibv_context in use, found by all threads of the process as librdmacm's own list is.
// Error handling. Closing cannot fail in a way that matters: the descriptors are the process's own.
#include "context_use.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace rpcrdma::fabric::verbs {
namespace {

std::mutex registry_mutex;
std::unordered_map<ibv_context*, std::weak_ptr<ContextUse>>& registry() {
  static std::unordered_map<ibv_context*, std::weak_ptr<ContextUse>> contexts;
  return contexts;
}

// librdmacm closes a lost device only when it happens to look at the list of devices, and not if that is empty (44).
// Until then its context stays valid memory, of which these descriptors are what the kernel waits for.
void give_up_descriptors(const ibv_context& context) noexcept {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int descriptor : {context.async_fd, context.cmd_fd}) ::dup3(nothing, descriptor, O_CLOEXEC);
  ::close(nothing);
}

}  // namespace

std::shared_ptr<ContextUse> ContextUse::of(ibv_context* context) {
  const std::lock_guard lock(registry_mutex);
  std::erase_if(registry(), [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<ContextUse>& entry = registry()[context];
  auto use = entry.lock();
  if (!use) entry = use = std::make_shared<ContextUse>(context);
  return use;
}

ContextUse::~ContextUse() {
  if (removed_) give_up_descriptors(*context_);
}

void ContextUse::enter(const void* who, UniqueFunction<void()> notify) {
  const std::lock_guard lock(mutex_);
  users_.push_back({who, std::move(notify)});
}

void ContextUse::leave(const void* who) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(users_, [who](const User& user) { return user.who == who; });
}

void ContextUse::note_lost(const void* who, Loss loss) {
  if (loss == Loss::removal) removed_ = true;
  if (lost_.exchange(true)) return;
  const std::lock_guard lock(mutex_);
  for (User& user : users_)
    if (user.who != who) user.notify();
}

void ContextUse::add(const void* object, CompletionHandler& handler) {
  const std::lock_guard lock(mutex_);
  objects_.insert_or_assign(object, &handler);
}

void ContextUse::remove(const void* object) noexcept {
  const std::lock_guard lock(mutex_);
  objects_.erase(object);
}

bool ContextUse::report_trouble(const void* object) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(object);
  if (found == objects_.end()) return false;
  found->second->on_device_trouble();
  return true;
}

}  // namespace rpcrdma::fabric::verbs
