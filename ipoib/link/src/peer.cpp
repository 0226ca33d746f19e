// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include <fmt/format.h>

#include "link_state.hpp"

namespace rpcrdma::ipoib {
namespace {

bool is_in(const std::unique_ptr<Connection>& connection, Connection::State state) noexcept {
  return connection && connection->state() == state;
}

}  // namespace

Peer::Peer(LinkState& of, const LinkAddress& its_address, const fabric::Endpoint& its_endpoint)
    : link(of),
      address(its_address),
      endpoint(its_endpoint),
      backoff(of.options().first_retry, of.options().last_retry, its_address.qpn),
      retry_timer(of.context()),
      patience(of.options().stall) {}

Connection* Peer::usable() const noexcept {
  if (is_in(outgoing, Connection::State::established)) return outgoing.get();
  if (is_in(incoming, Connection::State::established)) return incoming.get();
  return nullptr;
}

bool Peer::connecting() const noexcept {
  return is_in(outgoing, Connection::State::setting_up) || is_in(incoming, Connection::State::setting_up);
}

bool Peer::in_progress() const noexcept { return connecting() || is_in(outgoing, Connection::State::closing); }

std::string Peer::text() const {
  const std::string host = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", host, endpoint.port())
                                    : fmt::format("{}:{}", host, endpoint.port());
}

void Peer::on_established(Connection& connection) noexcept { link.established(*this, connection); }
bool Peer::on_frame(Connection& connection, Octets frame) noexcept { return link.frame(*this, connection, frame); }
void Peer::on_batch_end(Connection&) noexcept { link.pass_joined(); }
void Peer::on_room(Connection&) noexcept { link.room(*this); }
void Peer::on_over(Connection& connection, error_code why, std::uint32_t lost) noexcept {
  link.over(*this, connection, why, lost);
}

}  // namespace rpcrdma::ipoib
