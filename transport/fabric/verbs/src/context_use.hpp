// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "completion_channel.hpp"
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

  /// A queue pair or completion queue of ours, whose troubles `handler` is told. Others in the process may have such
  /// objects on the same device, whose contexts are nothing that we know.
  void add(const void* object, CompletionHandler& handler);
  /// Before it is destroyed, which waits for events that have been read and not acknowledged.
  void remove(const void* object) noexcept;
  /// What an event names that is not acknowledged yet. False if it is none of ours.
  bool report_trouble(const void* object);

 private:
  struct User {
    const void* who;
    UniqueFunction<void()> notify;
  };

  ibv_context* context_;
  std::mutex mutex_;
  std::vector<User> users_;
  std::unordered_map<const void*, CompletionHandler*> objects_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> removed_{false};
};

}  // namespace rpcrdma::fabric::verbs
