// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// From a server's name to a connection: addresses, port, fabric, and which address answers.
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "rpcrdma/client.hpp"

namespace rpcrdma::embed {

/// What a client uses for one server. Members are in the reverse order of destruction.
struct Backend {
  std::shared_ptr<Memory> memory;
  std::unique_ptr<rpc::ReverseHandlers> handlers;  // null without reverse calls
  std::unique_ptr<transport::Client> rdma;
  std::unique_ptr<rpc::TcpRequester> tcp;  // either of them
  fabric::Endpoint server;

  transport::Requester& requester() noexcept { return tcp ? *tcp : rdma->requester(); }
};

struct Target {
  Address address;
  ClientOptions options;
  const rpc::ProcedureInfo* procedure = nullptr;  // its program is called; null: not known yet
};

/// Finds and opens what `target` names. Cancelled: throws. On the thread of `context`; `loop` as in Memory.
boost::asio::awaitable<Result<Backend>> open_backend(boost::asio::io_context& context, std::shared_ptr<Loop> loop,
                                                     Target target);

}  // namespace rpcrdma::embed
