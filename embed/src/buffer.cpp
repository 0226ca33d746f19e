// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/embed/buffer.hpp"

namespace rpcrdma {

void Buffer::reset() noexcept {
  ref_ = {};
  const std::shared_ptr<embed::Memory> memory = std::move(memory_);
  if (!memory) return;
  const std::shared_ptr<embed::Loop> loop = memory->loop;
  if (!loop) return buffer_.reset();
  loop->run([memory, buffer = std::move(buffer_)]() mutable { buffer.reset(); });
}

}  // namespace rpcrdma
