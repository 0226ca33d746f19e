// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "context_use.hpp"
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "watch.hpp"

namespace rpcrdma::fabric::verbs {

/// What a device tells beside completions: that a queue pair, a completion queue, a port or the device itself is in
/// trouble. All fabrics of a process on one device read the same stream, each event coming to one of them; what
/// concerns a connection is passed on to the thread that it belongs to.
class AsyncEvents final : public Watch {
 public:
  /// `on_lost` runs in the io_context when the device is beyond repair; it may detach().
  AsyncEvents(boost::asio::io_context& context, UniqueFunction<void(ContextUse::Loss)> on_lost, Log log);
  ~AsyncEvents() override { detach(); }

  /// `use` is that of `device`, and lives until detach().
  error_code attach(ibv_context* device, ContextUse& use);
  void detach() noexcept;

 private:
  void drain() noexcept override;
  /// False if the device is lost.
  bool handle(const ibv_async_event& event);
  void report(const void* object, const char* kind, ibv_event_type what);
  void log_port_event(const ibv_async_event& event);

  UniqueFunction<void(ContextUse::Loss)> on_lost_;
  Log log_;
  ibv_context* device_ = nullptr;
  ContextUse* use_ = nullptr;
  int descriptor_ = -1;  // a duplicate: fabrics of one io_context cannot wait on the same one
};

}  // namespace rpcrdma::fabric::verbs
