// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Tests servers: acts as a client of any RPC-over-RDMA server.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rpcrdma/conform/codec/words.hpp"
#include "rpcrdma/conform/framework/case.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::conform {

/// The program that the server serves.
enum class Program {
  nfs3,  ///< NFSv3 at an export
  null,  ///< only the procedure NULL is called; cases that need files are skipped
};

struct ServerOptions {
  fabric::Endpoint server;
  fabric::OpenOptions fabric;
  Program program = Program::nfs3;
  std::uint32_t null_program = 100003, null_version = 3;  ///< the program whose NULL is called
  std::string export_path;                                ///< path of the export, for MOUNT
  std::optional<std::uint16_t> mount_port;                ///< port of MOUNT over TCP; if absent: over RDMA
  std::optional<Bytes> root_handle;                       ///< used instead of MOUNT
  std::uint32_t uid = 0, gid = 0;                         ///< ids in AUTH_SYS
  std::chrono::milliseconds patience{10000};              ///< time limit for an answer of the server
};

/// Tests one server. suite() needs no connection and may be called before reach().
class ServerTester {
 public:
  explicit ServerTester(ServerOptions options);
  ~ServerTester();
  const Suite& suite() const noexcept;
  /// Opens the fabric, makes the first calls and, with NFS, the files that the cases use. Returns an error message, or
  /// an empty string.
  std::string reach();
  /// Calls NULL and, with NFS, GETATTR. Returns an error message, or an empty string.
  std::string check_health();
  /// The provider that reach() has opened.
  std::string fabric_name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rpcrdma::conform
