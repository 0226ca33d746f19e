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
  bool counted = false;                  ///< counted as a frame that has arrived
  std::shared_ptr<WindowState> revoked;  ///< invalidated by this Send, which waits until the window has no pins
  Pin pin;                               ///< held while a Write is half placed, or a Read waits for its answer
};

}  // namespace rpcrdma::fabric::loopback
