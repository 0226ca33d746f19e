// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The RPC-over-RDMA header: version one (RFC 8166 sections 4.1 and 4.2), and version two in the form of
// draft-cel-nfsv4-rpcrdma-version-two-01 section 4.2, called v2-01 below. Version two adds a direction and optional
// messages. Later drafts assign other codes under the same version number. Both sides must therefore be configured for
// this form, the profile xcharext-01. Does no I/O; may be used on any thread.
#include <cstddef>
#include <cstdint>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/wire/chunk_lists.hpp"
#include "rpcrdma/wire/error.hpp"

namespace rpcrdma::wire {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kVersionTwo = 2;
/// The default inline threshold of version two in both directions, in bytes. A peer may announce another threshold
/// (v2-01 section 2.3).
inline constexpr std::uint32_t kVersionTwoThreshold = 4096;
/// The size of an RDMA_MSG or RDMA_NOMSG header of version one without chunks, in bytes (RFC 8166 section 4.5). A
/// header of version two has one more word.
inline constexpr std::size_t kMinHeader = 28;
constexpr std::size_t min_header(std::uint32_t version) noexcept {
  return kMinHeader + (version >= kVersionTwo ? 4 : 0);
}
/// The size of the part that all versions share: XID, version, credits, procedure.
inline constexpr std::size_t kFixedPart = 16;

/// `msgp` and `done` are obsolete (RFC 8166 section 4.6). `optional` is RDMA2_OPTIONAL, which only version two has.
enum class Procedure : std::uint32_t { msg = 0, nomsg = 1, msgp = 2, done = 3, error = 4, optional = 5 };
/// `chunk` is ERR_CHUNK in version one and RDMA2_ERR_BAD_HEADER in version two. Version one has no `invalid_option`.
enum class ErrorKind : std::uint32_t { vers = 1, chunk = 2, invalid_option = 3 };
/// "ERR_VERS", "ERR_CHUNK" or "INVAL_OPTION", for log lines.
std::string_view name_of(ErrorKind kind) noexcept;
/// The direction of a version two message, with the values of an RPC message's msg_type (RFC 5531 section 9).
enum class Direction : std::uint32_t { call = 0, reply = 1 };

/// One RPC-over-RDMA header. A Header may be reused from message to message, because clear() and decode() keep the
/// capacity of its lists.
struct Header {
  std::uint32_t xid = 0;             ///< the XID of the RPC message (section 4.2.1), or of the optional message
  std::uint32_t version = kVersion;  ///< an RDMA_ERROR repeats the version of the message that it answers
  std::uint32_t credits = 1;         ///< requested in a call, granted in a reply (section 4.2.3)
  Procedure procedure = Procedure::msg;
  ChunkLists chunks;                        ///< for `msg` and `nomsg`
  ErrorKind error = ErrorKind::chunk;       ///< for `error`
  std::uint32_t lowest_version = kVersion;  ///< for `error` of ErrorKind::vers: the versions that the sender supports
  std::uint32_t highest_version = kVersion;
  // Version two only.
  Direction direction = Direction::call;  ///< for `msg`, `nomsg` and `optional`; an `error` is always a reply
  std::uint32_t option_type = 0;          ///< for `optional`: a v2::OptionType, or any other number
  Octets option;                          ///< for `optional`: its content; decode() makes it refer to the message

  void clear() noexcept;
};
bool operator==(const Header& a, const Header& b) noexcept;

struct DecodeLimits {
  /// decode() refuses a header with more segments than this in its three chunk lists together, and a header with more
  /// Write chunks than this. RFC 8166 limits these numbers only by the size of the message.
  std::size_t max_segments = 4096;
  /// The lowest and the highest version that decode() accepts. It refuses a message of another version with
  /// WireError::bad_version, unless the message is an RDMA_ERROR.
  std::uint32_t lowest_version = kVersion;
  std::uint32_t highest_version = kVersion;
};

/// The length of the decoded header in bytes, or a WireError. The payload follows the header. If the message has at
/// least 16 bytes, decode() sets the fields of the fixed part even on error: an answer needs them.
using DecodeResult = boost::system::result<std::size_t, WireError>;

/// Decodes the header in front of `message`. Success means one of:
/// - RDMA_MSG, whose payload begins with the XID and, in version two, continues with the direction;
/// - RDMA_NOMSG with a chunk;
/// - RDMA_ERROR of any version, because an RDMA_ERROR repeats the version that its sender refuses;
/// - in version two, RDMA2_OPTIONAL of any type.
///
/// Never reads past `message`, and never grows a list beyond the segments that the message can hold.
DecodeResult decode(Octets message, Header& out, const DecodeLimits& limits = {});

/// Returns the number of bytes written. Fails with BaseError::buffer_overflow if `out` is too small. Fails with
/// BaseError::invalid_argument for RDMA_MSGP and RDMA_DONE, which are never sent (section 4.6), for an RDMA_NOMSG
/// without chunks, and for a procedure or error that the header's version does not have.
Result<std::size_t> encode(const Header& header, MutableOctets out) noexcept;

/// Runs the encoder to count the bytes that encode() would write, and returns their number. Returns 0 if encode()
/// refuses the header.
std::size_t encoded_size(const Header& header) noexcept;

/// make_err_vers() and make_err_chunk() fill `out` with the RDMA_ERROR that answers the message with the header `bad`
/// (section 4.5). The RDMA_ERROR has the XID and the version of `bad`, and no chunks. ERR_VERS also states the range of
/// versions in `accepted`.
void make_err_vers(const Header& bad, std::uint32_t granted_credits, Header& out,
                   const DecodeLimits& accepted = {}) noexcept;
void make_err_chunk(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept;
/// Like make_err_chunk(), but with the error RDMA2_ERR_INVAL_OPTION. It answers an RDMA2_OPTIONAL of a type that this
/// side does not support (v2-01 section 3.1).
void make_err_option(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept;

}  // namespace rpcrdma::wire
