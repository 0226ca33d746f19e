// SPDX-License-Identifier: BSD-3-Clause
// Characteristics of version two that change under calls in both directions.
#include "interop/fabric/device_failures.hpp"
#include "interop/fabric/verbs_bed.hpp"
#include "protocol/transport/characteristics_load.hpp"
#include "support/cut_fabric.hpp"

namespace rpcrdma::test {
namespace {

TEST(VerbsCalls, ThatChangeCharacteristics) {
  boost::asio::io_context context;
  const auto lines = std::make_shared<LogLines>();
  CutFabric client(open_at_device(context, verbs_address(), {}, lines));
  const auto server = open_at_device(context, verbs_address(), {}, lines);
  CharacteristicsLoad load{&client, server.get(), {boost::asio::ip::make_address(verbs_address()), 0}, 2000};
  load.cut = [&] { client.cut(); };
  load.other_losses = [&] { return failed_by_device(*lines); };
  run_characteristics_load(context, load);
}

}  // namespace
}  // namespace rpcrdma::test
