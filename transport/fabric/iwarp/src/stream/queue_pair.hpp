// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/arrival.hpp"
#include "stream/stream.hpp"

namespace rpcrdma::fabric::iwarp {

class IwarpWindow final : public Window, public Arrival {
 public:
  explicit IwarpWindow(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) { stream_->adopt(exposure_); }
  ~IwarpWindow() override { stream_->forget(exposure_); }
  IwarpWindow(const IwarpWindow&) = delete;
  IwarpWindow& operator=(const IwarpWindow&) = delete;
  bool bound() const noexcept override { return exposure_.bound || exposure_.pins != 0; }
  Segment segment() const noexcept override { return exposure_.segment; }
  std::uint32_t arrived() const noexcept override { return exposure_.arrived; }
  bool out_of_order() const noexcept override { return exposure_.out_of_order; }
  Exposure& exposure() noexcept { return exposure_; }

 private:
  std::shared_ptr<Stream> stream_;
  Exposure exposure_;
};

/// The user's handle to a Stream: destroying the handle ends the connection.
class IwarpQueuePair final : public QueuePair {
 public:
  IwarpQueuePair(std::shared_ptr<Stream> stream, std::optional<Endpoint> peer)
      : stream_(std::move(stream)), peer_(std::move(peer)) {}
  ~IwarpQueuePair() override { stream_->quiesce(); }
  IwarpQueuePair(const IwarpQueuePair&) = delete;
  IwarpQueuePair& operator=(const IwarpQueuePair&) = delete;

  error_code post_receive(BufferRef buffer, WorkContext* context) override {
    return stream_->post_receive(buffer, context);
  }
  error_code post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) override {
    return stream_->post_send(gather, options, context);
  }
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        WorkContext* context) override {
    return stream_->post_write(gather, handle, offset, context);
  }
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) override {
    return stream_->post_read(sink, handle, offset, context);
  }
  Result<std::unique_ptr<Window>> make_window() override {
    return std::unique_ptr<Window>(std::make_unique<IwarpWindow>(stream_));
  }
  Result<Segment> bind(Window& window, BufferRef memory, Access access) override {
    return stream_->bind(static_cast<IwarpWindow&>(window).exposure(), memory, access);
  }
  error_code invalidate(Window& window, WorkContext* context) override {
    return stream_->invalidate(static_cast<IwarpWindow&>(window).exposure(), context);
  }
  std::uint64_t read_waits() const noexcept override { return stream_->read_waits(); }
  void submit() override { stream_->submit(); }
  void disconnect() override { stream_->disconnect(); }
  void abort() override { stream_->abort(); }
  void quiesce() noexcept override { stream_->quiesce(); }
  std::uint64_t retransmissions() const noexcept override { return stream_->retransmissions(); }

  void start() { stream_->start(peer_); }

 private:
  std::shared_ptr<Stream> stream_;
  std::optional<Endpoint> peer_;  // the peer of a connector; an acceptor has none
};

}  // namespace rpcrdma::fabric::iwarp
