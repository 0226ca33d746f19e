// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

namespace rpcrdma::fabric::verbs {

/// Waits on a descriptor of rdma-core in the io_context, as long as somebody is interested: an idle fabric
/// holds no work on the io_context. Always owned by a shared_ptr: a wait in progress keeps it alive.
class Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// One interested party. Move-only; lets go when destroyed. Fabric's thread only.
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

  /// Nobody is interested: what comes is read only when somebody looks.
  bool idle() const noexcept { return interested_ == 0; }
  /// Handles what is at hand now. Not from within a callback unless idle.
  void look() noexcept {
    if (descriptor_.is_open()) drain();
  }

 protected:
  explicit Watch(boost::asio::io_context& context) : descriptor_(context) {}
  virtual ~Watch() = default;
  /// Handles what is at hand, or a good part of it.
  virtual void drain() noexcept = 0;
  /// The descriptor stays the caller's, who calls release() before closing it. It becomes non-blocking.
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
