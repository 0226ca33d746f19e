// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "fabric_state.hpp"
#include "stream/exposure.hpp"
#include "stream/placement.hpp"
#include "wire/ddp.hpp"
#include "wire/read_request.hpp"

namespace rpcrdma::fabric::iwarp {

/// The windows of one stream. The peer names a window by its STag to read, write or invalidate it. This class finds the
/// window and checks that the access is permitted.
///
/// Ownership. An Exposure belongs to its window. It is pinned (Exposure::pins) while a segment is placed into its
/// memory, and while a Read of its memory is answered.
/// Error handling. An access that no window permits is refused with the Terminate code of the fault.
class Exposures {
 public:
  explicit Exposures(FabricState& fabric) noexcept : fabric_(fabric) {}

  // adopt() is to be called when a window is created, forget() when it is destroyed.
  void adopt(Exposure& exposure);
  void forget(Exposure& exposure) noexcept;
  bool owns(const Exposure& exposure) const noexcept { return exposure.owner == this; }

  Result<Segment> bind(Exposure& exposure, BufferRef memory, Access access);
  void unbind(Exposure& exposure) noexcept;
  /// To be called when the connection has ended: ends all exposures, and unpins the window of a segment that is being
  /// placed.
  void release() noexcept;

  /// For an RDMA Write: finds and pins the window that the segment names.
  Placement place_write(const DdpHeader& header, std::uint32_t payload) noexcept;
  /// To be called when the segment that was passed to place_write() is complete.
  void write_placed() noexcept;

  /// Finds the window that a Read Request names. Requires a Request for at least one byte. Returns the error, or null.
  const TerminateCode* find_source(const ReadRequest& request, Exposure*& exposure) const noexcept;
  /// Ends the exposure that the peer names by `stag` in a Send with Invalidate, and sets `exposure` to this exposure.
  /// Returns the Terminate code if `stag` names no exposure of this stream, otherwise null.
  const TerminateCode* revoke(std::uint32_t stag, Exposure*& exposure) noexcept;

 private:
  FabricState& fabric_;
  std::vector<Exposure*> all_;
  Exposure* placement_ = nullptr;  // the pinned exposure into which a segment of an RDMA Write is being placed
  std::uint32_t placed_ = 0;       // payload bytes of this segment
};

}  // namespace rpcrdma::fabric::iwarp
