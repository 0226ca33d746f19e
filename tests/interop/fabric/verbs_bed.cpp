// SPDX-License-Identifier: BSD-3-Clause
// Runs the conformance tests of all fabrics over verbs. Without a device there are no tests, and the program fails
// for that.
#include "interop/fabric/verbs_bed.hpp"

#include <cstdlib>
#include <iostream>

namespace rpcrdma::test {
namespace {

struct VerbsBed : Bed {
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }
  fabric::Endpoint address() const override { return {boost::asio::ip::make_address(verbs_address()), 0}; }

  std::unique_ptr<fabric::Fabric> server_fabric = open_at_device(context);
  std::unique_ptr<fabric::Fabric> client_fabric = open_at_device(context);
};

std::unique_ptr<Bed> verbs() { return std::make_unique<VerbsBed>(); }

}  // namespace

const char* verbs_address() { return std::getenv("RPCRDMA_TEST_VERBS_ADDRESS"); }

std::unique_ptr<fabric::Fabric> open_at_device(boost::asio::io_context& context) {
  const Log log(
      make_stderr_sink(std::getenv("RPCRDMA_TEST_LOG") != nullptr ? LogLevel::trace : LogLevel::warn, "test"));
  auto opened = fabric::open_verbs(context, boost::asio::ip::make_address(verbs_address()), {}, log);
  if (!opened) throw std::runtime_error("open_verbs: " + opened.error().message());
  return std::move(*opened);
}

bool on_iwarp() { return std::getenv("RPCRDMA_TEST_IWARP") != nullptr; }

std::vector<BedFactory> verbs_beds() {
  if (verbs_address() == nullptr) return {};
  return {{"verbs", verbs}};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WindowTest);
INSTANTIATE_TEST_SUITE_P(Verbs, FabricTest, testing::ValuesIn(verbs_beds()));
INSTANTIATE_TEST_SUITE_P(Verbs, WindowTest, testing::ValuesIn(verbs_beds()));

}  // namespace rpcrdma::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (rpcrdma::test::verbs_address() == nullptr) {
    std::cerr << "RPCRDMA_TEST_VERBS_ADDRESS is not set: no device to test\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
