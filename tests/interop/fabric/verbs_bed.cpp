// SPDX-License-Identifier: BSD-3-Clause
// The conformance tests of all fabrics, over verbs: on the RDMA device at the address in the environment variable
// RPCRDMA_TEST_VERBS_ADDRESS. Without it this program has no tests, and fails for that.
#include <cstdlib>
#include <iostream>

#include "rpcrdma/fabric/verbs/verbs.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

struct VerbsBed : Bed {
  explicit VerbsBed(const boost::asio::ip::address& at) : local(at) {
    Log log(make_stderr_sink(std::getenv("RPCRDMA_TEST_LOG") != nullptr ? LogLevel::trace : LogLevel::warn, "test"));
    for (auto* fabric : {&server_fabric, &client_fabric}) {
      auto opened = fabric::open_verbs(context, local, {}, log);
      if (!opened) throw std::runtime_error("open_verbs: " + opened.error().message());
      *fabric = std::move(*opened);
    }
  }
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }
  fabric::Endpoint address() const override { return {local, 0}; }

  boost::asio::ip::address local;
  std::unique_ptr<fabric::Fabric> server_fabric;
  std::unique_ptr<fabric::Fabric> client_fabric;
};

const char* address_of_device() { return std::getenv("RPCRDMA_TEST_VERBS_ADDRESS"); }

std::unique_ptr<Bed> verbs() { return std::make_unique<VerbsBed>(boost::asio::ip::make_address(address_of_device())); }

// Registered only where there is a device.
std::vector<BedFactory> beds() {
  if (address_of_device() == nullptr) return {};
  return {{"verbs", verbs}};
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WindowTest);
INSTANTIATE_TEST_SUITE_P(Verbs, FabricTest, testing::ValuesIn(beds()));
INSTANTIATE_TEST_SUITE_P(Verbs, WindowTest, testing::ValuesIn(beds()));

}  // namespace rpcrdma::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (rpcrdma::test::address_of_device() == nullptr) {
    std::cerr << "RPCRDMA_TEST_VERBS_ADDRESS is not set: no device to test\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
