// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/container/small_vector.hpp>

#include "rpcrdma/chunks/split.hpp"
#include "rpcrdma/connection/connection.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::transport {

class CallImpl;

/// Reads one chunk by RDMA Reads, in rounds: each round posts as many Reads as there are send credits.
class PullJob final : public fabric::WorkContext, public UnitWaiter {
 public:
  /// Reads the bytes of the chunk `segments`, from byte `offset` of the chunk on, into `destination`. The job ends when
  /// it calls CallImpl::pulled(), or with the connection if that ends first. The array of segments must stay unchanged
  /// until the job ends.
  void start(CallImpl& call, std::size_t item, std::span<const BufferRef> destination,
             std::span<const Segment> segments, IncomingCall::Handler handler, std::uint32_t offset = 0);
  std::size_t item() const noexcept { return item_; }
  std::span<const BufferRef> destination() const noexcept { return destination_; }
  IncomingCall::Handler take_handler() noexcept { return std::move(handler_); }
  bool on_wire() const noexcept { return on_wire_; }
  /// To be called when the connection has ended.
  void forget_units() noexcept { units_.forget(); }

  void on_completion(const fabric::Completion& completion) noexcept override;
  void on_units(SendUnits units) noexcept override;

 private:
  void post_round(SendUnits first);
  void await_round(error_code refused);

  CallImpl* call_ = nullptr;
  std::size_t item_ = 0;
  boost::container::small_vector<BufferRef, 4> destination_;
  Splitter splitter_;
  IncomingCall::Handler handler_;
  SendUnits units_;
  bool on_wire_ = false;
  // The error with which the fabric has refused a Read without ending the connection. If it is set, the job posts no
  // further Read, and ends with this error when the earlier Reads have completed.
  error_code refused_;
};

}  // namespace rpcrdma::transport
