// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Tests NFSv3 clients: each case runs a command, the client, against a server that misbehaves in one way.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpcrdma/conform/framework/case.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::conform {

struct ClientOptions {
  fabric::Endpoint listen;  ///< port 0: any free port
  fabric::OpenOptions fabric;
  std::string export_name = "memory";             ///< of the files in memory, without the leading slash
  std::optional<std::uint16_t> mount_port;        ///< where MOUNT is served over TCP as well; 0: any free port
  std::vector<std::string> command;               ///< program and arguments, with placeholders such as {url}
  std::chrono::milliseconds patience{60000};      ///< after which the command must have ended
  std::uint64_t memory = std::uint64_t{1} << 30;  ///< bytes that a run may use more than the run without a fault
};

/// Thrown by reach() and by cases when the process gets SIGINT or SIGTERM: the command has been killed by then.
struct ClientInterrupted {
  int signal = 0;
};

/// The tester. Its suite may be listed without a command.
class ClientTester {
 public:
  explicit ClientTester(ClientOptions options);
  ~ClientTester();
  const Suite& suite() const noexcept;
  /// Listens, and runs the command against a server without a fault. Returns what is wrong, or an empty string.
  std::string reach();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rpcrdma::conform
