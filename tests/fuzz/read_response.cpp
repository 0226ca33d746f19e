// SPDX-License-Identifier: BSD-3-Clause
// A Read Response in segments of any sizes, with Sends between them. The first two bytes of the input select CRC,
// markers, the size of the Read, and the slices in which the reader receives the stream. Each further pair of bytes
// makes one frame. The received data must be that of the Response, and no byte after the sink may change.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "framing/fpdu_reader.hpp"
#include "framing/fpdu_writer.hpp"
#include "support/feed_reader.hpp"
#include "support/pattern.hpp"

namespace {

using namespace rpcrdma;
using namespace rpcrdma::fabric::iwarp;

constexpr std::size_t kBehind = 4096;
constexpr std::size_t kMaxFrames = 24;
constexpr std::byte kUntouched{0xcc};

void check(bool holds) {
  if (!holds) std::abort();
}

class Sink final : public SegmentSink {
 public:
  explicit Sink(std::size_t size) : memory_(size + kBehind, kUntouched), size_(size) {}
  Target on_segment(const DdpHeader& header, std::uint32_t payload) noexcept override {
    header_ = header;
    send_.assign(payload, kUntouched);
    if (!header.tagged) return {payload == 0 ? nullptr : send_.data()};
    if (payload == 0) return {};
    return {memory_.data() + header.offset, static_cast<std::uint32_t>(size_ - header.offset - payload)};
  }
  void on_segment_end() noexcept override {
    ++whole;
    if (!header_.tagged) check(test::has_pattern(send_, header_.msn));
  }
  void on_framing_error(const TerminateCode&) noexcept override { check(false); }
  void finish(std::size_t sent) const {
    check(test::has_pattern(Octets(memory_).first(sent), 0));
    check(test::all_are(Octets(memory_).subspan(size_), kUntouched));
  }

  std::size_t whole = 0;

 private:
  std::vector<std::byte> memory_;
  const std::size_t size_;
  DdpHeader header_;
  std::vector<std::byte> send_;
};

/// The frames of the Response and the Sends.
struct Stream {
  Stream(std::size_t size, bool crc, bool markers) : data_(size) {
    test::fill_pattern(data_, 0);
    writer_.start(crc, markers);
  }
  void segment(std::size_t wanted) {
    DdpHeader header;
    header.tagged = true;
    header.opcode = static_cast<std::uint8_t>(Opcode::read_response);
    header.offset = sent;
    const std::size_t count = std::min(wanted, data_.size() - sent);
    header.last = sent + count == data_.size();
    add(header, Octets(data_).subspan(sent, count));
    sent += count;
  }
  void send(std::size_t size) {
    DdpHeader header;
    header.opcode = static_cast<std::uint8_t>(Opcode::send);
    header.msn = ++sends_;
    std::vector<std::byte> payload(size);
    test::fill_pattern(payload, header.msn);
    add(header, payload);
  }

  std::vector<std::byte> bytes;
  std::size_t sent = 0;
  std::size_t frames = 0;

 private:
  void add(const DdpHeader& header, Octets payload) {
    writer_.begin(header, {}, payload.size());
    writer_.payload(payload);
    writer_.end();
    const std::vector<std::byte> frame = writer_.drain();
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    ++frames;
  }

  FpduWriter writer_;
  std::vector<std::byte> data_;
  std::uint32_t sends_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bool crc = (data[0] & 1) != 0;
  const bool markers = (data[0] & 2) != 0;
  Stream stream((data[0] >> 2) * std::size_t{8192}, crc, markers);
  for (std::size_t at = 2; at + 1 < size && stream.frames < kMaxFrames; at += 2) {
    // 15 bits of the size, in steps of two bytes, and one bit that tells a Send from a segment. With an odd slice, all
    // sizes are odd.
    const std::size_t count = ((data[at] & 0x7fu) << 8 | data[at + 1]) * std::size_t{2} + (data[1] & 1);
    if ((data[at] & 0x80) != 0)
      stream.send(std::min(count, kMaxMulpdu - kUntaggedHeaderSize));
    else
      stream.segment(std::min(count, kMaxMulpdu - kTaggedHeaderSize));
  }
  Sink sink((data[0] >> 2) * std::size_t{8192});
  FpduReader reader(sink);
  reader.start(crc, markers);
  test::feed_reader(reader, stream.bytes, [&] { return 1 + data[1] * std::size_t{2048}; });
  check(sink.whole == stream.frames && reader.between_frames());
  sink.finish(stream.sent);
  return 0;
}
