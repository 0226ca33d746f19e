// SPDX-License-Identifier: BSD-3-Clause
// Operation: one read is pending at a time, into the buffers that FpduReader plans. Further reads follow at once,
// within the limits below, as long as reads fill these buffers completely or linger() finds more data. The reader
// reports segments, which are checked before they are placed [5041-7.1-a] [5041-7.1-b] and delivered when they are
// complete.
// Ownership: during placement a posted receive, a Read or a pinned window keeps the memory valid.
// Error handling: a fault is answered by a Terminate. With CRCs, a fault in a header is answered only if the CRC of the
// segment is correct.
#include <boost/asio/bind_allocator.hpp>

#include "stream/stream.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

constexpr std::uint8_t kOpcodes = 8;
/// One read handler makes at most this many further reads, and none once it has received kBytesInARow bytes, which is
/// room for a message of 1 MiB and some small ones. Then other handlers of the event loop run.
constexpr int kReadsInARow = 16;
constexpr std::size_t kBytesInARow = 1280u << 10;

/// [5040-4.1-b] [5041-4.1-a] The values that the header of a segment must have for one opcode: the T flag and, if the
/// segment is untagged, the queue number. kForms has one entry for each opcode, in the order of the opcodes.
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

/// [5040-7.2-a] Checks the versions, the opcode, the T flag and the queue number in the header of a segment. Returns
/// the error with which the segment is to be refused, or null if these fields are valid.
const TerminateCode* check_header(const DdpHeader& header) noexcept {
  if (header.ddp_version != kDdpVersion)  // [5041-4.1-f] the version must be 1
    return header.tagged ? &terminate::kTaggedVersion : &terminate::kUntaggedVersion;
  if (!header.tagged && header.queue > kTerminateQueue) return &terminate::kQueue;
  if (header.rdmap_version != kRdmapVersion) return &terminate::kRdmapVersion;
  if (header.opcode >= kOpcodes || kForms[header.opcode].tagged != header.tagged) return &terminate::kOpcode;
  if (!header.tagged && kForms[header.opcode].queue != header.queue) return &terminate::kOpcode;
  return nullptr;
}

}  // namespace

void Stream::read() {
  const FpduReader::Plan& plan = reader_.plan();
  planned_ = boost::asio::buffer_size(plan);
  auto handler = [self = shared_from_this()](error_code error, std::size_t count) { self->on_read(error, count); };
  socket_.async_read_some(plan, boost::asio::bind_allocator(PostAllocator<void>(read_memory_), std::move(handler)));
}

void Stream::on_read(error_code error, std::size_t count) {
  if (state_.over()) return;
  linger_.begin();
  ++fabric_->counters.wakeups;
  received(error, count);
  std::size_t total = count;
  for (int left = kReadsInARow; state_.reads() && left > 0 && total < kBytesInARow; --left, total += count) {
    // If the last read filled its buffers, more data usually follows. This loop then reads again without a turn of the
    // event loop.
    const bool more = count == planned_ ? read_now(error, count) : linger(error, count);
    if (!more) break;
    received(error, count);
  }
  if (state_.reads()) read();
}

/// If linger_ permits it, waits for a short time for the peer's next message. Returns whether read_now() has returned
/// true. Returns false without waiting if the socket cannot take all bytes that this side has to send, or if callbacks
/// are pending. The peer may then send nothing before this side has continued, and this side cannot continue during the
/// wait.
bool Stream::linger(error_code& error, std::size_t& count) {
  if (writable_awaited_ || dispatcher_.pending()) return false;
  return linger_.wait([&] { return read_now(error, count); });
}

/// Reads once, without blocking. Returns false if there is nothing to read at present.
bool Stream::read_now(error_code& error, std::size_t& count) {
  const FpduReader::Plan& plan = reader_.plan();
  planned_ = boost::asio::buffer_size(plan);
  count = socket_.read_some(plan, error);
  return error != boost::asio::error::would_block && error != boost::asio::error::interrupted;
}

void Stream::received(error_code error, std::size_t count) {
  if (count != 0) {
    ++fabric_->counters.socket_reads;
    reader_.filled(count);
  }
  fabric_->counters.copied += reader_.take_copied();
  if (!state_.over() && error == boost::asio::error::eof)
    on_end_of_stream();
  else if (!state_.over() && error)
    end(error);
  progress();
}

// To be called when the peer has ended its direction of the TCP connection. [5044-7.2-a] [5041-3-f] [5041-3-b] If this
// happens in the middle of a frame, the connection ends with an error.
void Stream::on_end_of_stream() {
  if (!reader_.between_frames()) return end(make_error_code(boost::system::errc::connection_reset));
  if (write_error_) return end(write_error_);
  if (!may_transmit_ || state_.after(Event::peer_end) == StreamState::Name::closed) return end({});
  // The user has called disconnect(), and posted work or Reads of the peer are still outstanding. The peer has now
  // ended its direction of the TCP connection. This side goes on sending until nothing is outstanding or the close
  // timer expires.
  state_.enter(Event::peer_end);
  arm_close_timer();
}

