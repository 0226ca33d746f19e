// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

namespace rpcrdma::fabric::verbs {

/// Waits on a descriptor of rdma-core in the io_context while there are Interests: an idle fabric holds no work on the
/// io_context. Always owned by a shared_ptr: a wait in progress keeps it alive.
class Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// A reason to wait. Move-only; ends when destroyed. Fabric's thread only.
  class Interest {
   public:
    Interest() = default;
    explicit Interest(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) { watch_->enter(); }
    Interest(Interest&&) noexcept = default;
    Interest& operator=(Interest&& other) noexcept {
      reset();
      watch_ = std::move(other.watch_);
      return *this;
    }
    ~Interest() { reset(); }
    void reset() noexcept {
      if (auto watch = std::move(watch_)) watch->leave();
    }

   private:
    std::shared_ptr<Watch> watch_;
  };

  /// There is no Interest: events are read only by look().
  bool idle() const noexcept { return interested_ == 0; }
  /// Handles the events at hand. Not from within a callback unless idle.
  void look() noexcept {
    if (descriptor_.is_open()) drain();
  }

 protected:
  explicit Watch(boost::asio::io_context& context) : descriptor_(context) {}
  virtual ~Watch() = default;
  /// Handles the events at hand, or a bounded number of them.
  virtual void drain() noexcept = 0;
  /// The descriptor belongs to the caller, which calls release() before it closes it. It becomes non-blocking.
  void assign(int descriptor);
  void release() noexcept;

 private:
  void enter();
  void leave() noexcept;
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  std::size_t interested_ = 0;
  bool waiting_ = false;
};

}  // namespace rpcrdma::fabric::verbs
