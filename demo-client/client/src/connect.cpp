// SPDX-License-Identifier: BSD-3-Clause
// Operation: a host name may have several addresses ("localhost" is ::1 and 127.0.0.1), and perhaps only some answer.
// Each of the first kMaxAddresses gets a NULL call at once, and the first to answer is used.
// Ownership: an Attempt owns its client; once one has answered, the other clients are destroyed, which ends their
// calls.
// Error handling: if no address answers, reports the error of one of them.
#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include "client_impl.hpp"

namespace rpcrdma::nfs {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxAddresses = 4;
/// The longest time that the client waits until the server accepts a further connection and answers a NULL call on it.
constexpr std::chrono::milliseconds kFurtherConnect{2000};

struct Attempt {
  std::unique_ptr<Client> client;
  bool answered = false;
  error_code failed;
};

using Attempts = std::vector<Attempt>;

/// Succeeds if the server answers a NULL call. The call waits for at most options.first_connect (or options.timeout, if
/// that is shorter). If the server has then accepted or rejected the connection, a second call waits until
/// options.timeout after the start. The reason is a server that has reached its maximum number of connections: it
/// accepts a further one when another connection has been idle for some time.
Task<void> knock(Client::Impl& impl) {
  Link& link = *impl.links.front();
  const Clock::time_point start = Clock::now();
  rpc::CallOptions options;
  options.deadline = start + std::min(impl.options.first_connect, impl.options.timeout);
  auto reply = co_await call_once<rpc::nfs3::Null>(link.rpc, {}, options);
  if (reply) co_return Result<void>();
  if (reply.error() == BaseError::cancelled) co_return reply.error();
  if (link.transport->connected() || link.transport->last_error() == fabric::FabricError::rejected) {
    options.deadline = start + impl.options.timeout;
    reply = co_await call_once<rpc::nfs3::Null>(link.rpc, {}, options);
    if (reply) co_return Result<void>();
    if (reply.error() == BaseError::cancelled) co_return reply.error();
  }
  const error_code why = link.transport->last_error();
  co_return why ? why : reply.error();
}

/// Makes further connections until the client has options.connections, or an attempt fails.
asio::awaitable<void> add_links(Client::Impl& impl) {
  while (impl.links.size() < impl.options.connections) {
    auto link = std::make_unique<Link>(*impl.fabric, impl.pool, impl.server, impl.options);
    rpc::CallOptions options;
    options.deadline = Clock::now() + std::min(kFurtherConnect, impl.options.timeout);
    const auto reply = co_await call_once<rpc::nfs3::Null>(link->rpc, {}, options);
    if (!reply) {
      const error_code why = link->transport->last_error();
      impl.options.log.warn("could make only {} of {} connections to the server: {}", impl.links.size(),
                            impl.options.connections, (why ? why : reply.error()).message());
      // Destroys the link later, because this coroutine runs in the completion of a call of the link.
      asio::post(impl.context, [link = std::move(link)] {});
      co_return;
    }
    impl.links.push_back(std::move(link));
  }
}

error_code check(const ClientOptions& options) noexcept {
  if (options.uid.has_value() == options.gid.has_value()) return {};
  return make_error_code(boost::system::errc::invalid_argument);
}

asio::awaitable<void> attempt(Attempts& all, std::size_t index, Client::Impl& impl) {
  const Result<void> answered = co_await knock(impl);
  if (!all[index].client) co_return;  // another address has answered first
  if (!answered) {
    all[index].failed = answered.error();
    co_return;
  }
  all[index].answered = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != index) all[i].client.reset();
  }
}

Task<std::vector<fabric::Endpoint>> resolve(asio::io_context& context, const std::string& host, std::uint16_t port) {
  asio::ip::tcp::resolver resolver(context);
  const auto [failed, found] = co_await resolver.async_resolve(
      host, std::to_string(port), asio::ip::tcp::resolver::numeric_service, asio::as_tuple(asio::use_awaitable));
  if (failed) co_return failed;
  std::vector<fabric::Endpoint> endpoints;
  for (const auto& entry : found) {
    if (endpoints.size() < kMaxAddresses && std::ranges::find(endpoints, entry.endpoint()) == endpoints.end()) {
      endpoints.push_back(entry.endpoint());
    }
  }
  co_return endpoints;
}

}  // namespace

Task<std::unique_ptr<Client>> Client::connect(asio::io_context& context, std::string host, std::uint16_t port,
                                              ClientOptions options) {
  if (const error_code wrong = check(options)) co_return wrong;
  const Result<std::vector<fabric::Endpoint>> endpoints = co_await resolve(context, host, port);
  if (!endpoints) co_return endpoints.error();
  Attempts attempts;
  error_code failed;
  options.fabric.towards = true;
  for (const fabric::Endpoint& endpoint : *endpoints) {
    auto fabric = fabric::open(context, endpoint.address(), options.fabric, options.log);
    if (!fabric) {
      failed = fabric.error();
      continue;
    }
    auto impl = std::make_unique<Impl>(std::move(*fabric), endpoint, options);
    attempts.push_back({std::unique_ptr<Client>(new Client(std::move(impl))), false, {}});
  }
  Group group(context.get_executor());
  for (std::size_t i = 0; i < attempts.size(); ++i) group.spawn(attempt(attempts, i, *attempts[i].client->impl_));
  co_await group.wait();
  for (Attempt& one : attempts) {
    if (one.answered) {
      co_await add_links(*one.client->impl_);
      co_return std::move(one.client);
    }
    failed = one.failed;
  }
  co_return failed;
}

Task<std::unique_ptr<Client>> Client::connect_over(std::unique_ptr<fabric::Fabric> fabric, fabric::Endpoint server,
                                                   ClientOptions options) {
  if (const error_code wrong = check(options)) co_return wrong;
  std::unique_ptr<Client> client(new Client(std::make_unique<Impl>(std::move(fabric), server, std::move(options))));
  const Result<void> answered = co_await knock(*client->impl_);
  if (!answered) co_return answered.error();
  co_await add_links(*client->impl_);
  co_return std::move(client);
}

}  // namespace rpcrdma::nfs
