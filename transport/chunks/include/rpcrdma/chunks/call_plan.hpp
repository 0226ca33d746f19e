// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Plans a call: which parts are sent inline, and which part in which chunk (RFC 8166 sections 3.4, 3.5 and 4.3).
#include <cstdint>
#include <span>

#include "rpcrdma/chunks/gather.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/wire/header.hpp"
#include "rpcrdma/wire/private_data.hpp"

namespace rpcrdma::transport {

/// The limits of the planner. Sizes in bytes.
struct PlanLimits {
  std::uint32_t send = wire::kMinThreshold;     ///< inline threshold of the call
  std::uint32_t receive = wire::kMinThreshold;  ///< inline threshold of the reply
  std::uint32_t max_segments = 64;              ///< maximum number of segments in all chunks; the RFC sets no limit
  std::uint32_t max_long_call = 1u << 20;       ///< maximum size of a Position-Zero Read chunk; the RFC sets no limit
  std::uint32_t version = wire::kVersion;       ///< RPC-over-RDMA version of the header
};

/// The input of the planner. The memory that it refers to belongs to the caller, which does not change that memory
/// until the call is over.
struct CallShape {
  const Payload* payload = nullptr;
  /// The memory of each result that may arrive in a Write chunk.
  std::span<const boost::container::small_vector<BufferRef, 1>> results;
  std::uint32_t max_reply = 0;  ///< upper bound of the reply payload in bytes, without the data for `results`
  bool may_reduce = true;
  BufferRef zeros;  ///< at least 3 bytes of registered zeros, for the pads of items that stay in the stream
};

/// The plan of a call: its header, the memory that its chunks expose, and the data that is sent inline. plan_call()
/// leaves some fields of the header to its caller: the XID, the credits, and the handle and offset of each segment.
/// One CallPlan can serve many calls, one after the other. Its lists then keep their allocated memory.
struct CallPlan {
  wire::Header header;  ///< procedure, chunk lists with lengths and positions
  /// The memory to expose, in the order of the header's segments: Read list, Write list. The planner does not choose
  /// the memory of the Reply chunk, which is one segment of `reply_chunk` bytes.
  GatherList reads;
  GatherList writes;
  std::uint32_t reply_chunk = 0;  ///< bytes of the Reply chunk; 0: no Reply chunk
  GatherList inline_stream;       ///< the part of the Send after the header
  ItemFlags reduced;              ///< the items of the payload that are removed from the stream
  std::uint32_t header_size = 0;
  bool offers_writes = false;

  void clear() noexcept;
  std::size_t windows() const noexcept { return reads.size() + writes.size() + (reply_chunk != 0 ? 1 : 0); }
};

/// Plans the call. Fails with TransportError::call_too_long or reply_too_long if the call or its reply exceeds the
/// limits.
error_code plan_call(const CallShape& shape, const PlanLimits& limits, CallPlan& out);

}  // namespace rpcrdma::transport
