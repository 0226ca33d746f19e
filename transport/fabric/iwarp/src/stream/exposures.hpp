// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "fabric_state.hpp"
#include "stream/exposure.hpp"
#include "stream/placement.hpp"
#include "wire/ddp.hpp"
#include "wire/read_request.hpp"

namespace rpcrdma::fabric::iwarp {

/// The windows of one stream, which its peer may read, write or invalidate. Checks the STags by which the peer names
/// them.
///
/// Ownership. An Exposure belongs to its window; a segment that is being placed and a Read that is being answered pin
/// it.
/// Error handling. Access that no window grants is refused with the Terminate code of the fault.
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
  /// Ends an exposure at the request of the peer, and sets `exposure` to it. Returns the error, or null.
  const TerminateCode* revoke(std::uint32_t stag, Exposure*& exposure) noexcept;

 private:
  FabricState& fabric_;
  std::vector<Exposure*> all_;
  Exposure* placement_ = nullptr;  // pinned by the segment that is being placed
  std::uint32_t placed_ = 0;       // bytes of that segment
};

}  // namespace rpcrdma::fabric::iwarp
