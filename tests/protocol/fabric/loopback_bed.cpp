// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

struct LoopbackBed : Bed {
  explicit LoopbackBed(fabric::LoopbackOptions options) : network(context, options) {}
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }

  fabric::LoopbackNetwork network;
  std::unique_ptr<fabric::LoopbackFabric> server_fabric = network.make_fabric("server");
  std::unique_ptr<fabric::LoopbackFabric> client_fabric = network.make_fabric("client");
};

std::unique_ptr<Bed> prompt() { return std::make_unique<LoopbackBed>(fabric::LoopbackOptions{}); }
std::unique_ptr<Bed> delayed() {
  return std::make_unique<LoopbackBed>(fabric::LoopbackOptions{.seed = 5040, .max_delay = 7, .reorder = true});
}

}  // namespace

FABRIC_CONFORMANCE(Loopback, BedFactory({"prompt", prompt}), BedFactory({"delayed", delayed}));

}  // namespace rpcrdma::test
