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
  boost::asio::ip::address other_address;  ///< address of a second host; may equal `address`
  /// True if private data arrives with its exact length, also in a rejection. Otherwise it is padded with zeros, and a
  /// rejection carries none.
  bool exact_private_data;
  std::size_t max_private_data;  ///< of a request, in bytes
  int requests_at_once;
  /// The resources that this process holds, as text. If nothing leaks, it is the same before and after a test.
  std::string (*held)();
};
const FabricUnderTest& fabric_under_test();

}  // namespace rpcrdma::test
