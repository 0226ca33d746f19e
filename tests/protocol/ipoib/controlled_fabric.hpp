// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/post.hpp>

#include "rpcrdma/fabric/forwarding.hpp"

namespace rpcrdma::test {

/// Wraps a fabric: the test can delay a connection, or make a connection or registrations fail.
class ControlledFabric final : public fabric::ForwardingFabric {
 public:
  using fabric::ForwardingFabric::ForwardingFabric;

  bool out_of_memory = false;  ///< no memory can be registered
  bool holds = false;          ///< if set, start() clears this flag, and keeps the queue pair until release()

  error_code fails_with;  ///< if set, start() clears this variable, and ends the last connector with this error

  bool holds_one() const noexcept { return held_ != nullptr; }
  void release() { fabric::ForwardingFabric::start(*std::exchange(held_, nullptr)); }

  Result<std::unique_ptr<fabric::MemoryRegion>> register_memory(std::span<std::byte> memory) override {
    if (out_of_memory) return boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
    return fabric::ForwardingFabric::register_memory(memory);
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_connector(const fabric::Endpoint& peer,
                                                            fabric::QueuePairOptions options,
                                                            fabric::QueuePairEvents& events) override {
    connector_ = &events;
    return fabric::ForwardingFabric::make_connector(peer, std::move(options), events);
  }
  void start(fabric::QueuePair& queue_pair) override {
    if (const error_code why = std::exchange(fails_with, {}))
      boost::asio::post(context(), [events = connector_, why] { events->on_disconnected(why); });
    else if (std::exchange(holds, false))
      held_ = &queue_pair;
    else
      fabric::ForwardingFabric::start(queue_pair);
  }

 private:
  fabric::QueuePair* held_ = nullptr;
  fabric::QueuePairEvents* connector_ = nullptr;  // the events of the last connector
};

}  // namespace rpcrdma::test
