// SPDX-License-Identifier: BSD-3-Clause
#include "client_link.hpp"

#include <algorithm>

#include "descriptor.hpp"

namespace rpcrdma::tirpc {
namespace {

constexpr std::chrono::seconds kCloseTimeout(1);

}  // namespace

Result<std::unique_ptr<ClientLink>> ClientLink::open(const fabric::Endpoint& server, const LinkOptions& options) {
  std::unique_ptr<ClientLink> link(new ClientLink(options));
  fabric::OpenOptions wanted;
  wanted.provider = options.provider;
  wanted.towards = true;
  auto fabric = fabric::open(link->context_, server.address(), wanted, options.log);
  if (!fabric) return fabric.error();
  link->fabric_ = std::move(*fabric);
  memory::PoolOptions memory;
  memory.max_octets = std::max(memory.max_octets, 4 * (std::size_t{options.max_call} + options.max_reply));
  link->pool_ = std::make_unique<memory::Pool>(*link->fabric_, memory);
  transport::ClientOptions client;
  client.max_long_call = options.max_call;
  client.connection.handshake_timeout = options.connect_timeout;
  client.connection.version = options.version;
  // With Send with Invalidate, a call that times out could end the connection: at the timeout if the fabric lacks
  // Capabilities::late_invalidation, and otherwise when the late reply arrives. Another call in progress would then
  // fail.
  client.connection.remote_invalidation = false;
  link->client_ = transport::Client::make(*link->fabric_, *link->pool_, server, client, options.log);
  if (!link->ensure_connected()) return link->error();
  return link;
}

ClientLink::~ClientLink() {
  if (client_ == nullptr) return;
  bool closed = false;
  client_->close([&closed] { closed = true; });
  run_until([&closed] { return closed; }, std::chrono::steady_clock::now() + kCloseTimeout);
  client_.reset();
  context_.poll();  // runs deferred deletions before the fabric is destroyed
}

int ClientLink::descriptor() noexcept { return descriptor_of(context_); }

bool ClientLink::ensure_connected() {
  context_.poll();
  if (client_->connected()) return true;
  client_->connect();
  run_until([this] { return !client_->connecting(); }, std::chrono::steady_clock::now() + connect_timeout_);
  return client_->connected();
}

}  // namespace rpcrdma::tirpc