Target Stream::on_segment(const DdpHeader& header, std::uint32_t payload) noexcept {
  segment_.header = header;
  segment_.payload = payload;
  const Placement placement = place(header, payload);
  segment_.at = placement.at;
  if (placement.refusal != nullptr) refuse(placement);
  return {placement.at, placement.rest};
}

Placement Stream::place(const DdpHeader& header, std::uint32_t payload) noexcept {
  if (const TerminateCode* error = check_header(header)) return refused(*error);
  switch (static_cast<Opcode>(header.opcode)) {
    case Opcode::write: return exposures_.place_write(header, payload);
    case Opcode::read_response: return sends_.place_response(header, payload);
    case Opcode::read_request: return responder_.place(header, payload, control_.data());
    case Opcode::terminate: return place_terminate(header, payload);
    default: return receives_.place(header, payload);
  }
}

// [5041-7.1-a] The queue for Terminates carries one message, which has a single segment. A segment of this queue is
// therefore refused unless it has the first MSN, the offset 0 and the Last flag.
Placement Stream::place_terminate(const DdpHeader& header, std::uint32_t payload) noexcept {
  if (header.msn != kFirstMsn) return refused(terminate::kMsn);
  if (header.offset != 0) return refused(terminate::kMessageOffset);
  if (payload > control_.size() || !header.last) return refused(terminate::kTooLong);
  if (payload == 0) return {};
  return {control_.data()};
}

/// Ends the connection because the header of the arriving segment is not acceptable. If CRCs are in use,
/// on_segment_end() does this later, after the CRC has shown that the header is intact.
void Stream::refuse(const Placement& refusal) noexcept {
  if (agreement_.crc)
    segment_.refusal = refusal;
  else
    violate(*refusal.refusal, refusal.why);
}

void Stream::on_segment_end() noexcept {
  if (segment_.refusal.refusal != nullptr) return violate(*segment_.refusal.refusal, segment_.refusal.why);
  any_segment_ = true;
  ++fabric_->counters.frames_received;
  may_transmit_ = true;
  switch (static_cast<Opcode>(segment_.header.opcode)) {
    case Opcode::write: return write_placed();
    case Opcode::read_response: sends_.response_placed(segment_.header, segment_.payload); return retire();
    case Opcode::read_request: return read_requested();
    case Opcode::terminate: return terminated();
    default: return send_placed();
  }
}

void Stream::on_framing_error(const TerminateCode& error) noexcept {
  if (error == terminate::kCrc) ++fabric_->counters.crc_errors;
  violate(error, FabricError::protocol_violation);
}

void Stream::send_placed() noexcept {
  receives_.placed(segment_.payload);
  if (!segment_.header.last) return;
  Exposure* revoked = nullptr;
  const auto opcode = static_cast<Opcode>(segment_.header.opcode);
  // [5041-4.2-c] in the two kinds of Send with Invalidate, the RsvdULP field carries the STag
  if (opcode == Opcode::send_invalidate || opcode == Opcode::send_solicited_invalidate)
    if (const TerminateCode* error = exposures_.revoke(segment_.header.stag, revoked))
      return violate(*error, FabricError::protocol_violation);
  receives_.delivered(revoked, segment_.header.stag);
  retire();
}

void Stream::write_placed() noexcept {
  if (options_.access != nullptr && segment_.payload != 0)
    options_.access->on_remote_write(segment_.header.stag, segment_.header.offset, {segment_.at, segment_.payload});
  exposures_.write_placed();
  retire();
}

// [5040-5.5-c] a Read Request is processed on delivery, after the Writes that precede it
void Stream::read_requested() noexcept {
  Reader in(Octets(control_).first(segment_.payload));
  const ReadRequest request = decode_read_request(in);
  if (const TerminateCode* error = responder_.add(request)) return violate(*error, FabricError::protocol_violation);
  if (options_.access != nullptr)
    options_.access->on_remote_read(request.source_stag, request.source_offset, responder_.last_source());
}

// [5040-5.4-b] [5040-6.2.1-b] reports the Terminate to the user; outstanding work completes with an error
void Stream::terminated() noexcept {
  Terminate message;
  const bool known = decode(Octets(control_).first(segment_.payload), message);
  if (log_.enabled(LogLevel::warn))
    log_.limited(fabric_->stream_lines)
        .warn("the peer ended the connection with a Terminate: {}", known ? describe(message.code) : "malformed");
  const TerminateCode& code = message.code;
  // Two types of errors say that the peer refused a Write or Read of this side: tagged buffer errors of DDP, and remote
  // protection errors of RDMAP. Exception: kForeignInvalidate is about an STag that this side may not invalidate.
  const bool access = known && ((code.layer == terminate::kDdpLayer && code.type == terminate::kTaggedBuffer) ||
                                (code.layer == terminate::kRdmapLayer && code.type == terminate::kRemoteProtection &&
                                 code != terminate::kForeignInvalidate));
  // [5040-5.4-d] nothing more is sent
  end(access ? FabricError::remote_access : FabricError::remote_terminated);
}

}  // namespace rpcrdma::fabric::iwarp
