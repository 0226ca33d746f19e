// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Runs the frame reader and writer of the iWARP stack on bytes in memory.
#include <optional>
#include <vector>

#include "framing/fpdu_reader.hpp"
#include "framing/fpdu_writer.hpp"
#include "support/feed_reader.hpp"
#include "support/hex.hpp"

namespace rpcrdma::fabric::iwarp {

/// One received segment.
struct Segment {
  DdpHeader header;
  test::Bytes raw_header;
  test::Bytes payload;
};

/// Records the segments of an FpduReader, which places each payload in memory of exactly the size of the payload.
class Collector final : public SegmentSink {
 public:
  Collector(bool crc, bool markers) : reader_(*this) { reader_.start(crc, markers); }

  /// Feeds the stream in slices of at most `step` bytes, as a socket would.
  void feed(Octets octets, std::size_t step) {
    test::feed_reader(reader_, octets, [step] { return step; });
  }
  bool between_frames() const { return reader_.between_frames(); }

  std::vector<Segment> segments;
  std::optional<TerminateCode> error;

 private:
  Target on_segment(const DdpHeader& header, std::uint32_t payload) noexcept override {
    const Octets raw = reader_.raw_header();
    current_ = {header, {raw.begin(), raw.end()}, {}};
    size_ = payload;
    target_.reset(new std::byte[payload]);
    return {payload == 0 ? nullptr : target_.get()};
  }
  void on_segment_end() noexcept override {
    current_.payload.assign(target_.get(), target_.get() + size_);
    segments.push_back(current_);
  }
  void on_framing_error(const TerminateCode& code) noexcept override { error = code; }

  FpduReader reader_;
  Segment current_;
  std::unique_ptr<std::byte[]> target_;
  std::size_t size_ = 0;
};

/// Returns the pending bytes of `writer`, and counts them as written.
inline test::Bytes take_pending(FpduWriter& writer) {
  test::Bytes out;
  for (const iovec& vector : writer.pending()) {
    const auto* at = static_cast<const std::byte*>(vector.iov_base);
    out.insert(out.end(), at, at + vector.iov_len);
  }
  writer.advance(out.size());
  return out;
}

inline test::Bytes write_frame(FpduWriter& writer, const DdpHeader& header, Octets payload) {
  writer.begin(header, {}, payload.size());
  writer.payload(payload);
  writer.end();
  return take_pending(writer);
}

}  // namespace rpcrdma::fabric::iwarp
