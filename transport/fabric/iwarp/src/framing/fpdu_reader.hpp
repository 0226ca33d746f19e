// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/container/static_vector.hpp>
#include <memory>
#include <utility>

#include "wire/crc32c.hpp"
#include "wire/ddp.hpp"
#include "wire/fpdu.hpp"
#include "wire/marker.hpp"
#include "wire/terminate.hpp"

namespace rpcrdma::fabric::iwarp {

/// Receives the segments of an incoming stream.
class SegmentSink {
 public:
  /// The header of a segment with `payload` bytes of payload has arrived. Returns the memory for the payload; null
  /// drops it. The memory must stay valid until on_segment_end() or until the reader is stopped.
  virtual std::byte* on_segment(const DdpHeader& header, std::uint32_t payload) noexcept = 0;
  /// The segment is complete and, with CRCs, its CRC is correct.
  virtual void on_segment_end() noexcept = 0;
  /// The stream cannot be read any further.
  virtual void on_framing_error(const TerminateCode& error) noexcept = 0;

 protected:
  ~SegmentSink() = default;
};

/// The receiving half of MPA: finds the frames in a TCP stream (RFC 5044 section 5.1), and has large payloads read
/// from the socket directly into their target.
///
/// Operation. plan() returns the buffers for the next read of the socket; filled() takes the number of bytes read.
/// During a payload the plan starts with the rest of its target. All other bytes go to a scratch buffer, which is
/// consumed at once and never holds anything between two reads. A large payload that is read into the scratch buffer
/// must be copied. Therefore, from a large frame until kGuarded small frames have followed, a read covers no more than
/// the rest of the current frame and the next header: a small frame may then take two reads. After that, one read may
/// take many small frames. If this side requested markers, all bytes go to the scratch buffer. The CRC is computed over
/// the bytes in place: placement precedes the check, delivery follows it.
///
/// Errors. After on_framing_error() or stop() all bytes are dropped.
class FpduReader {
 public:
  using Plan = boost::container::static_vector<boost::asio::mutable_buffer, 2>;

  explicit FpduReader(SegmentSink& sink) noexcept : sink_(sink) {}

  /// To be called before the first plan(). `markers`: this side requested markers.
  void start(bool crc, bool markers);
  Plan plan() noexcept;
  void filled(std::size_t count) noexcept;
  void stop() noexcept { state_ = State::stopped; }

  /// Whether the stream is at a frame boundary, where it may end.
  bool between_frames() const noexcept { return state_ == State::header && collected_ == 0; }
  /// The header, as received, and the ULPDU length of the current or last segment.
  Octets raw_header() const noexcept;
  std::uint16_t ulpdu_length() const noexcept { return ulpdu_length_; }
  /// Bytes of large payloads that were copied from the scratch buffer since the last take_copied().
  std::uint64_t take_copied() noexcept { return std::exchange(copied_, 0); }

 private:
  enum class State : std::uint8_t { header, payload, trailer, stopped };

  void consume(Octets octets) noexcept;
  void consume_with_markers(Octets octets) noexcept;
  bool on_guard() const noexcept;
  std::size_t until_large() const noexcept;
  void note_header() noexcept;
  std::size_t collect(Octets octets, std::size_t wanted) noexcept;
  void take_header(Octets& octets) noexcept;
  void take_payload(Octets& octets) noexcept;
  void take_trailer(Octets& octets) noexcept;
  void take_marker() noexcept;
  void placed(std::size_t count) noexcept;
  void finish() noexcept;
  void fail(const TerminateCode& error) noexcept;

  SegmentSink& sink_;
  bool crc_on_ = false;
  bool markers_ = false;
  State state_ = State::header;

  std::array<std::byte, kFpduLengthSize + kUntaggedHeaderSize> header_{};  // of the current or last frame
  std::array<std::byte, 3 + kFpduCrcSize> trailer_{};
  std::size_t collected_ = 0;  // bytes received of the header or trailer that is arriving
  std::uint16_t ulpdu_length_ = 0;
  std::byte* target_ = nullptr;
  std::size_t remaining_ = 0;  // bytes of the payload that have not arrived yet
  std::size_t pad_ = 0;
  Crc32c crc_;
  std::uint64_t copied_ = 0;

  std::uint64_t position_ = 0;  // the position in the stream; counted only if markers are on
  std::uint64_t frame_start_ = 0;
  Marker marker_{};
  std::size_t marker_collected_ = 0;

  bool large_ = false;      // the current segment has a large payload
  std::size_t smalls_ = 0;  // small frames since the last large one, at most kGuarded

  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_size_ = 0;  // bytes of scratch_ that a plan offers unless on_guard()
};

}  // namespace rpcrdma::fabric::iwarp
