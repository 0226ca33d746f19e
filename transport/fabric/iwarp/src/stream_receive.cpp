// SPDX-License-Identifier: BSD-3-Clause
// Operation: one read is always pending, of what FpduReader plans; where it was filled, the next ones follow at once.
// Segments come back from it, are checked before they are placed [5041-7.1-a] [5041-7.1-b], and delivered when they
// are whole.
// Ownership: while a segment is placed its receive, its Read or its pinned window keeps the memory.
// Error handling: the first fault is kept; with CRCs on it counts only if the segment's CRC is good. Then a Terminate.
#include <boost/asio/bind_allocator.hpp>

#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

constexpr std::uint8_t kOpcodes = 8;
/// After so many, other connections have their turn.
constexpr int kReadsInARow = 16;

/// [5040-4.1-b] [5041-4.1-a] T and queue that an opcode goes with.
struct Form {
  bool tagged;
  std::uint32_t queue;
};
constexpr std::array<Form, kOpcodes> kForms{{{true, 0},
                                             {false, kReadQueue},
                                             {true, 0},
                                             {false, kSendQueue},
                                             {false, kSendQueue},
                                             {false, kSendQueue},
                                             {false, kSendQueue},
                                             {false, kTerminateQueue}}};

/// [5040-7.2-a] what is wrong with the header itself, or null.
const TerminateCode* check_header(const DdpHeader& header) noexcept {
  if (header.ddp_version != kDdpVersion)  // [5041-4.1-f]
    return header.tagged ? &terminate::kTaggedVersion : &terminate::kUntaggedVersion;
  if (!header.tagged && header.queue > kTerminateQueue) return &terminate::kQueue;
  if (header.rdmap_version != kRdmapVersion) return &terminate::kRdmapVersion;
  if (header.opcode >= kOpcodes || kForms[header.opcode].tagged != header.tagged) return &terminate::kOpcode;
  if (!header.tagged && kForms[header.opcode].queue != header.queue) return &terminate::kOpcode;
  return nullptr;
}

}  // namespace

bool Stream::may_read() const noexcept { return state_ != State::closed && !peer_closed_; }

void Stream::read() {
  const FpduReader::Plan plan = reader_.plan();
  planned_ = boost::asio::buffer_size(plan);
  auto handler = [self = shared_from_this()](error_code error, std::size_t count) { self->on_read(error, count); };
  socket_.async_read_some(plan, boost::asio::bind_allocator(PostAllocator<void>(read_memory_), std::move(handler)));
}

void Stream::on_read(error_code error, std::size_t count) {
  if (state_ == State::closed) return;
  received(error, count);
  // Where all that was asked for has come there is more, as a rule: it is had without a turn of the event loop.
  for (int left = kReadsInARow; may_read() && count == planned_ && left > 0; --left) {
    const FpduReader::Plan plan = reader_.plan();
    planned_ = boost::asio::buffer_size(plan);
    count = socket_.read_some(plan, error);
    if (error == boost::asio::error::would_block || error == boost::asio::error::interrupted) break;
    received(error, count);
  }
  if (may_read()) read();
}

void Stream::received(error_code error, std::size_t count) {
  if (count != 0) reader_.filled(count);
  fabric_->counters.copied += reader_.take_copied();
  if (state_ != State::closed && error == boost::asio::error::eof)
    on_end_of_stream();
  else if (state_ != State::closed && error)
    end(error);
  progress();
}

// [5044-7.2-a] [5041-3-f]
// [5041-3-b] TCP is reliable; its end in mid frame is an error
void Stream::on_end_of_stream() {
  if (!reader_.between_frames()) return end(make_error_code(boost::system::errc::connection_reset));
  if (write_error_) return end(write_error_);
  if (state_ != State::closing || !may_transmit_ || shut_down_) return end({});
  // Both sides close; what we have posted goes first.
  peer_closed_ = true;
  arm_close_timer();
}

std::byte* Stream::on_segment(const DdpHeader& header, std::uint32_t payload) noexcept {
  segment_ = header;
  segment_payload_ = payload;
  if (const TerminateCode* error = check_header(header)) return refuse(*error);
  switch (static_cast<Opcode>(header.opcode)) {
    case Opcode::write: return on_write(header, payload);
    case Opcode::read_response: return on_response(header, payload);
    case Opcode::read_request: return on_read_request(header, payload);
    case Opcode::terminate: return on_terminate(header, payload);
    default: return on_send(header, payload);
  }
}

void Stream::on_segment_end() noexcept {
  if (refusal_) return violate(*refusal_, refusal_reason_);
  any_segment_ = true;
  may_transmit_ = true;
  switch (static_cast<Opcode>(segment_.opcode)) {
    case Opcode::write: return write_placed();
    case Opcode::read_response: return response_placed();
    case Opcode::read_request: return read_requested();
    case Opcode::terminate: return terminated();
    default: return send_placed();
  }
}

void Stream::on_framing_error(const TerminateCode& error) noexcept { violate(error, FabricError::protocol_violation); }

std::byte* Stream::refuse(const TerminateCode& error, FabricError why) noexcept {
  if (agreement_.crc) {  // a broken header is not to be believed: wait for the CRC
    refusal_ = error;
    refusal_reason_ = why;
  } else {
    violate(error, why);
  }
  return nullptr;
}

}  // namespace rpcrdma::fabric::iwarp
