// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/embed/buffer.hpp"

#include <boost/asio/post.hpp>

namespace rpcrdma {

void Buffer::reset() noexcept {
  ref_ = {};
  const std::shared_ptr<embed::Memory> memory = std::move(memory_);
  if (!memory) return;
  const std::shared_ptr<embed::Loop> loop = memory->loop;
  if (!loop || !loop->running() || loop->on_thread()) return buffer_.reset();
  boost::asio::post(loop->context(), [memory, buffer = std::move(buffer_)]() mutable { buffer.reset(); });
}

}  // namespace rpcrdma
