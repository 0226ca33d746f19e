// SPDX-License-Identifier: BSD-3-Clause
#include "stream/send_side.hpp"

#include <algorithm>
#include <limits>

#include "wire/read_request.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

void add_payload(Work& work, std::uint32_t count, FpduWriter& writer) noexcept {
  work.sent += count;
  while (count != 0) {
    const BufferRef& buffer = work.gather[work.piece];
    const std::uint32_t n = std::min(count, buffer.size - work.piece_offset);
    writer.payload({buffer.data + work.piece_offset, n});
    count -= n;
    work.piece_offset += n;
    if (work.piece_offset == buffer.size) {
      ++work.piece;
      work.piece_offset = 0;
    }
  }
}

}  // namespace

SendSide::SendSide(FabricState& fabric, CompletionDispatcher& dispatcher, std::uint32_t depth)
    : fabric_(fabric), dispatcher_(dispatcher), depth_(depth) {
  works_.reserve(std::size_t{depth} + 1);  // one more for the ready-to-receive indication
}

void SendSide::start(std::uint32_t mulpdu, std::uint32_t reads) {
  mulpdu_ = mulpdu;
  // One Read must be possible even if the ORD is 0, because the ready-to-receive indication may be a Read.
  max_reads_ = std::max(reads, 1u);
  reads_.reserve(max_reads_);
}

error_code SendSide::has_room() const noexcept {
  return slots_ >= depth_ || works_.full() ? error_code(FabricError::queue_full) : error_code();
}

Work& SendSide::add(Work::Kind kind, WorkContext* context) noexcept {
  ++slots_;
  ++fabric_.counters.work_requests;
  Work& work = works_.push();
  work.kind = kind;
  work.done = false;
  work.holds_slot = true;
  work.context = context;
  work.pieces = work.length = work.sent = work.piece = work.piece_offset = 0;
  work.options = {};
  return work;
}

error_code SendSide::add_gather(std::span<const BufferRef> gather, Work::Kind kind, WorkContext* context,
                                Work** work) noexcept {
  std::uint64_t length = 0;
  for (const BufferRef& buffer : gather) length += buffer.size;
  // [5041-5.2-b] a message is shorter than 2^32
  if (gather.size() > kMaxWorkGather || length > std::numeric_limits<std::uint32_t>::max())
    return BaseError::invalid_argument;
  if (const error_code error = has_room()) return error;
  *work = &add(kind, context);
  for (const BufferRef& buffer : gather)
    if (buffer.size != 0) (*work)->gather[(*work)->pieces++] = buffer;
  (*work)->length = static_cast<std::uint32_t>(length);
  return {};
}

error_code SendSide::post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) {
  Work* work = nullptr;
  if (const error_code error = add_gather(gather, Work::Kind::send, context, &work)) return error;
  work->options = options;
  return {};
}

error_code SendSide::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                                WorkContext* context) {
  std::uint64_t length = 0;
  for (const BufferRef& buffer : gather) length += buffer.size;
  if (wraps(offset, length)) return BaseError::invalid_argument;
  Work* work = nullptr;
  if (const error_code error = add_gather(gather, Work::Kind::write, context, &work)) return error;
  work->handle = handle;
  work->offset = offset;
  return {};
}

error_code SendSide::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) {
  if (wraps(offset, sink.size)) return BaseError::invalid_argument;
  Work* work = nullptr;
  if (const error_code error = add_gather({&sink, 1}, Work::Kind::read, context, &work)) return error;
  if (++unanswered_reads_ > max_reads_) ++read_waits_;
  work->handle = handle;
  work->offset = offset;
  return {};
}

error_code SendSide::post_invalidate(Exposure& exposure, WorkContext* context) {
  if (const error_code error = has_room()) return error;
  add(Work::Kind::invalidate, context).exposure = &exposure;
  exposure.invalidating = true;
  return {};
}

void SendSide::post_indication(Work::Kind kind) noexcept {
  Work& work = add(kind, nullptr);
  --slots_;
  work.holds_slot = false;
  work.handle = 0;
  work.offset = 0;
  submit();
}

void SendSide::forget(const Exposure& exposure) noexcept {
  for (std::uint64_t i = works_.head(); i != works_.tail(); ++i)
    if (works_[i].kind == Work::Kind::invalidate && works_[i].exposure == &exposure) works_[i].exposure = nullptr;
}

void SendSide::skip_invalidations() noexcept {
  while (cursor_ != submitted_ && works_[cursor_].kind == Work::Kind::invalidate) ++cursor_;
}

bool SendSide::has_message() noexcept {
  skip_invalidations();
  if (cursor_ == submitted_) return false;
  // [5040-6.1-b] a Read beyond ORD waits, and all later work waits behind it
  return works_[cursor_].kind != Work::Kind::read || reads_.size() < max_reads_;
}

bool SendSide::add_frame(FpduWriter& writer) noexcept {
  Work& work = works_[cursor_];
  switch (work.kind) {
    case Work::Kind::send: return add_send_frame(work, writer);
    case Work::Kind::write: return add_write_frame(work, writer);
    case Work::Kind::read: return add_read_frame(work, writer);
    case Work::Kind::invalidate: break;
  }
  return true;
}

