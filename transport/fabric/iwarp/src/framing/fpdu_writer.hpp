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

/// The sending half of MPA: gathers many frames into one list of buffers for one system call. Payloads are
/// referred to, not copied, but where markers have to go in between.
///
/// Ownership. Payload memory must stay until the batch is written, or cut().
class FpduWriter {
 public:
  /// The most buffers that one frame's payload may be in.
  static constexpr std::size_t kMaxGather = 32;
  /// Frames in one batch.
  static constexpr std::size_t kMaxFrames = 64;

  /// Before the first frame. `markers`: the peer asked for them.
  void start(bool crc, bool markers);
  /// Whether another frame may join the batch.
  bool has_room() const noexcept;

  // One frame: begin, any number of payload(), end.
  /// `extra`: octets that stand between the header and the payload, to be copied (at most 64).
  void begin(const DdpHeader& header, Octets extra, std::size_t payload) noexcept;
  void payload(Octets octets) noexcept;
  void end() noexcept;

  bool empty() const noexcept { return next_ == vectors_.size(); }
  /// What is still to be written.
  std::span<iovec> pending() noexcept { return std::span(vectors_.data(), vectors_.size()).subspan(next_); }
  /// `count` octets of it have been written.
  void advance(std::size_t count) noexcept;
  /// Octets of large payloads that were copied since the last call.
  std::uint64_t take_copied() noexcept { return std::exchange(copied_, 0); }
  /// Octets written since start().
  std::uint64_t written() const noexcept { return written_; }
  /// Gives up all frames that have not started to go out, and copies what is left of one that has.
  std::vector<std::byte> cut();
  /// Copies and gives up all that is pending.
  std::vector<std::byte> drain();

 private:
  static constexpr std::size_t kMaxVectors = 512;
  static constexpr std::size_t kMaxOctets = 256u << 10;
  static constexpr std::size_t kGlue = 128;  // header, extra, pad and CRC of one frame at most

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
  std::uint64_t position_ = 0;  // of the stream: octets emitted, markers included
  std::uint64_t frame_start_ = 0;
  std::uint64_t copied_ = 0;
  std::uint64_t written_ = 0;      // likewise, written to the socket
  std::uint64_t batch_start_ = 0;  // where the batch begins
  bool in_frame_ = false;

  boost::container::static_vector<iovec, kMaxVectors> vectors_;
  std::size_t next_ = 0;
  boost::container::static_vector<std::uint64_t, kMaxFrames> ends_;  // positions where frames of the batch end
  std::vector<std::byte> glue_;                                      // headers, pads, CRCs; all of it with markers
  std::size_t glue_used_ = 0;
};

}  // namespace rpcrdma::fabric::iwarp
