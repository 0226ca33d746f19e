// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/completion_channel.hpp"
#include "handles.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

/// The process's use of one opened device, shared by the fabrics of all threads: librdmacm opens a device once for the
/// process and keeps it open, and the kernel completes the removal of a device only when all have released it.
/// All functions: any thread.
class SharedContext {
 public:
  /// How the loss of the device was noticed.
  enum class Loss : std::uint8_t {
    heard,    ///< another fabric reported it
    fault,    ///< the device reported a failure; it may recover, or be removed
    removal,  ///< the kernel removes it, or has removed it
  };

  /// The one of `context`, which an rdma_cm id keeps alive longer than the caller keeps the result.
  static std::shared_ptr<SharedContext> of(ibv_context* context);
  explicit SharedContext(ibv_context* context) noexcept : context_(context) {}
  /// Runs when the last fabric has destroyed all its objects on the device but rdma_cm ids. Closes a removed device.
  ~SharedContext();
  SharedContext(const SharedContext&) = delete;
  SharedContext& operator=(const SharedContext&) = delete;

  /// `notify` is called once, in another fabric's thread, if that finds the device lost. Until leave().
  void enter(const void* who, UniqueFunction<void()> notify);
  void leave(const void* who) noexcept;
  /// The device is lost: notifies all fabrics but `who`, once.
  void note_lost(const void* who, Loss loss);
  bool lost() const noexcept { return lost_; }

  /// A queue pair or completion queue whose errors `handler` gets. Other users in the process may have such objects on
  /// the same device, whose contexts have an unknown type.
  void add(const void* object, CompletionHandler& handler);
  /// Before the object is destroyed, which waits until events that were read are acknowledged.
  void remove(const void* object) noexcept;
  /// An event names `object`, and is not acknowledged yet. False if the object was not added.
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