// Adds the next segment of a Send. Returns true if it is the last segment. [5041-4.1-c] [5041-5.3-b] The segments of a
// Send follow each other in the order of their offsets. [5044-3-c] [5044-4.5-d] Each of them except the last one is as
// large as the MULPDU allows.
bool SendSide::add_send_frame(Work& work, FpduWriter& writer) noexcept {
  DdpHeader header;
  const bool solicited = work.options.solicited;
  Opcode opcode = solicited ? Opcode::send_solicited : Opcode::send;  // [5040-5.3-d] the solicited variant
  if (work.options.invalidate) {                                      // [5040-4.1-d] only these opcodes carry an STag
    opcode = solicited ? Opcode::send_solicited_invalidate : Opcode::send_invalidate;
    header.stag = *work.options.invalidate;
  }
  // [5041-5.2-a] [5041-4.1-b] [5041-4.3-d] [5041-5.2-c] a segment has at most MULPDU bytes, and states its offset
  // within the message
  const std::uint32_t count =
      std::min(work.length - work.sent, mulpdu_ - static_cast<std::uint32_t>(kUntaggedHeaderSize));
  header.opcode = static_cast<std::uint8_t>(opcode);
  header.queue = kSendQueue;
  header.msn = send_msn_;
  header.offset = work.sent;
  const bool last = finish_frame(work, header, count, writer);
  if (last) send_msn_ = next_msn(send_msn_);
  return last;
}

bool SendSide::add_write_frame(Work& work, FpduWriter& writer) noexcept {
  DdpHeader header;
  const std::uint32_t count =
      std::min(work.length - work.sent, mulpdu_ - static_cast<std::uint32_t>(kTaggedHeaderSize));
  header.tagged = true;
  header.opcode = static_cast<std::uint8_t>(Opcode::write);
  header.stag = work.handle;  // [5041-4.2-b] all segments carry the same STag
  header.offset = work.offset + work.sent;
  return finish_frame(work, header, count, writer);
}

bool SendSide::finish_frame(Work& work, const DdpHeader& header, std::uint32_t count, FpduWriter& writer) noexcept {
  DdpHeader complete = header;
  complete.last = work.sent + count == work.length;  // [5041-5.2-d] also true for the one segment of an empty message
  writer.begin(complete, {}, count);
  add_payload(work, count, writer);
  writer.end();
  if (complete.last) ++cursor_;
  return complete.last;
}

// [5040-5.2.1-a] [5040-5.2-a] each Read takes one Read Request, in one segment
bool SendSide::add_read_frame(Work& work, FpduWriter& writer) noexcept {
  work.sink_stag = fabric_.stags.draw();
  std::array<std::byte, ReadRequest::kSize> request;
  Writer out(request);
  encode(ReadRequest{work.sink_stag, 0, work.length, work.handle, work.offset}, out);
  DdpHeader header;
  header.opcode = static_cast<std::uint8_t>(Opcode::read_request);
  header.queue = kReadQueue;
  header.msn = std::exchange(read_msn_, next_msn(read_msn_));
  writer.begin(header, out.written(), 0);
  writer.end();
  reads_.push() = cursor_++;
  return true;
}

void SendSide::written() noexcept {
  for (sent_ = std::max(sent_, works_.head()); sent_ != cursor_; ++sent_) {
    Work& work = works_[sent_];
    // [5040-5.5-e] a Send or Write is done only when its data has been sent
    if (work.kind == Work::Kind::send || work.kind == Work::Kind::write) work.done = true;
  }
}

// [5040-5.2.2-c] [5040-5.5-b] a Response must carry the next bytes of the oldest Read
Placement SendSide::place_response(const DdpHeader& header, std::uint32_t payload) noexcept {
  if (reads_.empty()) return refused(terminate::kInvalidStag);
  Work& work = works_[reads_.front()];
  if (header.stag != work.sink_stag) return refused(terminate::kInvalidStag);
  const std::uint32_t left = work.length - work.sent;
  if (header.offset != work.sent || payload > left) return refused(terminate::kBounds);
  if (header.last && payload != left) return refused(terminate::kBounds);
  if (payload == 0) return {};
  return {.at = work.gather.front().data + work.sent, .rest = left - payload};
}

void SendSide::response_placed(const DdpHeader& header, std::uint32_t payload) noexcept {
  Work& work = works_[reads_.front()];
  work.sent += payload;
  if (!header.last) return;
  // [5040-5.5-g] [5040-5.2.2-d] a Read completes when its Response is placed
  work.done = true;
  if (work.holds_slot) --unanswered_reads_;
  reads_.pop();
}

void SendSide::complete(const Work& work, error_code status) noexcept {
  if (!work.holds_slot) return;
  if (work.context == nullptr)
    --slots_;
  else
    dispatcher_.add(*work.context, {status, 0, {}}, &slots_);
}

/// [5040-5.5-f] [5040-5.5-a] work completes in order of posting
void SendSide::retire() noexcept {
  for (; works_.head() != cursor_; works_.pop()) {
    Work& work = works_.front();
    if (work.kind == Work::Kind::invalidate) {
      // [5041-8.3.1-e] an invalidation completes only when no frame names the window any more
      if (work.exposure != nullptr && work.exposure->pins != 0) break;
      if (work.exposure != nullptr) work.exposure->invalidating = false;
      work.done = true;
    }
    if (!work.done) break;
    complete(work, {});
  }
}

/// [5041-6.2.2-b] [5040-5.4-e] Completes the outstanding work requests with FabricError::flushed.
void SendSide::flush() noexcept {
  for (; !works_.empty(); works_.pop()) {
    const Work& work = works_.front();
    if (work.kind == Work::Kind::invalidate && work.exposure != nullptr) work.exposure->invalidating = false;
    complete(work, FabricError::flushed);
  }
  reads_.clear();
  unanswered_reads_ = 0;
  sent_ = cursor_ = submitted_ = works_.tail();
}

}  // namespace rpcrdma::fabric::iwarp
