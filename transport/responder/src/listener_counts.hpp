// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::transport {

/// The counters of a listener (see ListenerCounters). The threads of all workers update them.
struct ListenerCounts {
  std::size_t index = 0;  ///< the place of the listener in Server::listeners()
  std::atomic<std::uint32_t> connections{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> failed{0};
};

/// A connection request, and the listener that received it.
struct Arrival {
  std::unique_ptr<fabric::ConnectionRequest> request;
  std::shared_ptr<ListenerCounts> listener;
};

}  // namespace rpcrdma::transport
