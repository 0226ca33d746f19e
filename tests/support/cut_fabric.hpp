// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <deque>

#include "rpcrdma/fabric/forwarding.hpp"

namespace rpcrdma::test {

/// Wraps a fabric, so that a test can end the connections that the fabric has made.
class CutFabric final : public fabric::ForwardingFabric {
 public:
  using fabric::ForwardingFabric::ForwardingFabric;

  /// Ends all connections that make_connector() has made so far. Every queue pair must still exist, unless its
  /// connection has ended.
  void cut() {
    for (Watch& watch : watches_)
      if (watch.connected) watch.queue_pair->abort();
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_connector(const fabric::Endpoint& peer,
                                                            fabric::QueuePairOptions options,
                                                            fabric::QueuePairEvents& events) override {
    Watch& watch = watches_.emplace_back(events);
    auto made = fabric::ForwardingFabric::make_connector(peer, std::move(options), watch);
    if (made) watch.queue_pair = made->get();
    return made;
  }

 private:
  struct Watch final : fabric::QueuePairEvents {
    explicit Watch(fabric::QueuePairEvents& of) noexcept : events(of) {}
    void on_established(const fabric::ConnectionInfo& info) noexcept override {
      connected = true;
      events.on_established(info);
    }
    void on_rejected(const fabric::ConnectionInfo& peer) noexcept override { events.on_rejected(peer); }
    void on_disconnected(error_code why) noexcept override {
      connected = false;
      events.on_disconnected(why);
    }
    void on_batch_end() noexcept override { events.on_batch_end(); }
    fabric::QueuePairEvents& events;
    fabric::QueuePair* queue_pair = nullptr;
    bool connected = false;
  };
  std::deque<Watch> watches_;
};

}  // namespace rpcrdma::test
