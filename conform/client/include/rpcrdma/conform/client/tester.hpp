// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Tests NFSv3 clients: most cases run a command, the client, against a server that does one unusual or wrong thing.
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
  std::string export_name = "memory";             ///< name of the export, without the leading slash
  std::optional<std::uint16_t> mount_port;        ///< TCP port that serves MOUNT as well; 0: any free port
  std::vector<std::string> command;               ///< program and arguments, with placeholders such as {url}
  std::chrono::milliseconds patience{60000};      ///< time limit of one run of the command
  std::uint64_t memory = std::uint64_t{1} << 30;  ///< bytes of memory that a run may use beyond the fault-free run
};

/// Thrown by reach() and by cases when the process gets SIGINT or SIGTERM. Unwinding kills the command.
struct ClientInterrupted {
  int signal = 0;
};

/// Tests one client, which is the program ClientOptions::command. reach() and the cases run this command. suite(),
/// which returns the cases, may be called even if the command is empty.
class ClientTester {
 public:
  explicit ClientTester(ClientOptions options);
  ~ClientTester();
  const Suite& suite() const noexcept;
  /// Starts to listen, and then runs the command once while the tester's server makes no deliberate fault. Returns an
  /// error message, or an empty string if the command has succeeded.
  std::string reach();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rpcrdma::conform
