// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <exception>
#include <new>

#include "client_handle.hpp"
#include "log.hpp"
#include "rpcrdma/tirpc.h"

namespace rpcrdma::tirpc {
namespace {

constexpr unsigned kDefaultMessage = 16u << 20;

CLIENT* creation_failed(clnt_stat why, int number) noexcept {
  rpc_createerr.cf_stat = why;
  rpc_createerr.cf_error = {};
  rpc_createerr.cf_error.re_status = why;
  rpc_createerr.cf_error.re_errno = number;
  return nullptr;
}

int errno_of_connect(error_code why) noexcept {
  if (why.category() == boost::system::system_category()) return why.value();
  if (!why || why == fabric::FabricError::handshake_timeout) return ETIMEDOUT;
  if (why == fabric::FabricError::rejected) return ECONNREFUSED;
  if (why == fabric::FabricError::handshake_failed) return EPROTO;
  return why == BaseError::out_of_memory || why == fabric::FabricError::locked_memory ? ENOMEM : ENODEV;
}

/// The options given; a zero max_call, max_reply or connect_timeout is replaced by its default.
rpcrdma_clnt_options completed(const rpcrdma_clnt_options* given) noexcept {
  rpcrdma_clnt_options out{};
  if (given != nullptr) out = *given;
  if (out.max_call == 0) out.max_call = kDefaultMessage;
  if (out.max_reply == 0) out.max_reply = kDefaultMessage;
  if (out.connect_timeout.tv_sec == 0 && out.connect_timeout.tv_usec == 0) out.connect_timeout.tv_sec = 10;
  return out;
}

CLIENT* create(const char* host, rpcprog_t program, rpcvers_t version, const rpcrdma_clnt_options& options) {
  const std::optional<Target> target = parse_target(host != nullptr ? host : "");
  if (!target) return creation_failed(RPC_UNKNOWNHOST, 0);
  const auto rdma_version = version_of(options.rdma_version);
  const auto poll = polling_of(options.poll);
  if (!rdma_version || !poll) return creation_failed(RPC_SYSTEMERROR, EINVAL);
  LinkOptions wanted;
  wanted.version = *rdma_version;
  wanted.poll = *poll;
  wanted.provider = target->provider;
  wanted.connect_timeout =
      std::chrono::milliseconds(options.connect_timeout.tv_sec * 1000 + options.connect_timeout.tv_usec / 1000);
  wanted.max_call = options.max_call;
  wanted.max_reply = options.max_reply;
  wanted.log = log_to(options.log, options.log_context);
  creation_failed(RPC_UNKNOWNHOST, 0);
  fabric::raise_locked_memory_limit();
  for (const boost::asio::ip::address& address : addresses_of(target->host)) {
    const std::optional<std::uint16_t> port =
        target->port ? target->port : ask_rpcbind(address, program, version, wanted.connect_timeout);
    if (!port) continue;
    const fabric::Endpoint server(address, *port);
    auto link = ClientLink::open(server, wanted);
    if (link) return (new ClientHandle(std::move(*link), server, program, version, options))->client();
    creation_failed(RPC_SYSTEMERROR, errno_of_connect(link.error()));
  }
  return nullptr;
}

}  // namespace
}  // namespace rpcrdma::tirpc

CLIENT* rpcrdma_clnt_create(const char* host, rpcprog_t prog, rpcvers_t vers, const rpcrdma_clnt_options* options) {
  using namespace rpcrdma::tirpc;
  try {
    return create(host, prog, vers, completed(options));
  } catch (const std::bad_alloc&) {
    return creation_failed(RPC_SYSTEMERROR, ENOMEM);
  } catch (const std::exception&) {  // the event loop cannot open a file descriptor
    return creation_failed(RPC_SYSTEMERROR, EMFILE);
  }
}
