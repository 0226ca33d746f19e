// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Infers from the messages of a connection which memory of this side the peer has read and written, because an RDMA
// adapter does not report the accesses of the peer. The Write list and the Reply chunk of a reply state how many bytes
// the responder has written (RFC 8166 sections 3.4.6 and 4.3). The Read chunks of a call count as read when its reply
// arrives, because a responder reads them before it replies.
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

/// The windows that one connection exposes to the peer. For a window that a Read chunk names, the object also keeps the
/// XID of the call. The object keeps nothing else of a call, so the number of windows bounds its memory.
class PeerAccess {
 public:
  void bound(const Segment& segment, BufferRef memory, fabric::Access access);
  void unbound(std::uint32_t handle) noexcept { windows_.erase(handle); }
  /// To be called for each message that this side sends. Notes the windows that the Read chunks of `message` name.
  void sent(Octets message);
  /// Returns the ranges that the peer has read and written for the call that `message` answers. The result is valid
  /// until received() is called again.
  const std::vector<AccessPart>& received(Octets message);

 private:
  struct Exposed {
    Segment segment;
    BufferRef memory;
    fabric::Access access = fabric::Access::remote_read;
    std::uint32_t xid = 0;  // XID of the last call that has named this window in a Read chunk
    bool named = false;     // true from that call until its reply arrives
  };
  bool decode(Octets message);
  void add_written(const Segment& segment);

  std::unordered_map<std::uint32_t, Exposed> windows_;  // exposed memory, by handle
  wire::Header header_;
  std::vector<AccessPart> parts_;
};

}  // namespace rpcrdma::capture
