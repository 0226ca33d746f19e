// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The Read list of a received call. Finds the chunks in the list, and assembles the message from the reduced stream and
// the chunks (RFC 8166 section 3.4.5). Does no I/O.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/wire/header.hpp"

namespace rpcrdma::transport {

/// The Read chunks of one call. Reused from call to call, so that it keeps its capacity.
class ReadList {
 public:
  struct Chunk {
    std::uint32_t position = 0;
    std::uint32_t length = 0;
    std::span<const Segment> segments;  ///< in list order; valid until the next parse()
  };

  /// Sorts the segments into chunks and drops empty chunks. Returns false if chunks overlap or end beyond the largest
  /// position, if a chunk is longer than `max_chunk`, if an RDMA_MSG has a Position-Zero Read chunk, or if an
  /// RDMA_NOMSG has none; the caller then answers ERR_CHUNK.
  bool parse(const wire::Header& header, std::uint32_t max_chunk);

  /// The Position-Zero Read chunk; its length is 0 if there is none.
  const Chunk& long_call() const noexcept { return long_call_; }
  /// The other chunks, ascending by position.
  std::span<const Chunk> chunks() const noexcept { return chunks_; }

  /// Makes the payload of a call from its reduced stream, which is one piece of memory. False if a chunk's position
  /// lies outside the stream, if the payload does not begin with 8 bytes of the stream (the XID and the message type),
  /// or if the payload would exceed 2^32 - 1 bytes.
  bool assemble(BufferRef stream, Payload& out) const;

 private:
  std::vector<wire::ReadSegment> sorted_;
  std::vector<Segment> segments_;
  boost::container::small_vector<Chunk, 2> chunks_;
  Chunk long_call_;
};

}  // namespace rpcrdma::transport
