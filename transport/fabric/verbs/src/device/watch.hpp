// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>

namespace rpcrdma::fabric::verbs {

/// Waits on a descriptor of rdma-core in the io_context, from assign() to release(). Always owned by a shared_ptr: a
/// wait in progress keeps it alive.
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
  /// drain() does not start after this call.
  void release() noexcept;

 private:
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace rpcrdma::fabric::verbs
