// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/uio.h>

#include <array>
#include <boost/container/static_vector.hpp>
#include <utility>
#include <vector>

#include "wire/crc32c.hpp"
#include "wire/ddp.hpp"
#include "wire/fpdu.hpp"
#include "wire/marker.hpp"

namespace rpcrdma::fabric::iwarp {

/// The sending half of MPA. Makes FPDUs, here called frames, and collects them in a batch: a list of buffers that the
/// caller passes to one system call. The list refers to the payloads in the caller's memory. If the peer requested
/// markers, the payloads are copied instead.
///
/// Ownership. The memory of the payloads must stay valid until the whole batch is written, or until cut() or drain()
/// has emptied the batch.
class FpduWriter {
 public:
  /// The maximum number of buffers in the payload of one frame.
  static constexpr std::size_t kMaxGather = 32;
  /// The maximum number of frames in one batch.
  static constexpr std::size_t kMaxFrames = 64;

  /// Prepares this object for the frames of a connection. To be called before the first frame. `crc` is true if CRCs
  /// are in use, and `markers` is true if the peer requested markers.
  void start(bool crc, bool markers);
  /// Whether another frame may join the batch. `in_message`: it continues the message of the last frame.
  bool has_room(bool in_message = false) const noexcept;

  // A frame takes one call of begin(), at most kMaxGather calls of payload(), and one call of end().
  /// Begins a frame. `payload` is the number of bytes that the calls of payload() will add. `extra` holds at most 64
  /// bytes, which begin() copies to the place between the header and the payload.
  void begin(const DdpHeader& header, Octets extra, std::size_t payload) noexcept;
  void payload(Octets octets) noexcept;
  void end() noexcept;

  bool empty() const noexcept { return next_ == vectors_.size(); }
  /// The bytes still to be written.
  std::span<iovec> pending() noexcept { return std::span(vectors_.data(), vectors_.size()).subspan(next_); }
  /// To be called when the first `count` bytes of pending() have been written.
  void advance(std::size_t count) noexcept;
  /// Returns the number of frames made since take_frames() was last called.
  std::uint64_t take_frames() noexcept { return std::exchange(frames_, 0); }
  /// Returns the number of bytes of large payloads that were copied since take_copied() was last called.
  std::uint64_t take_copied() noexcept { return std::exchange(copied_, 0); }
  /// Bytes written since start().
  std::uint64_t written() const noexcept { return written_; }
  /// Drops the frames of which nothing has been written, and returns a copy of the unwritten rest of a partly written
  /// frame.
  std::vector<std::byte> cut();
  /// Returns a copy of everything that is pending, and drops it.
  std::vector<std::byte> drain();

 private:
  static constexpr std::size_t kMaxVectors = 512;
  // A batch has room for another message until it has kMaxOctets bytes, because work completes when its whole batch has
  // been written. A message that has begun may continue up to kMaxLongOctets: one of 1 MiB, in frames of the
  // greatest size, takes one batch.
  // Exception: if markers are in use, all bytes are copied, and the limit is always kMaxOctets.
  static constexpr std::size_t kMaxOctets = 256u << 10;
  static constexpr std::size_t kMaxLongOctets = 1024u << 10;
  // An upper bound, in bytes, for the parts of one frame that are copied to glue_ if markers are not in use: the length
  // field, the header, `extra`, the pad and the CRC.
  static constexpr std::size_t kGlue = 128;

  void emit(Octets octets, bool covered) noexcept;
  void emit_marker() noexcept;
  std::vector<std::byte> copy_pending(std::size_t count);
  std::byte* copy(Octets octets) noexcept;
  void refer(const std::byte* at, std::size_t size) noexcept;
  void reset() noexcept;

  bool crc_on_ = false;
  bool markers_ = false;
  Crc32c crc_;
  std::size_t pad_ = 0;
  std::uint64_t position_ = 0;  // the position in the stream: bytes emitted, markers included
  std::uint64_t frame_start_ = 0;
  std::uint64_t copied_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t written_ = 0;      // bytes written to the socket
  std::uint64_t batch_start_ = 0;  // position where the batch begins
  bool in_frame_ = false;

  boost::container::static_vector<iovec, kMaxVectors> vectors_;
  std::size_t next_ = 0;
  boost::container::static_vector<std::uint64_t, kMaxFrames> ends_;  // positions where frames of the batch end
  std::vector<std::byte> glue_;                                      // all bytes but payloads; with markers, all bytes
  std::size_t glue_used_ = 0;
};

}  // namespace rpcrdma::fabric::iwarp
