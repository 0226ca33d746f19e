// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <infiniband/verbs.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

/// One open device, shared by all fabrics of the process that use it. librdmacm opens a device once for the process and
/// keeps it open, but the kernel completes the removal of a device only when the device is closed. May be used on any
/// thread.
class OpenDevice {
 public:
  explicit OpenDevice(ibv_context& context) noexcept : context_(context) {}
  /// If the device was removed, closes it, so that the kernel can complete the removal. When this destructor runs, the
  /// last fabric must have destroyed its objects on the device, except for an rdma_cm id, which keeps the ibv_context
  /// valid.
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  /// To be called when the kernel is removing the device, or has removed it.
  void note_removed() noexcept { removed_ = true; }

  /// A list of functions, one for each fabric on the device. Each function tells its fabric that the device has failed.
  /// The event that reports the failure arrives at only one fabric. That fabric calls note_failed(), which calls every
  /// function in the list.
  using Users = std::list<UniqueFunction<void()>>;
  Users::iterator enter(UniqueFunction<void()> post_failure);
  /// Removes the function that enter() has added. When leave() returns, this function is not running, and it will not
  /// be called again.
  void leave(Users::iterator user) noexcept;
  void note_failed() noexcept;

 private:
  std::mutex mutex_;
  Users users_;
  ibv_context& context_;
  std::atomic<bool> removed_{false};
};

/// The devices that librdmacm has open and that fabrics use. May be used on any thread.
class OpenDevices {
 public:
  /// The device of `context`. The caller must hold an rdma_cm id, which keeps `context` alive, until it has released
  /// the result.
  std::shared_ptr<OpenDevice> of(ibv_context& context);

 private:
  std::mutex mutex_;
  std::unordered_map<const ibv_context*, std::weak_ptr<OpenDevice>> devices_;
};

}  // namespace rpcrdma::fabric::verbs
