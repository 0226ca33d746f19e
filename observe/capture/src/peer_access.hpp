// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Infers from the messages which memory of this side the peer reads and writes, because an adapter does not report it.
// A server reports in the Write list and the Reply chunk of its reply how much it has written (RFC 8166 sections 3.4.6
// and 4.3), and reads the Read chunks of a call before it replies.
#include <unordered_map>
#include <vector>

#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/wire/header.hpp"

namespace rpcrdma::capture {

/// One range that the peer has read or written.
struct AccessPart {
  fabric::Access access = fabric::Access::remote_read;
  Segment segment;
  BufferRef data;
};

/// The windows of one connection, and the calls that name them. Memory is bounded by the number of windows.
class PeerAccess {
 public:
  void bound(const Segment& segment, BufferRef memory, fabric::Access access);
  void unbound(std::uint32_t handle) noexcept { windows_.erase(handle); }
  /// Records the Read chunks of `message`, which this side sends.
  void sent(Octets message);
  /// Returns the ranges that the peer has read and written for the call that `message` answers. Valid until the next
  /// received().
  const std::vector<AccessPart>& received(Octets message);

 private:
  struct Exposed {
    Segment segment;
    BufferRef memory;
    fabric::Access access = fabric::Access::remote_read;
    std::uint32_t xid = 0;  // XID of the call with this Read chunk
    bool named = false;     // true while an unanswered call has this Read chunk
  };
  bool decode(Octets message);
  void add_written(const Segment& segment);

  std::unordered_map<std::uint32_t, Exposed> windows_;  // exposed memory, by handle
  wire::Header header_;
  std::vector<AccessPart> parts_;
};

}  // namespace rpcrdma::capture
