// SPDX-License-Identifier: BSD-3-Clause
// The device of either side is lost and comes back: calls continue with the same XIDs and the same memory.
#include <gtest/gtest.h>

#include <array>

#include "exchange.hpp"
#include "rpcrdma/fabric/lasting.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

/// The number of memory keys that Side::open() skips for each earlier fabric of the device. A test uses fewer keys on
/// one fabric.
constexpr int kKeys = 1000;

/// A lasting fabric on a loopback device.
struct Side {
  Side(fabric::LoopbackNetwork& on, std::string label) : network(on), name(std::move(label)) {}

  Result<std::unique_ptr<fabric::Fabric>> open() {
    if (!there) return fabric::FabricError::no_device;
    auto opened = network.make_fabric(name);
    // Uses up the keys that earlier fabrics of this device have given out, so that no key is given out twice.
    for (int i = 0; i < kKeys * times; ++i) static_cast<void>(opened->register_memory(spare));
    ++times;
    present = opened.get();
    return opened;
  }
  void lose() {
    there = false;
    std::exchange(present, nullptr)->lose_device();
  }

  fabric::LoopbackNetwork& network;
  std::string name;
  bool there = true;
  int times = 0;  ///< how often the device was opened
  std::array<std::byte, 8> spare{};
  fabric::LoopbackFabric* present = nullptr;
  std::unique_ptr<fabric::Fabric> fabric = fabric::make_lasting(
      std::move(*open()), [this] { return open(); },
      {.name = name, .first_pause = std::chrono::milliseconds(1), .last_pause = std::chrono::milliseconds(2)}, {});
  memory::Pool pool{*fabric};
};

/// The parameter is the number of calls that have reached the server when the device is lost.
class LostDevice : public testing::TestWithParam<int> {
 protected:
  LostDevice() {
    server_->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                    [this](Result<fabric::Endpoint> bound) { endpoint_ = *bound; });
    run_until(context_, [this] { return endpoint_.port() != 0; });
    transport::ClientOptions options;
    options.first_backoff = std::chrono::milliseconds(1);
    options.last_backoff = std::chrono::milliseconds(4);
    client_ = transport::Client::make(*client_side_.fabric, client_side_.pool, endpoint_, options, {});
  }
  ~LostDevice() override {
    client_.reset();
    server_.reset();
    run_ready(context_);
  }

  ShapedCall& submit(const Shape& shape) {
    calls_.push_back(std::make_unique<ShapedCall>(client_side_.pool, client_->requester(), shape));
    client_->requester().submit(*calls_.back());
    return *calls_.back();
  }
  void expect_success() {
    for (const auto& call : calls_) {
      ASSERT_TRUE(run_until(context_, [&] { return call->times_done != 0; }));
      EXPECT_FALSE(call->status) << call->status.message();
      EXPECT_EQ(call->complaint, "");
      EXPECT_EQ(call->times_done, 1);
    }
    EXPECT_EQ(handler_.complaint, "");
  }
  /// Submits calls with bulk data in both directions, arguments in several pieces, a long call and a long reply.
  void submit_all_kinds() {
    submit({.seed = 1, .items = {100000}, .results = {70000}});
    submit({.seed = 2, .items = {40}, .results = {}});
    submit({.seed = 3, .call_body = 20000, .reply_body = 20000, .items = {}, .results = {}});
    submit({.seed = 4, .items = {300}, .results = {}, .pieces = 3, .may_reduce = false});
    submit({.seed = 5, .items = {}, .results = {200}});
  }
  void lose_within_calls(Side& side) {
    handler_.intercept = [&side, left = GetParam()](transport::IncomingCall&) mutable {
      if (left != 0 && --left == 0) side.lose();
      return false;
    };
    submit_all_kinds();
    ASSERT_TRUE(run_until(context_, [&] { return side.present == nullptr; }));
    submit({.seed = 6, .items = {50}, .results = {5000}});  // submitted without the device, completes when it is back
    run_ready(context_);
    side.there = true;
    ASSERT_NO_FATAL_FAILURE(expect_success());
    EXPECT_GE(client_->requester().counters().resent, 1u);
    EXPECT_EQ(client_->requester().counters().reconnects, 1u);
  }

  boost::asio::io_context context_;
  fabric::LoopbackNetwork network_{context_};
  Side client_side_{network_, "client"};
  Side server_side_{network_, "server"};
  ShapedHandler handler_;
  fabric::Endpoint endpoint_;
  std::unique_ptr<transport::Server> server_ =
      transport::Server::make({{server_side_.fabric.get(), &server_side_.pool, &handler_}}, {}, {});
  std::unique_ptr<transport::Client> client_;
  std::vector<std::unique_ptr<ShapedCall>> calls_;
};

TEST_P(LostDevice, CallsSurviveTheClientsDevice) { lose_within_calls(client_side_); }
TEST_P(LostDevice, CallsSurviveTheServersDevice) { lose_within_calls(server_side_); }

// A program keeps memory across the loss: new references to the memory have the keys of the new device.
TEST(LostDeviceMemory, BuffersHaveTheKeysOfTheDeviceThatCameBack) {
  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  Side side(network, "one");
  const memory::RegisteredBuffer pooled = std::move(*side.pool.allocate(10000));
  std::array<std::byte, 4096> own{};
  const memory::RegisteredBuffer adopted = std::move(*memory::adopt(*side.fabric, own));
  const BufferRef before[] = {pooled.ref(), adopted.first(100)};
  side.lose();
  run_ready(context);
  side.there = true;
  ASSERT_TRUE(run_until(context, [&] { return side.present != nullptr; }));
  run_ready(context);
  EXPECT_NE(pooled.ref().local_key, before[0].local_key);
  EXPECT_NE(adopted.first(100).local_key, before[1].local_key);
  EXPECT_EQ(pooled.ref().data, before[0].data);
  EXPECT_EQ(adopted.first(100).size, 100u);
}

INSTANTIATE_TEST_SUITE_P(After, LostDevice, testing::Range(1, 6));

}  // namespace
}  // namespace rpcrdma::test
