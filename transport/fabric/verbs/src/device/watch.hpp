// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

namespace rpcrdma::fabric::verbs {

/// From assign() to release(), waits for events on a descriptor of rdma-core, and calls drain() on the io_context when
/// there are any. A shared_ptr must own each Watch, because a wait in progress keeps the Watch alive.
class Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 protected:
  explicit Watch(boost::asio::io_context& context) : descriptor_(context) {}
  virtual ~Watch() = default;
  /// Handles the pending events, but at most a fixed number in one call.
  virtual void drain() noexcept = 0;
  /// Starts to wait on `descriptor`, and makes it non-blocking. The descriptor belongs to the caller, which must call
  /// release() before it closes the descriptor.
  void assign(int descriptor);
  /// Ends the wait on the descriptor. drain() does not start after this call, but a drain() in progress continues.
  void release() noexcept;

 private:
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace rpcrdma::fabric::verbs
