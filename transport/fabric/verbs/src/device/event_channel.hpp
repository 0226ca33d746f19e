// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "device/watch.hpp"
#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::verbs {

/// A copy of an rdma_cm event. The event itself has been acknowledged. Therefore the handler may destroy the id of the
/// event: rdma_destroy_id() does not have to wait for the acknowledgement.
struct CmEvent {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;         ///< the id of the event; the new id of a CONNECT_REQUEST belongs to the handler
  std::uint32_t inbound_reads = 0;  ///< Reads that the peer wants to have outstanding at this side
  std::uint32_t outbound_reads = 0;
  std::vector<std::byte> private_data;
};

/// Handles events of rdma_cm. The context of an rdma_cm_id points to the CmHandler that gets the events of this id. If
/// the context is null, the EventChannel drops the events.
class CmHandler {
 public:
  virtual void on_cm_event(CmEvent event) noexcept = 0;

 protected:
  ~CmHandler() = default;
};

/// Receives the rdma_cm events of one fabric, and passes each event to the CmHandler of its id. Runs the handlers on
/// the io_context of the fabric.
class EventChannel final : public Watch {
 public:
  static Result<std::shared_ptr<EventChannel>> make(boost::asio::io_context& context);
  EventChannel(boost::asio::io_context& context, std::shared_ptr<rdma_event_channel> channel)
      : Watch(context), channel_(std::move(channel)) {}
  ~EventChannel() override { detach(); }
  /// No handler runs after this call. The channel stays open for the ids on it.
  void detach() noexcept { release(); }

  /// The channel must exist as long as an id uses it. If the owner of an id may outlive the fabric, the owner therefore
  /// keeps a copy of this pointer. An example is a connection request that is passed to another thread.
  const std::shared_ptr<rdma_event_channel>& channel() const noexcept { return channel_; }

 private:
  void drain() noexcept override;

  std::shared_ptr<rdma_event_channel> channel_;
};

}  // namespace rpcrdma::fabric::verbs
