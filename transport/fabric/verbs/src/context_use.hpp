// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "handles.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

/// The process's use of one opened device, shared by the fabrics of all threads: librdmacm opens a device once for a
/// process and keeps it open, and the kernel cannot complete a device's removal before all have let go of it.
/// All functions: any thread.
class ContextUse {
 public:
  /// How it shows that the device is lost.
  enum class Loss : std::uint8_t {
    heard,    ///< from another user, who knows
    fault,    ///< it says so itself; it may yet be repaired, or removed
    removal,  ///< the kernel takes it away, or has
  };

  /// That of `context`, which an rdma_cm id keeps alive longer than the caller keeps the result.
  static std::shared_ptr<ContextUse> of(ibv_context* context);
  explicit ContextUse(ibv_context* context) noexcept : context_(context) {}
  /// By the last user, who has destroyed all its objects on the device but rdma_cm ids. Closes a device that is
  /// removed.
  ~ContextUse();
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;

  /// `notify` is called once if somebody finds the device lost, on that one's thread. Until leave().
  void enter(const void* who, UniqueFunction<void()> notify);
  void leave(const void* who) noexcept;
  /// The device is gone for good: tells all but `who`, once.
  void note_lost(const void* who, Loss loss);
  bool lost() const noexcept { return lost_; }

 private:
  struct User {
    const void* who;
    UniqueFunction<void()> notify;
  };

  ibv_context* context_;
  std::mutex mutex_;
  std::vector<User> users_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> removed_{false};
};

}  // namespace rpcrdma::fabric::verbs
