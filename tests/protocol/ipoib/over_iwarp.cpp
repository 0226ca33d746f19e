// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>

#include "fabric_under_test.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"

namespace rpcrdma::test {
namespace {

std::unique_ptr<fabric::Fabric> iwarp_under_test(boost::asio::io_context& context, const boost::asio::ip::address&) {
  return std::move(*fabric::open_iwarp(context, {}, {}));
}

std::string held_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return std::to_string(std::distance(begin(folder), end(folder))) + " descriptors";
}

}  // namespace

const FabricUnderTest& fabric_under_test() {
  static const boost::asio::ip::address local = boost::asio::ip::address_v4::loopback();
  static const FabricUnderTest iwarp{iwarp_under_test, local, local, true, 200, 300, held_descriptors};
  return iwarp;
}

}  // namespace rpcrdma::test
