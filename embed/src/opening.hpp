// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Finds the addresses, the port and the fabric of a server from the server's name. If there are several addresses,
// finds one that answers.
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "rpcrdma/client.hpp"

namespace rpcrdma::embed {

/// The objects of a client that belong to one server. The order of the members is the reverse order of destruction.
struct Backend {
  std::shared_ptr<Memory> memory;
  std::unique_ptr<rpc::ReverseHandlers> handlers;  // null without reverse calls
  std::unique_ptr<transport::Client> rdma;
  std::unique_ptr<rpc::TcpRequester> tcp;  // either `rdma` or `tcp` is set
  fabric::Endpoint server;

  transport::Requester& requester() noexcept { return tcp ? *tcp : rdma->requester(); }
};

struct Target {
  Address address;
  ClientOptions options;
  // Names the RPC program and version whose port rpcbind is asked for. Null if the client has made no call yet.
  const rpc::ProcedureInfo* procedure = nullptr;
};

/// Resolves the name in `target`, asks rpcbind for the port if `target` has none, and makes a Backend for the server.
/// If there are several usable addresses, the result is the Backend of the first one that answers. A single address is
/// not tested. Throws if cancelled. To be called on the thread of `context`. The Backend keeps `loop`, which runs
/// `context`. `loop` is null if the application runs `context`.
boost::asio::awaitable<Result<Backend>> open_backend(boost::asio::io_context& context, std::shared_ptr<Loop> loop,
                                                     Target target);

}  // namespace rpcrdma::embed
