// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/outgoing.hpp"

#include <algorithm>
#include <cstring>

namespace rpcrdma::transport {
namespace {

/// The layout of the send buffer, in bytes. The first kZeros bytes are zeros, which serve as XDR pads. The payload
/// begins at the offset kHeaderRoom, so that a transport header with only a few segments fits between the zeros and the
/// payload. A larger header needs a buffer of its own.
constexpr std::uint32_t kZeros = 4;
constexpr std::uint32_t kHeaderRoom = 128;
constexpr std::uint32_t kFirstGrowth = 16384;
constexpr std::uint32_t kLastGrowth = 1u << 18;

}  // namespace

error_code Outgoing::begin(memory::Pool& pool, std::uint32_t size, std::uint32_t max_payload, PayloadBuilder& builder) {
  auto buffer = pool.allocate(size);
  if (!buffer) return buffer.error();
  pool_ = &pool;
  size_ = size;
  buffer_ = std::move(*buffer);
  std::memset(buffer_.ref().data, 0, kZeros);
  left_ = max_payload;
  restart(builder);
  return {};
}

void Outgoing::restart(PayloadBuilder& builder) {
  for (const memory::RegisteredBuffer& lent : more_) left_ += lent.ref().size;
  more_.clear();
  builder.start(buffer_.ref().slice(kHeaderRoom, size_ - kHeaderRoom), this);
}

Result<BufferRef> Outgoing::more_payload_memory(std::uint32_t at_least) {
  if (at_least > left_) return BaseError::buffer_overflow;
  const std::uint32_t growth = more_.empty() ? kFirstGrowth : std::min(more_.back().ref().size * 4, kLastGrowth);
  auto buffer = pool_->allocate(std::max(at_least, std::min(growth, left_)));
  if (!buffer) return BaseError::out_of_memory;
  left_ -= buffer->ref().size;
  more_.push_back(std::move(*buffer));
  return more_.back().ref();
}

error_code Outgoing::finish(const wire::Header& header, std::uint32_t header_size, std::span<const BufferRef> stream,
                            std::uint32_t max_gather) {
  gather_.clear();
  const bool fits_room = header_size <= kHeaderRoom - kZeros;
  BufferRef front;
  if (fits_room && stream.size() < max_gather) {
    front = buffer_.ref().slice(kHeaderRoom - header_size, header_size);
    append(gather_, front);
    for (const BufferRef& part : stream) append(gather_, part);
  } else {
    const bool copies = stream.size() >= max_gather;
    auto buffer = pool_->allocate(static_cast<std::uint32_t>(header_size + (copies ? total_size(stream) : 0)));
    if (!buffer) return buffer.error();
    front_ = std::move(*buffer);
    front = front_.first(header_size);
    if (copies) {
      copy_together(header_size, stream);
    } else {
      append(gather_, front);
      for (const BufferRef& part : stream) append(gather_, part);
    }
  }
  const auto written = wire::encode(header, front.octets());
  return written ? error_code{} : written.error();
}

void Outgoing::copy_together(std::uint32_t header_size, std::span<const BufferRef> stream) {
  std::byte* at = front_.ref().data + header_size;
  for (const BufferRef& part : stream) {
    std::memcpy(at, part.data, part.size);
    at += part.size;
  }
  append(gather_, front_.first(static_cast<std::uint32_t>(at - front_.ref().data)));
}

void Outgoing::reset() noexcept {
  gather_.clear();
  front_.reset();
  more_.clear();
  buffer_.reset();
}

}  // namespace rpcrdma::transport
