// SPDX-License-Identifier: BSD-3-Clause
// Operation: cuts a message into DDP segments, and copies the bytes to keep into the ring. The writer adds the headers
// of MPA, TCP and IP. The positions in the stream advance by the sizes of the frames, also for dropped ones, so that
// Wireshark shows the gap.
#include "recorder.hpp"

#include <algorithm>
#include <chrono>

namespace rpcrdma::capture {
namespace {

constexpr std::uint32_t kUntagged = 18;  // bytes of the header of an untagged segment (RFC 5041 section 4.3)
constexpr std::uint32_t kTagged = 14;    // bytes of the header of a tagged segment (RFC 5041 section 4.2)
constexpr std::uint32_t kLargestPayload = 32768;
constexpr std::uint32_t kReadQueue = 1;
constexpr std::uint32_t kReadRequest = 28;  // bytes (RFC 5040 section 4.4)
constexpr std::uint32_t kFirstMsn = 1;

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

constexpr std::uint32_t padded(std::uint32_t size) noexcept { return (size + 7) & ~std::uint32_t{7}; }

std::uint32_t total(std::span<const BufferRef> gather) noexcept {
  std::uint32_t sum = 0;
  for (const BufferRef& part : gather) sum += part.size;
  return sum;
}

}  // namespace

/// A cursor over buffers.
struct Recorder::Gather {
  std::span<const BufferRef> rest;
  std::uint32_t left;        // bytes that remain
  std::uint32_t offset = 0;  // offset in rest.front()

  explicit Gather(std::span<const BufferRef> all) noexcept : rest(all), left(total(all)) {}
  /// Advances by `count` bytes, and copies as many of them as `to` has room for.
  void take(std::uint32_t count, MutableOctets to) noexcept {
    left -= count;
    while (count != 0) {
      const BufferRef& part = rest.front();
      const std::uint32_t here = std::min(count, part.size - offset);
      const std::size_t copied = std::min<std::size_t>(here, to.size());
      if (copied != 0) std::memcpy(to.data(), part.data + offset, copied);
      to = to.subspan(copied);
      count -= here;
      offset += here;
      if (offset != part.size) return;
      rest = rest.subspan(1);
      offset = 0;
    }
  }
};

void Recorder::open(Track& track, std::shared_ptr<Connection> connection) {
  track.opened = true;
  track.connection = core_->add(std::move(connection));
  if (track.connection != nullptr && active()) note(track, RecordKind::open, {});
}

void Recorder::send(Track& track, Direction direction, Opcode opcode, std::uint32_t invalidated,
                    std::span<const BufferRef> gather) noexcept {
  if (!active() || track.connection == nullptr) return;
  const std::uint32_t msn = kFirstMsn + track.sends[direction]++;
  message(track, direction, {opcode, false, false, invalidated, 0, msn, 0}, Gather(gather));
}

void Recorder::write(Track& track, Direction direction, std::uint32_t handle, std::uint64_t offset,
                     std::span<const BufferRef> gather) noexcept {
  if (!active() || track.connection == nullptr) return;
  message(track, direction, {Opcode::write, true, false, handle, 0, 0, offset}, Gather(gather));
}

std::uint32_t Recorder::read_request(Track& track, Direction direction, std::uint32_t handle, std::uint64_t offset,
                                     std::uint32_t size) noexcept {
  if (!active() || track.connection == nullptr) return 0;
  const std::uint32_t number = kFirstMsn + track.reads[direction]++;
  // The provider chooses the STag of the sink and does not report it. This function uses a new STag for each Read, so
  // that a reader of the capture can tell the Responses apart.
  const std::uint32_t sink = number << 8;
  std::array<std::byte, kReadRequest> request;
  Writer out(request);
  out.u32(sink);
  out.u64(0);
  out.u32(size);
  out.u32(handle);
  out.u64(offset);
  const BufferRef payload{request.data(), kReadRequest, 0};
  message(track, direction, {Opcode::read_request, false, false, 0, kReadQueue, number, 0}, Gather({&payload, 1}));
  return sink;
}

void Recorder::read_response(Track& track, Direction direction, std::uint32_t sink, BufferRef data) noexcept {
  if (!active() || track.connection == nullptr || sink == 0) return;
  message(track, direction, {Opcode::read_response, true, false, sink, 0, 0, 0}, Gather({&data, 1}));
}

void Recorder::close(Track& track, std::string_view why) noexcept {
  if (track.connection == nullptr) return;
  if (active()) note(track, RecordKind::close, why);
  core_->end(*track.connection);
  track.connection.reset();
}

/// Records one message as one or more DDP segments. Of a tagged message, records at most CaptureOptions::snap bytes.
/// Sends and Read Requests are recorded whole, because Wireshark decodes nothing of a message that is cut.
void Recorder::message(Track& track, Direction direction, Segment segment, Gather data) noexcept {
  const std::uint32_t whole = data.left;
  if (segment.tagged) data.left = std::min(data.left, core_->options().snap);
  const bool cut = data.left != whole;
  do {
    const std::uint32_t count = std::min(data.left, kLargestPayload);
    segment.last = count == data.left;
    frame(track, direction, segment, data, count, cut ? whole : 0);
    segment.offset += count;
  } while (!segment.last);
}

void Recorder::frame(Track& track, Direction direction, const Segment& segment, Gather& data, std::uint32_t count,
                     std::uint32_t whole) noexcept {
  const std::uint32_t header = segment.tagged ? kTagged : kUntagged;
  const std::uint32_t length = header + count;
  Record* const record = begin(track, RecordKind::frame, direction, length);
  if (record == nullptr) {
    data.take(count, {});
  } else {
    record->whole = whole;
    const MutableOctets content{reinterpret_cast<std::byte*>(record + 1), length};
    Writer out(content.first(header));
    // DDP version 1 with the flags T and L, RDMAP version 1.
    out.u8(static_cast<std::uint8_t>((segment.tagged ? 0x80 : 0) | (segment.last ? 0x40 : 0) | 1));
    out.u8(static_cast<std::uint8_t>(0x40 | static_cast<std::uint8_t>(segment.opcode)));
    out.u32(segment.stag);
    if (segment.tagged) {
      out.u64(segment.offset);
    } else {
      out.u32(segment.queue);
      out.u32(segment.msn);
      out.u32(static_cast<std::uint32_t>(segment.offset));
    }
    data.take(count, content.subspan(header));
    end(*record);
  }
  track.position[direction] += fpdu_size(length);
}

void Recorder::note(Track& track, RecordKind kind, std::string_view text) noexcept {
  Record* const record = begin(track, kind, kOutbound, static_cast<std::uint32_t>(text.size()));
  if (record == nullptr) return;
  if (!text.empty()) std::memcpy(record + 1, text.data(), text.size());
  end(*record);
}

Record* Recorder::begin(Track& track, RecordKind kind, Direction direction, std::uint32_t kept) noexcept {
  const std::uint32_t size = padded(static_cast<std::uint32_t>(sizeof(Record)) + kept);
  std::byte* const at = channel_->ring.reserve(size);
  if (at == nullptr) {
    ++track.lost;
    channel_->dropped.store(channel_->dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    core_->hurry();
    return nullptr;
  }
  return new (at) Record{{size, kind},
                         now(),
                         track.connection.get(),
                         track.position[direction],
                         track.position[1 - direction],
                         0,
                         kept,
                         std::exchange(track.lost, 0),
                         direction};
}

void Recorder::end(const Record& record) noexcept {
  channel_->ring.commit(record.start.size);
  if (channel_->ring.half_full()) core_->hurry();
}

}  // namespace rpcrdma::capture
