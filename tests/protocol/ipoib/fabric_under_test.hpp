// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The fabric on which the tests of crossing requests and of hostile and stuck neighbours run.
#include <boost/asio/ip/address.hpp>
#include <memory>
#include <string>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::test {

struct FabricUnderTest {
  std::unique_ptr<fabric::Fabric> (*open)(boost::asio::io_context& context, const boost::asio::ip::address& address);
  boost::asio::ip::address address;        ///< where the listeners of the first host bind
  boost::asio::ip::address other_address;  ///< where the listeners of the second host bind; may equal `address`
  /// True if private data arrives with its exact length, also in a rejection. False if the fabric pads private data
  /// with zeros, and delivers none with a rejection.
  bool exact_private_data;
  std::size_t max_private_data;  ///< the maximum number of bytes of private data in a connection request
  int requests_at_once;
  /// Describes the resources that this process holds. The text is the same before and after a test that leaks nothing.
  std::string (*held)();
};
const FabricUnderTest& fabric_under_test();

}  // namespace rpcrdma::test
