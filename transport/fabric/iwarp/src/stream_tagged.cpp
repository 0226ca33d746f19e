// SPDX-License-Identifier: BSD-3-Clause
// Operation: RDMA Writes go to the window that their STag names, Read Responses to the sink of the oldest Read.
// Ownership: a segment that is being placed pins its window.
// Error handling: nothing is placed that is not granted.
#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {

std::byte* Stream::on_write(const DdpHeader& header, std::uint32_t payload) noexcept {
  // [5040-5.1-c]
  if (payload == 0) return nullptr;  // [5041-5.2-e] nothing is checked where nothing is placed
  Exposure* const exposure = fabric_->stags.find(header.stag);
  // [5041-7.1-b] [5041-8.2-a] [5041-8.3.1-a] [5041-8.3.1-b] [8166-8.1-a] [8166-8.1-b] [8166-8.1.1-a]
  if (exposure == nullptr) return refuse(terminate::kInvalidStag);
  // [5040-8.1.1-a]
  if (exposure->owner != this) return refuse(terminate::kForeignStag);
  if (exposure->access != Access::remote_write) return refuse(terminate::kInvalidStag);  // [5041-8.3.1-d]
  if (header.offset + payload < header.offset) return refuse(terminate::kWrap);
  // [5041-4.2-d]
  const std::uint64_t skipped = header.offset - exposure->segment.offset;  // wraps to a large value when below
  // [5041-8.3.1-c]
  if (skipped > exposure->memory.size || payload > exposure->memory.size - skipped) return refuse(terminate::kBounds);
  placement_ = exposure;
  ++exposure->pins;
  return exposure->memory.data + skipped;
}

// [5040-5.1-a] the ULP is not notified
void Stream::write_placed() noexcept {
  if (placement_ == nullptr) return;
  unpin(placement_);
  placement_ = nullptr;
  retire();
}

// [5040-5.2.2-c] a Response must be the next part of what the oldest Read asked for
std::byte* Stream::on_response(const DdpHeader& header, std::uint32_t payload) noexcept {
  if (reads_out_.empty()) return refuse(terminate::kInvalidStag);
  // [5040-5.5-b]
  Work& work = works_[reads_out_.front()];
  if (header.stag != work.sink_stag) return refuse(terminate::kInvalidStag);
  const std::uint32_t left = work.length - work.sent;
  if (header.offset != work.sent || payload > left) return refuse(terminate::kBounds);
  if (header.last && payload != left) return refuse(terminate::kBounds);
  return payload == 0 ? nullptr : work.gather.front().data + work.sent;
}

void Stream::response_placed() noexcept {
  Work& work = works_[reads_out_.front()];
  work.sent += segment_payload_;
  if (!segment_.last) return;
  // [5040-5.5-g] [5040-5.2.2-d]
  work.done = true;
  reads_out_.pop();
  retire();
}

}  // namespace rpcrdma::fabric::iwarp
