// SPDX-License-Identifier: BSD-3-Clause
// Looks repeatedly for a host on the same network whose hardware address is not known yet. The host's device is at
// RPCRDMA_TEST_NEIGHBOUR and is reached through the device at RPCRDMA_TEST_VERBS_ADDRESS. Needs root, and the program
// `ip`.
#include <cstdlib>

#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {
namespace {

fabric::Endpoint neighbour() { return {boost::asio::ip::make_address(std::getenv("RPCRDMA_TEST_NEIGHBOUR")), 0}; }

std::unique_ptr<fabric::Fabric> opened(boost::asio::io_context& context, fabric::VerbsOptions options) {
  // The time limit for the resolution of an address, which is longer than a test may last. If the fabric waits for the
  // limit although the neighbour has answered, the test does not finish.
  options.resolve_timeout = std::chrono::hours(1);
  auto fabric =
      verbs_provider().open(context, neighbour().address(), options, Log(make_stderr_sink(LogLevel::warn, "test")));
  if (!fabric) throw std::runtime_error("Verbs::open: " + fabric.error().message());
  return std::move(*fabric);
}

struct NeighbourBed : Bed {
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }
  fabric::Endpoint address() const override { return neighbour(); }

  std::unique_ptr<fabric::Fabric> server_fabric = opened(context, {});
  std::unique_ptr<fabric::Fabric> client_fabric = opened(context, {.towards = true});
};

std::vector<BedFactory> beds() {
  if (std::getenv("RPCRDMA_TEST_NEIGHBOUR") == nullptr) return {};
  return {{"neighbour", [] { return std::unique_ptr<Bed>(new NeighbourBed); }}};
}

void forget() { ASSERT_EQ(std::system("ip neigh flush all"), 0); }

}  // namespace

class NeighbourTest : public FabricTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NeighbourTest);

// On rxe, rdma_resolve_addr() sometimes returns only at the end of its time limit, although the neighbour has answered.
// Therefore the provider must call it repeatedly with short time limits. It must not pass resolve_timeout, which is an
// hour here.
TEST_P(NeighbourTest, IsFoundByEachOfEightFabrics) {
  for (int i = 0; i < 8; ++i) {
    forget();
    opened(bed_->context, {.towards = true});
  }
}

TEST_P(NeighbourTest, IsFoundByEachOfEightConnections) {
  listen();
  fabric::QueuePairOptions options;
  options.handshake_timeout = std::chrono::hours(1);
  for (int i = 0; i < 8; ++i) {
    forget();
    Node node(bed_->client());
    start(node, options);
    ASSERT_TRUE(until([&] { return node.established(); })) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, NeighbourTest, testing::ValuesIn(beds()));

}  // namespace rpcrdma::test
