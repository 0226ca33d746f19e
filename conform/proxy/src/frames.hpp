// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "rpc_message.hpp"

namespace rpcrdma::proxy {

/// The kind of a message. An FPDU to which no other kind applies has the kind `other`.
enum class Kind : std::uint8_t {
  mpa_request,
  mpa_reply,
  call,
  reply,
  send,
  read_request,
  read_response,
  write,
  terminate,
  other
};
inline constexpr std::array<std::string_view, 10> kKindNames{"mpa-request", "mpa-reply",    "call",          "reply",
                                                             "send",        "read-request", "read-response", "write",
                                                             "terminate",   "other"};
constexpr std::string_view name_of(Kind kind) noexcept { return kKindNames[static_cast<std::size_t>(kind)]; }

/// One start-up frame or FPDU.
struct Frame {
  Kind kind = Kind::other;
  std::size_t size = 0;  ///< bytes of the whole frame, with padding and CRC
  bool first = true;     ///< the first frame of its message
  bool last = true;
  std::optional<RpcMessage> rpc;  ///< fields of the RPC message, in the first frame of a call or reply
};

/// Offsets of fields from the start of an FPDU, and sizes of headers and fields, in bytes. The DDP headers (RFC 5041
/// section 4) include the control field of RDMAP (RFC 5040 section 4.1). The length and the CRC belong to MPA.
inline constexpr std::size_t kDdpControlOffset = 2, kRdmapControlOffset = 3, kStagOffset = 4, kQueueOffset = 8,
                             kMsnOffset = 12, kUntaggedSize = 18, kTaggedSize = 14, kLengthSize = 2, kCrcSize = 4;
/// The largest frame: a ULPDU of 65535 bytes with its length, padding and CRC.
inline constexpr std::size_t kMaxFrame = 65544;

/// Divides one direction of a connection into frames: the start-up frame (RFC 5044 section 7.1), then FPDUs.
class FrameReader {
 public:
  explicit FrameReader(Side side) noexcept : side_(side) {}

  /// Returns the first frame of `bytes`; nothing if it is incomplete, or if the stream is not framed. The next call
  /// expects the bytes after this frame.
  std::optional<Frame> next(Octets bytes);
  /// True once the stream is no longer divided into frames, because it does not begin with a valid start-up frame, or
  /// because unframe() was called.
  bool unframed() const noexcept { return unframed_; }
  /// Ends the division into frames, because markers are in use or the connection was rejected.
  void unframe() noexcept { unframed_ = true; }
  /// Bits of the start-up frame.
  struct Flags {
    bool markers = false, crc = false, reject = false;
  };
  /// Nothing until the start-up frame has been read.
  const std::optional<Flags>& flags() const noexcept { return flags_; }

 private:
  std::optional<Frame> start_up(Octets bytes);
  Frame segment(Octets ulpdu, std::size_t size);
  void tagged(Frame& frame, unsigned opcode);
  void untagged(Frame& frame, unsigned opcode, Octets ulpdu);

  Side side_;
  bool unframed_ = false;
  std::optional<Flags> flags_;
  Kind send_kind_ = Kind::send;        // kind of the message that arrives on queue 0
  std::array<bool, 16> in_message_{};  // by opcode: a message of tagged segments has begun and has not ended
};

}  // namespace rpcrdma::proxy
