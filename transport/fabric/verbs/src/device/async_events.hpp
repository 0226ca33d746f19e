// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device/watch.hpp"
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

/// A device's asynchronous events: changes of ports, failure or removal of the device. All fabrics of a process on one
/// device read the same stream, and each event arrives at one of them. An error of a queue pair is only logged: the
/// owner of the queue pair notices it by the flushed receives.
class AsyncEvents final : public Watch {
 public:
  enum class Loss : std::uint8_t {
    /// The device has failed, or its address now belongs to another device. The device may recover, or may be removed
    /// later.
    fault,
    removal,  ///< the kernel is removing the device, or has removed it
  };

  /// `on_lost` runs in the io_context when the device has failed or has been removed; it may call detach().
  AsyncEvents(boost::asio::io_context& context, UniqueFunction<void(Loss)> on_lost, Log log)
      : Watch(context), on_lost_(std::move(on_lost)), log_(std::move(log)) {}
  ~AsyncEvents() override { detach(); }

  error_code attach(ibv_context* device);
  void detach() noexcept;

 private:
  void drain() noexcept override;
  void log_event(const ibv_async_event& event);

  UniqueFunction<void(Loss)> on_lost_;
  Log log_;
  ibv_context* device_ = nullptr;
  // A duplicate of the descriptor from which the device's events are read. Two fabrics on one device may share an
  // io_context, and an io_context cannot wait twice on the same descriptor.
  int descriptor_ = -1;
};

}  // namespace rpcrdma::fabric::verbs
