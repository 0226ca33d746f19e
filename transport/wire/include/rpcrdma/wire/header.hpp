// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The RPC-over-RDMA version 1 header (RFC 8166 sections 4.1 and 4.2). No I/O; any thread.
#include <cstddef>
#include <cstdint>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/wire/chunk_lists.hpp"
#include "rpcrdma/wire/error.hpp"

namespace rpcrdma::wire {

inline constexpr std::uint32_t kVersion = 1;
/// An RDMA_MSG or RDMA_NOMSG header without chunks, in bytes (section 4.5).
inline constexpr std::size_t kMinHeader = 28;
/// The part that is the same in every version: XID, version, credits, procedure.
inline constexpr std::size_t kFixedPart = 16;

enum class Procedure : std::uint32_t { msg = 0, nomsg = 1, msgp = 2, done = 3, error = 4 };
enum class ErrorKind : std::uint32_t { vers = 1, chunk = 2 };

/// One header. Reused from message to message: clear() and decode() keep the capacity of its lists.
struct Header {
  std::uint32_t xid = 0;             ///< of the RPC message (section 4.2.1)
  std::uint32_t version = kVersion;  ///< an RDMA_ERROR repeats that of the message it answers
  std::uint32_t credits = 1;         ///< requested in a call, granted in a reply (section 4.2.3)
  Procedure procedure = Procedure::msg;
  ChunkLists chunks;                        ///< msg and nomsg
  ErrorKind error = ErrorKind::chunk;       ///< error
  std::uint32_t lowest_version = kVersion;  ///< error, with ErrorKind::vers
  std::uint32_t highest_version = kVersion;

  void clear() noexcept;
  friend bool operator==(const Header&, const Header&) = default;
};

struct DecodeLimits {
  /// Segments in all lists together. Prudence: the RFC sets no limit beyond the size of a message.
  std::size_t max_segments = 4096;
};

/// The length of the decoded header in bytes (the payload follows it), or a WireError. On error the fields of the
/// fixed part are still set if the message has 16 bytes: an answer needs them.
using DecodeResult = boost::system::result<std::size_t, WireError>;

/// Decodes the header in front of `message`. Success means RDMA_MSG (whose payload begins with the XID),
/// RDMA_NOMSG (with a chunk) or RDMA_ERROR (of any version, as an answer repeats the version that it refuses).
/// Never reads past `message`, and never grows a list beyond what its bytes can hold.
DecodeResult decode(Octets message, Header& out, const DecodeLimits& limits = {});

/// Bytes written, or BaseError::buffer_overflow; BaseError::invalid_argument for RDMA_MSGP and RDMA_DONE, which are
/// never sent (section 4.6), and for an RDMA_NOMSG without chunks.
Result<std::size_t> encode(const Header& header, MutableOctets out) noexcept;

/// The size that encode() would write, counted by the encoder itself. 0 for a header that encode() refuses.
std::size_t encoded_size(const Header& header) noexcept;

/// Fills `out` with the RDMA_ERROR that answers `bad` (section 4.5): same XID, same version. Keeps no chunks.
void make_err_vers(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept;
void make_err_chunk(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept;

}  // namespace rpcrdma::wire
