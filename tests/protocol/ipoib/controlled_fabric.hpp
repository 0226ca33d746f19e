// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "support/forwarding_fabric.hpp"

namespace rpcrdma::test {

/// A fabric over another one, in which the test can delay a connection or make registrations fail.
class ControlledFabric final : public ForwardingFabric {
 public:
  using ForwardingFabric::ForwardingFabric;

  bool out_of_memory = false;  ///< no memory can be registered
  bool holds = false;          ///< start() keeps the next queue pair until release(), and clears this flag

  bool holds_one() const noexcept { return held_ != nullptr; }
  void release() { ForwardingFabric::start(*std::exchange(held_, nullptr)); }

  Result<std::unique_ptr<fabric::MemoryRegion>> register_memory(std::span<std::byte> memory) override {
    if (out_of_memory) return boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
    return ForwardingFabric::register_memory(memory);
  }
  void start(fabric::QueuePair& queue_pair) override {
    if (std::exchange(holds, false))
      held_ = &queue_pair;
    else
      ForwardingFabric::start(queue_pair);
  }

 private:
  fabric::QueuePair* held_ = nullptr;
};

}  // namespace rpcrdma::test
