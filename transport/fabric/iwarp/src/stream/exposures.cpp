// SPDX-License-Identifier: BSD-3-Clause
#include "stream/exposures.hpp"

namespace rpcrdma::fabric::iwarp {

void Exposures::adopt(Exposure& exposure) {
  exposure.owner = this;
  all_.push_back(&exposure);
}

void Exposures::forget(Exposure& exposure) noexcept {
  unbind(exposure);
  std::erase(all_, &exposure);
}

// [5041-8.3-a] [5041-8.3-b] [5041-8.2-b] exposes an exact range, to this stream alone
Result<Segment> Exposures::bind(Exposure& exposure, BufferRef memory, Access access) {
  if (!owns(exposure) || exposure.bound || exposure.invalidating || exposure.pins != 0 || memory.size == 0)
    return make_error_code(BaseError::invalid_argument);
  if (fabric_.region_of(memory) == nullptr) return make_error_code(BaseError::invalid_argument);
  exposure.memory = memory;
  exposure.access = access;
  exposure.segment = {fabric_.stags.insert(exposure), memory.size, fabric_.stags.draw_offset()};
  exposure.bound = true;
  exposure.arrived = 0;
  exposure.out_of_order = false;
  return exposure.segment;
}

void Exposures::unbind(Exposure& exposure) noexcept {
  if (!exposure.bound) return;
  exposure.bound = false;
  fabric_.stags.erase(exposure.segment.handle);
}

void Exposures::release() noexcept {
  placed_ = 0;
  write_placed();
  for (Exposure* exposure : all_) unbind(*exposure);
}

Placement Exposures::place_write(const DdpHeader& header, std::uint32_t payload) noexcept {
  if (payload == 0) return {};  // [5041-5.2-e] [5040-5.1-c] an empty segment places nothing and is not checked
  Exposure* const exposure = fabric_.stags.find(header.stag);
  // [5041-7.1-b] [5041-8.2-a] [5041-8.3.1-a] [5041-8.3.1-b] [8166-8.1-a] [8166-8.1-b] [8166-8.1.1-a] All of the checks
  // below precede the placement of the first byte: the STag, the stream, the access right and the range.
  if (exposure == nullptr) return refused(terminate::kInvalidStag);
  if (!owns(*exposure)) return refused(terminate::kForeignStag);  // [5040-8.1.1-a] an STag is valid on one stream only
  // [5041-8.3.1-d] the exposure must grant writing
  if (exposure->access != Access::remote_write) return refused(terminate::kInvalidStag);
  if (wraps(header.offset, payload)) return refused(terminate::kWrap);
  const std::uint64_t skipped =
      header.offset - exposure->segment.offset;  // wraps to a large number if the offset is below the range
  // [5041-8.3.1-c] [5041-4.2-d] the peer may write anywhere within the range
  if (skipped > exposure->memory.size || payload > exposure->memory.size - skipped) return refused(terminate::kBounds);
  placement_ = exposure;
  placed_ = payload;
  exposure->out_of_order = exposure->out_of_order || skipped != exposure->arrived;
  ++exposure->pins;
  return {exposure->memory.data + skipped};
}

// Called when a segment that place_write() has admitted has been placed, and when the connection has ended.
// [5040-5.1-a] A Write of the peer completes no work request of this side, so the ULP is not notified.
void Exposures::write_placed() noexcept {
  if (placement_ == nullptr) return;
  --placement_->pins;
  if (!placement_->out_of_order) placement_->arrived += placed_;
  placement_ = nullptr;
}

// [5040-5.2.1-d] [5040-5.2.1-f] [5040-7.2-c] Finds the exposure from which a Read Request reads. Returns null if the
// request is permitted: the STag is valid on this stream, the exposure grants reading, and the range lies within it.
// Otherwise returns the code for the Terminate message.
const TerminateCode* Exposures::find_source(const ReadRequest& request, Exposure*& exposure) const noexcept {
  exposure = fabric_.stags.find(request.source_stag);
  if (exposure == nullptr) return &terminate::kReadInvalidStag;
  if (!owns(*exposure)) return &terminate::kReadForeignStag;
  if (exposure->access != Access::remote_read) return &terminate::kReadAccess;
  if (wraps(request.source_offset, request.size)) return &terminate::kReadWrap;
  const std::uint64_t skipped = request.source_offset - exposure->segment.offset;
  if (skipped > exposure->memory.size || request.size > exposure->memory.size - skipped) return &terminate::kReadBounds;
  return nullptr;
}

// [5040-5.3-e] [5040-7.2-b] [5040-8.1.1-b] the STag must be valid and belong to this stream; it becomes invalid before
// the receive completes
const TerminateCode* Exposures::revoke(std::uint32_t stag, Exposure*& exposure) noexcept {
  exposure = fabric_.stags.find(stag);
  if (exposure == nullptr) return &terminate::kInvalidate;
  if (!owns(*exposure)) return &terminate::kForeignInvalidate;
  unbind(*exposure);
  return nullptr;
}

}  // namespace rpcrdma::fabric::iwarp
