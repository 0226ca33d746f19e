// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::ipoib {

/// The side of the link towards the IP stack: packets without a link-layer header. One thread.
class PacketDevice {
 public:
  virtual ~PacketDevice() = default;
  /// Calls `ready` once, from the io_context, when a packet can be read. At most one call waits.
  virtual void wait(UniqueFunction<void()> ready) = 0;
  /// Reads one packet and returns its size; 0 if there is none now.
  virtual Result<std::size_t> read(MutableOctets out) noexcept = 0;
  /// Passes one packet to the stack. False: the stack did not take it.
  virtual bool write(Octets packet) noexcept = 0;
};

}  // namespace rpcrdma::ipoib
