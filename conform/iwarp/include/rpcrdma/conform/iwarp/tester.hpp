// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Tests iWARP responders of any make: acts as an initiator on a TCP socket. The responder must serve an RPC program,
// because most cases call NULL.
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "rpcrdma/conform/framework/case.hpp"

namespace rpcrdma::conform {

struct IwarpOptions {
  boost::asio::ip::tcp::endpoint peer;
  std::uint32_t program = 100003, version = 3;  ///< the program whose NULL is called; any RPC reply suffices
  /// Selects the kind of Request that a case sends, unless the case itself requires a certain kind. If true, it is an
  /// enhanced Request of revision 2 (RFC 6581). If false, it is a Request of revision 1.
  bool enhanced = false;
  std::chrono::milliseconds pause{0};         ///< the wait between the Reply and the first FPDU
  std::chrono::milliseconds patience{10000};  ///< how long to wait for an answer of the responder
  std::chrono::milliseconds stall{60000};     ///< how long the responder may keep a connection of a silent tester
};

/// The tester. suite() needs no connection.
class IwarpTester {
 public:
  explicit IwarpTester(IwarpOptions options);
  ~IwarpTester();
  const Suite& suite() const noexcept;
  /// Sets up a connection and calls NULL. Returns an error message, or an empty string.
  std::string check_health();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rpcrdma::conform
