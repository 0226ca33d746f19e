// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "end.hpp"

namespace rpcrdma::fabric::loopback {

/// The queue pair that the user of the fabric owns. It forwards its operations to an End, which is one side of a
/// connection. The destructor ends the connection.
class LoopbackQueuePair final : public QueuePair {
 public:
  LoopbackQueuePair(std::shared_ptr<End> end, std::optional<Endpoint> peer)
      : end_(std::move(end)), peer_(std::move(peer)) {}
  ~LoopbackQueuePair() override { end_->quiesce(); }

  error_code post_receive(BufferRef buffer, WorkContext* context) override {
    return end_->post_receive(buffer, context);
  }
  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) override {
    return end_->post_send(gather, options, context);
  }
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context) override {
    return end_->post_write(gather, handle, offset, context);
  }
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) override {
    return end_->post_read(sink, handle, offset, context);
  }
  Result<std::unique_ptr<Window>> make_window() override {
    if (const error_code error = end_->fabric().faults.next(LoopbackOperation::make_window)) return error;
    auto state = std::make_shared<WindowState>();
    state->owner = end_.get();
    end_->fabric().enlist(state);
    return std::unique_ptr<Window>(std::make_unique<LoopbackWindow>(end_, std::move(state)));
  }
  Result<Segment> bind(Window& window, BufferRef memory, Access access) override {
    return end_->bind(static_cast<LoopbackWindow&>(window).state(), memory, access);
  }
  error_code invalidate(Window& window, WorkContext* context) override {
    return end_->invalidate(static_cast<LoopbackWindow&>(window).state(), context);
  }
  std::uint64_t read_waits() const noexcept override { return end_->read_waits(); }
  void submit() override { end_->submit(); }
  void disconnect() override { end_->disconnect(); }
  void abort() override { end_->abort(); }
  void quiesce() noexcept override { end_->quiesce(); }

  void start() {
    if (end_->state() != End::State::idle) return;
    if (peer_)
      end_->start_connecting(*peer_);
    else
      end_->start_accepting();
  }

 private:
  std::shared_ptr<End> end_;
  std::optional<Endpoint> peer_;  // the peer of a connector; an acceptor has none
};

}  // namespace rpcrdma::fabric::loopback
