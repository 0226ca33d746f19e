// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "device/watch.hpp"
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::verbs {

/// A copy of an rdma_cm event, which has been acknowledged, so that its handler may destroy the id.
struct CmEvent {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;         ///< CONNECT_REQUEST: the new id, now owned by the handler
  std::uint32_t inbound_reads = 0;  ///< Reads that the peer wants to have outstanding at this side
  std::uint32_t outbound_reads = 0;
  std::vector<std::byte> private_data;
};

/// Handles the events of an id whose context points to this object. The events of an id without context are dropped.
class CmHandler {
 public:
  virtual void on_cm_event(CmEvent event) noexcept = 0;

 protected:
  ~CmHandler() = default;
};

/// A fabric's rdma_cm events, in its io_context.
class EventChannel final : public Watch {
 public:
  static Result<std::shared_ptr<EventChannel>> make(boost::asio::io_context& context);
  EventChannel(boost::asio::io_context& context, std::shared_ptr<rdma_event_channel> channel)
      : Watch(context), channel_(std::move(channel)) {}
  ~EventChannel() override { detach(); }
  /// No handler runs after this call. The channel stays open for the ids on it.
  void detach() noexcept { release(); }

  /// The channel is shared with every id on it. Requests in other threads may outlive the fabric.
  const std::shared_ptr<rdma_event_channel>& channel() const noexcept { return channel_; }

 private:
  void drain() noexcept override;

  std::shared_ptr<rdma_event_channel> channel_;
};

}  // namespace rpcrdma::fabric::verbs
