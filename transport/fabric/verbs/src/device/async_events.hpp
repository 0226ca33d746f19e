// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device/shared_context.hpp"
#include "device/watch.hpp"
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::fabric::verbs {

/// A device's asynchronous events: errors of queue pairs and completion queues, changes of ports, failure of the
/// device. All fabrics of a process on one device read the same stream, and each event arrives at one of them; events
/// of a connection are passed on to its thread.
class AsyncEvents final : public Watch {
 public:
  /// `on_lost` runs in the io_context when the device has failed or was removed; it may detach().
  AsyncEvents(boost::asio::io_context& context, UniqueFunction<void(SharedContext::Loss)> on_lost, Log log);
  ~AsyncEvents() override { detach(); }

  /// `use` is that of `device`, and lives until detach().
  error_code attach(ibv_context* device, SharedContext& use);
  void detach() noexcept;

 private:
  void drain() noexcept override;
  /// False if the device is lost.
  bool handle(const ibv_async_event& event);
  void report(const void* object, const char* kind, ibv_event_type what);
  void log_port_event(const ibv_async_event& event);

  UniqueFunction<void(SharedContext::Loss)> on_lost_;
  Log log_;
  ibv_context* device_ = nullptr;
  SharedContext* use_ = nullptr;
  int descriptor_ = -1;  // a duplicate: an io_context cannot wait on one descriptor for two fabrics
};

}  // namespace rpcrdma::fabric::verbs
