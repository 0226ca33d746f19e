// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::fabric::iwarp {

/// The RDMA Read Request header (RFC 5040 section 4.4), which is the whole payload of its message.
struct ReadRequest {
  static constexpr std::size_t kSize = 28;

  std::uint32_t sink_stag = 0;
  std::uint64_t sink_offset = 0;
  std::uint32_t size = 0;
  std::uint32_t source_stag = 0;
  std::uint64_t source_offset = 0;
  friend bool operator==(const ReadRequest&, const ReadRequest&) = default;
};

// [5040-4.4-a] Writes the fields of an RDMA Read Request header in the order that they have on the wire.
inline void encode(const ReadRequest& request, Writer& out) noexcept {
  out.u32(request.sink_stag);
  out.u64(request.sink_offset);
  out.u32(request.size);
  out.u32(request.source_stag);
  out.u64(request.source_offset);
}

inline ReadRequest decode_read_request(Reader& in) noexcept {
  ReadRequest out;
  out.sink_stag = in.u32();
  out.sink_offset = in.u64();
  out.size = in.u32();
  out.source_stag = in.u32();
  out.source_offset = in.u64();
  return out;
}

}  // namespace rpcrdma::fabric::iwarp
