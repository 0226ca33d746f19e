// SPDX-License-Identifier: BSD-3-Clause
// The fabric of the tests of tests/protocol/ipoib: verbs, at RPCRDMA_TEST_VERBS_ADDRESS and, if set,
// RPCRDMA_TEST_CLIENT_ADDRESS.
#include <cstdlib>
#include <sstream>

#include "interop/fabric/held.hpp"
#include "interop/fabric/verbs_bed.hpp"
#include "protocol/ipoib/fabric_under_test.hpp"

namespace rpcrdma::test {
namespace {

std::unique_ptr<fabric::Fabric> verbs_under_test(boost::asio::io_context& context,
                                                 const boost::asio::ip::address& address) {
  return open_at_device(context, address.to_string().c_str(), {});
}

std::string held_resources() {
  std::ostringstream out;
  out << held();
  return out.str();
}

}  // namespace

const FabricUnderTest& fabric_under_test() {
  using boost::asio::ip::make_address;
  const char* const other = std::getenv("RPCRDMA_TEST_CLIENT_ADDRESS");
  // rdma_cm leaves 56 bytes of a request's private data to the program.
  static const FabricUnderTest verbs{verbs_under_test,
                                     make_address(verbs_address()),
                                     make_address(other != nullptr ? other : verbs_address()),
                                     false,
                                     56,
                                     40,
                                     held_resources};
  return verbs;
}

}  // namespace rpcrdma::test
