// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A process that serves the program of forms.x over TCP, by libtirpc, and over RDMA, by this library. Both use the same
// dispatch functions and run in one event loop. tcp_client() and rdma_client() connect to this process.
#include <rpc/rpc.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "forms.h"
#include "rpcrdma/tirpc.h"

extern "C" void forms_prog_1(svc_req* request, SVCXPRT* transport);
extern "C" void forms_prog_3(svc_req* request, SVCXPRT* transport);

namespace rpcrdma::tirpc {

enum class Loop : std::uint8_t { of_libtirpc, of_this_library };

class FormsServer {
 public:
  explicit FormsServer(Loop loop, const rpcrdma_svc_options& options = {});
  ~FormsServer();
  FormsServer(const FormsServer&) = delete;
  FormsServer& operator=(const FormsServer&) = delete;

  /// "127.0.0.1:PORT"
  std::string rdma_address() const { return "127.0.0.1:" + std::to_string(ports_.rdma); }
  std::uint16_t rdma_port() const { return ports_.rdma; }
  std::uint16_t tcp_port() const { return ports_.tcp; }
  /// Kills the server process.
  void kill();
  /// Suspends the server process until resume().
  void suspend();
  void resume();

 private:
  struct Ports {
    std::uint16_t tcp = 0;
    std::uint16_t rdma = 0;
  };
  Ports ports_;
  pid_t child_ = -1;
};

struct Destroy {
  void operator()(CLIENT* client) const {
    auth_destroy(client->cl_auth);
    clnt_destroy(client);
  }
};
using ClientPtr = std::unique_ptr<CLIENT, Destroy>;

ClientPtr tcp_client(const FormsServer& server, rpcprog_t program = FORMS_PROG, rpcvers_t version = FORMS_V1);
ClientPtr rdma_client(const FormsServer& server, rpcprog_t program = FORMS_PROG, rpcvers_t version = FORMS_V1,
                      const rpcrdma_clnt_options* options = nullptr);

/// The number of a second program of the server. In this program, unlike in FORMS_PROG, the results of FORMS_PRODUCE
/// are eligible for direct data placement.
constexpr rpcprog_t kEligible = FORMS_PROG + 100;
/// A procedure of the program kEligible whose results fail to encode near their end.
constexpr rpcproc_t kFailHalfWay = 98;
extern "C" bool_t xdr_eligible_blob(XDR* xdrs, blob* value);

/// Returns the content of a test blob of `size` bytes: the start of a fixed pseudorandom sequence of 9 MiB and 8 bytes.
std::string pattern(std::size_t size);
std::uint64_t checksum(const char* bytes, std::size_t size);

}  // namespace rpcrdma::tirpc
