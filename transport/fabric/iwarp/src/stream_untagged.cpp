// SPDX-License-Identifier: BSD-3-Clause
// Operation: Sends fill the posted receives in order; Read Requests queue for their Responses; a Terminate ends it all.
// Ownership: a Send is placed straight into its receive; control messages pass a small buffer.
// Error handling: the checks of RFC 5041 section 7.1, each with its own code.
#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {

// [5041-7.1-a]
std::byte* Stream::on_send(const DdpHeader& header, std::uint32_t payload) noexcept {
  // [5041-5.3-d]
  if (header.msn != expected_send_) return refuse(terminate::kMsn);
  if (placing_ == receives_.tail()) return refuse(terminate::kNoBuffer, FabricError::no_receive);
  const Receive& receive = receives_[placing_];
  if (header.offset != placed_) return refuse(terminate::kMessageOffset);  // [5041-4.3-c]
  // [5040-5.3-c]
  if (payload > receive.buffer.size - placed_) return refuse(terminate::kTooLong, FabricError::message_too_long);
  return payload == 0 ? nullptr : receive.buffer.data + placed_;
}

// [5041-4.1-d] [5041-5.4-a] messages complete in the order of their segments
void Stream::send_placed() noexcept {
  placed_ += segment_payload_;
  if (!segment_.last) return;
  Receive& receive = receives_[placing_];
  const auto opcode = static_cast<Opcode>(segment_.opcode);
  // [5041-4.2-c] the ULP's field carries the STag
  if (opcode == Opcode::send_invalidate || opcode == Opcode::send_solicited_invalidate) {
    if (!invalidate_by_peer(receive, segment_.stag)) return;
  }
  // [5040-5.3-a] [5040-5.3-b] [5041-5.4-b]
  receive.length = placed_;
  placed_ = 0;
  ++placing_;
  expected_send_ = next_msn(expected_send_);
  retire();
}

// [5040-5.3-e] [5040-7.2-b] [5040-8.1.1-b] valid, of this stream, and out of force before the receive completes
bool Stream::invalidate_by_peer(Receive& receive, std::uint32_t stag) noexcept {
  Exposure* const exposure = fabric_->stags.find(stag);
  if (exposure == nullptr || exposure->owner != this) {
    violate(exposure == nullptr ? terminate::kInvalidate : terminate::kForeignInvalidate,
            FabricError::protocol_violation);
    return false;
  }
  unbind(*exposure);
  receive.invalidated = stag;
  receive.exposure = exposure;
  return true;
}

std::byte* Stream::on_read_request(const DdpHeader& header, std::uint32_t payload) noexcept {
  if (header.msn != expected_read_) return refuse(terminate::kMsn);
  // [5040-6.1-c] [5040-5.2.2-b]
  if (reads_in_.tail() - response_cursor_ >= agreement_.inbound_reads) return refuse(terminate::kNoBuffer);
  if (header.offset != 0) return refuse(terminate::kMessageOffset);
  if (payload > ReadRequest::kSize || !header.last) return refuse(terminate::kTooLong);
  if (payload < ReadRequest::kSize) return refuse(terminate::kUnspecifiedOperation);
  return control_.data();
}

// [5040-5.5-c] on delivery, after the Writes before it
void Stream::read_requested() noexcept {
  expected_read_ = next_msn(expected_read_);
  Reader in(Octets(control_).first(segment_payload_));
  const ReadRequest request = decode_read_request(in);
  Exposure* exposure = nullptr;
  if (request.size != 0) {  // [5040-5.2.1-e]
    if (const TerminateCode* error = check_source(request, &exposure))
      return violate(*error, FabricError::protocol_violation);
  }
  // [5040-5.2.1-b] [5040-5.2.1-c]
  InboundRead& read = reads_in_.push();
  read = {};
  read.exposure = exposure;
  read.size = request.size;
  read.sink_stag = request.sink_stag;
  read.sink_offset = request.sink_offset;
  if (exposure == nullptr) return;
  ++exposure->pins;
  read.source = exposure->memory.data + (request.source_offset - exposure->segment.offset);
}

// [5040-5.2.1-d] [5040-7.2-c]
const TerminateCode* Stream::check_source(const ReadRequest& request, Exposure** exposure) const noexcept {
  // [5040-5.2.1-f]
  *exposure = fabric_->stags.find(request.source_stag);
  if (*exposure == nullptr) return &terminate::kReadInvalidStag;
  const Exposure& source = **exposure;
  if (source.owner != this) return &terminate::kReadForeignStag;
  if (source.access != Access::remote_read) return &terminate::kReadAccess;
  if (request.source_offset + request.size < request.source_offset) return &terminate::kReadWrap;
  const std::uint64_t skipped = request.source_offset - source.segment.offset;
  if (skipped > source.memory.size || request.size > source.memory.size - skipped) return &terminate::kReadBounds;
  return nullptr;
}

std::byte* Stream::on_terminate(const DdpHeader&, std::uint32_t payload) noexcept {
  return payload != 0 && payload <= control_.size() ? control_.data() : nullptr;
}

// [5040-5.4-b] [5040-6.2.1-b]
void Stream::terminated() noexcept {
  Terminate message;
  const bool known = segment_payload_ <= control_.size() && decode(Octets(control_).first(segment_payload_), message);
  fabric_->log.warn("iwarp {}: {} ended the connection: {}", number_, info_.peer.address().to_string(),
                    known ? describe(message.code) : "a Terminate that cannot be read");
  const TerminateCode& code = message.code;
  // Protection errors concern our Writes and Reads, but for STags that could not be invalidated.
  const bool access = known && ((code.layer == terminate::kDdpLayer && code.type == terminate::kTaggedBuffer) ||
                                (code.layer == terminate::kRdmapLayer && code.type == terminate::kRemoteProtection &&
                                 code != terminate::kForeignInvalidate));
  // [5040-5.4-d]
  end(access ? FabricError::remote_access : FabricError::remote_terminated);
}

}  // namespace rpcrdma::fabric::iwarp
