// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Memory and gather list of one outgoing message, of a requester or a responder.
#include <boost/container/small_vector.hpp>

#include "rpcrdma/base/payload_builder.hpp"
#include "rpcrdma/chunks/gather.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/wire/header.hpp"

namespace rpcrdma::transport {

/// Reserves room for the header in front of the payload, so that most messages are one piece of memory. Holds the
/// memory from begin() to reset(). Used on one thread.
class Outgoing final : private PayloadMemory {
 public:
  /// Takes a send buffer of `size` bytes and starts `builder` in it. Lends the builder up to `max_payload` bytes of
  /// further memory. Fails with BaseError::out_of_memory when the pool is exhausted.
  error_code begin(memory::Pool& pool, std::uint32_t size, std::uint32_t max_payload, PayloadBuilder& builder);
  /// Drops what has been built since begin(), and starts `builder` again in the send buffer. Returns the further memory
  /// to the pool.
  void restart(PayloadBuilder& builder);
  bool begun() const noexcept { return static_cast<bool>(buffer_); }

  /// Registered zeros, for pads.
  BufferRef zeros() const noexcept { return buffer_.ref().slice(0, 4); }

  /// Encodes `header` in front of `stream` and makes the gather list of the Send. The list has at most `max_gather`
  /// pieces: if header and stream have more, they are copied into one piece. `header_size` is the encoded size of
  /// `header`.
  error_code finish(const wire::Header& header, std::uint32_t header_size, std::span<const BufferRef> stream,
                    std::uint32_t max_gather);
  std::span<const BufferRef> gather() const noexcept { return gather_; }

  void reset() noexcept;

 private:
  Result<BufferRef> more_payload_memory(std::uint32_t at_least) override;
  void copy_together(std::uint32_t header_size, std::span<const BufferRef> stream);

  memory::Pool* pool_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t left_ = 0;  // bytes that more_payload_memory() may still lend
  memory::RegisteredBuffer buffer_;
  boost::container::small_vector<memory::RegisteredBuffer, 4> more_;
  // Holds the header if it is too long for the room in buffer_. Also holds the header and a copy of the stream if they
  // have too many pieces for the gather list. Otherwise empty.
  memory::RegisteredBuffer front_;
  GatherList gather_;
};

}  // namespace rpcrdma::transport
