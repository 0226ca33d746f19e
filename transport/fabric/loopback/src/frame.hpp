// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <vector>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "window.hpp"

namespace rpcrdma::fabric::loopback {

/// A message in transit from one end to the other.
struct Frame {
  using Kind = LoopbackTraceEntry::Kind;
  Kind kind = Kind::send;
  std::uint64_t due = 0;
  std::vector<std::byte> octets;  ///< the data of a send, write or read_response
  std::uint32_t length = 0;       ///< bytes of `octets`, or bytes requested by a Read
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  std::optional<std::uint32_t> invalidate;
  bool counted = false;  ///< true once LoopbackNetwork::frames() includes this frame, which may still wait
  /// The window that this Send with Invalidate has unbound. The Send waits until no other frame pins the window.
  std::shared_ptr<WindowState> revoked;
  Pin pin;  ///< pins the window of a half-placed Write or of an unanswered Read request
};

}  // namespace rpcrdma::fabric::loopback
