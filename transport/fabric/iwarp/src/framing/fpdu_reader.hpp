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

/// The memory for the payload of a segment.
struct Target {
  std::byte* at = nullptr;  ///< null: the reader is to drop the payload
  /// The number of bytes after the payload that later segments of the same message will fill. Until they have done so,
  /// the content of these bytes is undefined, and the reader may put other bytes of the stream there.
  std::uint32_t rest = 0;
};

/// Receives the segments of an incoming stream.
class SegmentSink {
 public:
  /// Called when the header of a segment with `payload` bytes of payload has arrived. Returns the memory into which the
  /// reader puts the payload. This memory must stay valid until on_segment_end(), and the `rest` after it until
  /// on_segment_end() of the last segment of the message. on_framing_error() ends both, and so does stop(), once the
  /// owner has cancelled a pending read.
  virtual Target on_segment(const DdpHeader& header, std::uint32_t payload) noexcept = 0;
  /// The segment is complete and, with CRCs, its CRC is correct.
  virtual void on_segment_end() noexcept = 0;
  /// A frame has a wrong CRC, marker or length. The reader drops the rest of the stream and makes no further call.
  /// `error` is the code for the Terminate message.
  virtual void on_framing_error(const TerminateCode& error) noexcept = 0;

 protected:
  ~SegmentSink() = default;
};

/// The receiving half of MPA. Finds the frames in a TCP stream (RFC 5044 section 5.1), and lets the owner of the socket
/// read large payloads directly into their target.
///
/// Operation. plan() returns the buffers for the next read of the socket, and filled() takes the number of bytes read.
/// While a payload arrives, the first buffer of the plan is the rest of the target of this payload. All other bytes,
/// except the payloads of expected frames, are read into a scratch buffer. filled() consumes the whole content of the
/// scratch buffer, which is therefore empty between two reads. If this side requested markers, all bytes are read into
/// the scratch buffer. The CRC is computed where the bytes lie. A payload is therefore placed before its CRC is
/// checked, and delivered after the check.
///
/// Expected frames. If later segments of the same message follow a large payload (Target::rest), the plan also has
/// buffers for up to kExpected frames that are expected to carry them, each with as much payload as this one, the last
/// one possibly with less. One read can then take several large frames. If other bytes arrive in the place of an
/// expected payload, they are copied from there to the scratch buffer before they are consumed. The reader then expects
/// no frames until two large frames of the same size arrive in a row.
///
/// Size of a read. A payload that is read into the scratch buffer must be copied to its target, which is slow for a
/// large payload. Therefore the reader expects another large frame until kGuarded small frames have followed the last
/// large one. While it expects a large frame, a read covers at most the rest of the current frame, expected frames as
/// above, and the first bytes of the next one, so that a small frame may take two reads. Otherwise one read may take
/// many small frames.
///
/// Errors. After on_framing_error() or stop() all bytes are dropped.
class FpduReader {
 public:
  /// The number of frames after the current one that a plan may have buffers for.
  static constexpr std::size_t kExpected = 3;
  /// Each payload buffer is followed by a part of the scratch buffer, and the last buffer is such a part.
  using Plan = boost::container::static_vector<boost::asio::mutable_buffer, 2 + 2 * kExpected>;

  explicit FpduReader(SegmentSink& sink) noexcept : sink_(sink) {}

  /// To be called before the first plan(). `markers`: this side requested markers.
  void start(bool crc, bool markers);
  /// The reference is valid until the next call.
  const Plan& plan() noexcept;
  void filled(std::size_t count) noexcept;
  void stop() noexcept { state_ = State::stopped; }

  /// Whether the stream is at a frame boundary, where it may end.
  bool between_frames() const noexcept { return state_ == State::header && collected_ == 0; }
  /// Returns the DDP header, encoded as it was received, of the segment that is arriving. Between two segments, returns
  /// the header of the segment that arrived last.
  Octets raw_header() const noexcept;
  /// The ULPDU length of the segment whose header raw_header() returns.
  std::uint16_t ulpdu_length() const noexcept { return ulpdu_length_; }
  /// Bytes of large payloads that were copied from the scratch buffer since the last take_copied().
  std::uint64_t take_copied() noexcept { return std::exchange(copied_, 0); }

 private:
  enum class State : std::uint8_t { header, payload, trailer, stopped };

  void expect_frames() noexcept;
  Octets gather(std::size_t first, std::size_t count) noexcept;
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
  void grow() noexcept;
  bool enlarge_scratch() noexcept;
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
  std::size_t rest_ = 0;       // Target::rest of the payload
  std::size_t pad_ = 0;
  Crc32c crc_;
  std::uint64_t copied_ = 0;

  std::uint64_t position_ = 0;  // the position in the stream; counted only if markers are on
  std::uint64_t frame_start_ = 0;
  Marker marker_{};
  std::size_t marker_collected_ = 0;

  // A frame is large if its payload has at least kLargePayload bytes. smalls_ is the number of small frames since the
  // last large frame, counted only up to kGuarded. large_ tells whether the current frame is large.
  bool large_ = false;
  std::size_t smalls_ = 0;
  bool expecting_ = true;         // whether plan() expects frames, see above
  std::uint16_t last_large_ = 0;  // the ULPDU length of the last large frame

  Plan plan_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_capacity_ = 0;  // the size of scratch_ in bytes
  // The number of bytes that plan() lets a read put into scratch_ while on_guard() is false. Doubles, up to a maximum,
  // when a read uses all of them. A large frame resets it to the minimum.
  std::size_t scratch_size_ = 0;
};

}  // namespace rpcrdma::fabric::iwarp
