// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The members of a Client, and the functions that make its calls.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <vector>

#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/nfs3.hpp"

namespace rpcrdma::nfs {

using Clock = std::chrono::steady_clock;

/// A connection, and the RPC client whose calls it carries. The calls end before the connection.
struct Link {
  Link(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server, const ClientOptions& options);

  std::unique_ptr<transport::Client> transport;
  rpc::Client rpc;
};

/// The members are destroyed in reverse order, so their order matters. `links`, with the calls and the connections,
/// must be destroyed before `pool`, whose memory they use, and `pool` before `fabric`.
struct Client::Impl {
  Impl(std::unique_ptr<fabric::Fabric> opened, fabric::Endpoint endpoint, ClientOptions client_options);

  boost::asio::io_context& context;
  fabric::Endpoint server;
  ClientOptions options;
  std::unique_ptr<fabric::Fabric> fabric;
  memory::Pool pool;
  std::vector<std::unique_ptr<Link>> links;  // at least one
  std::size_t next_link = 0;
  std::map<std::string, FileHandle> mounts;
  std::optional<Limits> limits;
  bool has_readdirplus = true;

  rpc::Client& rpc() noexcept { return links.front()->rpc; }
  /// The next connection for READ or WRITE.
  rpc::Client& bulk_rpc() noexcept { return links[next_link++ % links.size()]->rpc; }
};

// The default options, to be passed to coroutines instead of `{}`. GCC 12 copies a temporary argument of a coroutine
// byte by byte, which is not a valid copy of a CallOptions.
inline const rpc::CallOptions kNoOptions;

/// Calls P once. The arguments, and the memory that they reference, must stay valid until the call completes.
template <rpc::Procedure P>
Task<rpc::Decoded<typename P::Result>> call_once(rpc::Client& rpc, const typename P::Args& args,
                                                 const rpc::CallOptions& options) {
  auto [failed, reply] = co_await rpc.async_call<P>(args, options, boost::asio::as_tuple(boost::asio::use_awaitable));
  if (failed) co_return failed;
  co_return std::move(reply);
}

/// Waits before a call is repeated.
boost::asio::awaitable<void> pause(boost::asio::io_context& context, std::chrono::milliseconds time);

/// Calls an NFSv3 procedure. If the server answers NFS3ERR_JUKEBOX (RFC 1813 section 2.6), repeats the call until the
/// timeout. Stores the reply in `reply` if its status is NFS3_OK, and returns an error otherwise. `args`, `given` and
/// `reply` must stay valid until the call completes.
///
/// Asio keeps the memory of a coroutine for later coroutines only if it takes at most 1,020 bytes. A coroutine that
/// returned the reply would hold it twice. Therefore the caller owns the reply.
template <rpc::Procedure P>
boost::asio::awaitable<error_code> call_over(rpc::Client& rpc, Client::Impl& impl, const typename P::Args& args,
                                             const rpc::CallOptions& given, rpc::Decoded<typename P::Result>& reply) {
  const Clock::time_point deadline = Clock::now() + impl.options.timeout;
  std::chrono::milliseconds wait{100};
  rpc::CallOptions options = given;
  options.deadline = deadline;
  while (true) {
    auto [failed, received] =
        co_await rpc.async_call<P>(args, options, boost::asio::as_tuple(boost::asio::use_awaitable));
    if (failed) co_return failed;
    const error_code status = status_error(static_cast<std::uint32_t>(received->status));
    if (!status) reply = std::move(received);
    if (status != Status::jukebox || Clock::now() + wait >= deadline) co_return status;
    co_await pause(impl.context, wait);
    wait = std::min(wait * 2, std::chrono::milliseconds(5000));
  }
}

/// Like call_over(), on the first connection.
template <rpc::Procedure P>
boost::asio::awaitable<error_code> call(Client::Impl& impl, const typename P::Args& args,
                                        rpc::Decoded<typename P::Result>& reply) {
  return call_over<P>(impl.rpc(), impl, args, kNoOptions, reply);
}

}  // namespace rpcrdma::nfs
