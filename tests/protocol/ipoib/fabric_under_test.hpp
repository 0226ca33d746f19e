// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The fabric on which neighbours are tested.
#include <boost/asio/ip/address.hpp>
#include <memory>
#include <string>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::test {

struct FabricUnderTest {
  std::unique_ptr<fabric::Fabric> (*open)(boost::asio::io_context& context, const boost::asio::ip::address& address);
  boost::asio::ip::address address;        ///< where its listeners bind
  boost::asio::ip::address other_address;  ///< of a second host; it may be the same
  /// True if private data arrives with its exact length, also in a rejection. Otherwise it is padded with zeros, and a
  /// rejection carries none.
  bool exact_private_data;
  std::size_t max_private_data;  ///< bytes of a request
  int requests_at_once;
  /// What this process holds: the same before and after if nothing leaks.
  std::string (*held)();
};
const FabricUnderTest& fabric_under_test();

}  // namespace rpcrdma::test
