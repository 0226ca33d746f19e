// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The header of RPC-over-RDMA version one (RFC 8166 section 4), and the private data of RFC 8797.
#include <optional>

#include "rpcrdma/conform/codec/words.hpp"

namespace rpcrdma::conform {

/// Values of rdma_proc.
enum : std::uint32_t { kMsg = 0, kNomsg = 1, kMsgp = 2, kDone = 3, kError = 4 };
/// Values of rdma_err.
enum : std::uint32_t { kErrVers = 1, kErrChunk = 2 };

constexpr std::size_t kFixedHeader = 28;  ///< an RDMA_MSG header without chunks

/// A plain segment: memory of the requester.
struct RdmaSegment {
  std::uint32_t handle = 0;
  std::uint32_t length = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const RdmaSegment&, const RdmaSegment&) = default;
};

struct ReadSegment {
  std::uint32_t position = 0;
  RdmaSegment target{};
  friend bool operator==(const ReadSegment&, const ReadSegment&) = default;
};

using Chunk = std::vector<RdmaSegment>;  ///< a Write or Reply chunk

/// The sum of the lengths.
std::uint64_t length_of(const Chunk& chunk) noexcept;

struct ChunkLists {
  std::vector<ReadSegment> reads{};
  std::vector<Chunk> writes{};
  std::optional<Chunk> reply{};
  friend bool operator==(const ChunkLists&, const ChunkLists&) = default;
};

/// The header of any message. The members after `lists` have a meaning in RDMA_ERROR only.
struct RdmaHeader {
  std::uint32_t xid = 0;
  std::uint32_t version = 1;
  std::uint32_t credits = 32;
  std::uint32_t procedure = kMsg;
  ChunkLists lists{};
  std::uint32_t error = 0;
  std::uint32_t lowest = 0, highest = 0;
};

void encode(Out& out, const ChunkLists& lists);
/// Encodes the header alone. In an RDMA_MSG the payload follows it.
Bytes encode(const RdmaHeader& header);
/// Decodes a header of version one strictly, whatever its version field says. `payload` receives the bytes after it.
RdmaHeader decode_header(View message, View& payload);

/// Private data of RFC 8797.
struct PrivateData {
  std::uint8_t version = 1;
  std::uint8_t flags = 0;            ///< bit 0: remote invalidation
  std::uint8_t send_size = 3;        ///< the size in units of 1,024 bytes, minus one
  std::uint8_t receive_size = 3;     ///< like send_size
  std::uint32_t magic = 0xf6ab0e18;  ///< the format identifier
};

Bytes encode(const PrivateData& data);
/// Searches `bytes` for the structure of RFC 8797, which may begin at any offset (section 5.2). Returns nothing if
/// `bytes` contains no complete structure, or if the first one has another version than 1.
std::optional<PrivateData> find_private_data(View bytes);
/// The number of bytes that a value of PrivateData::send_size or receive_size stands for.
constexpr std::uint32_t bytes_of_size(std::uint8_t size) noexcept { return (size + 1u) * 1024u; }

}  // namespace rpcrdma::conform
