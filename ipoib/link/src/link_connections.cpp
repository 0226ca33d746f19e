// SPDX-License-Identifier: BSD-3-Clause
// Operation: a peer's request is accepted unless one of the reasons in Refusal (private_data.hpp) applies. A packet for
// a peer without a connection makes the link request one. Connections that no packet has used for LinkOptions::idle are
// closed, unless that is 0.
// Ownership: a connection that is over is destroyed from the io_context, outside of its callbacks.
// Error handling: after a failure the link waits for a growing time before it connects again. A rejected request may
// have crossed a request of the peer: packets wait for the peer's request, and are dropped after a second rejection. If
// the peer reports that the requests crossed, this side waits as long as the peer may need to connect.
#include "link_state.hpp"

namespace rpcrdma::ipoib {
namespace {

const char* own_reason(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none: break;
    case Refusal::crossing: return "requests crossed";
    case Refusal::unknown: return "the address of the requester is unknown and cannot be learnt";
    case Refusal::receive_mtu: return "the Receive MTU of the requester is too small";
    case Refusal::busy: return "another request of this peer is being accepted, or memory is lacking";
    case Refusal::malformed: return "the request has malformed private data";
  }
  return "no reason";
}

/// A connection has memory for as many packets of the largest size as fit in kQueueBytes bytes, but for at least
/// kMinDepth and at most kMaxDepth packets. This applies to each direction.
constexpr std::uint32_t kQueueBytes = 2u << 20;
constexpr std::uint32_t kMinDepth = 16, kMaxDepth = 256;
/// The link learns a further peer only while it has fewer than kMaxPeers peers in total, and fewer than kMaxPeersOfOne
/// learnt peers with the fabric address (GID) of the new one.
constexpr std::size_t kMaxPeers = 1024;
constexpr std::ptrdiff_t kMaxPeersOfOne = 8;
/// The time between two runs of LinkState::sweep() if LinkOptions::idle is zero. Idle connections then stay open, but
/// sweep() has other work.
constexpr std::chrono::minutes kSweep{1};
/// A connection is idle after this many sweeps without packets.
constexpr unsigned kQuietPeriods = 4;
constexpr unsigned kMaxRejections = 2;

memory::PoolOptions pool_options(const fabric::Fabric& fabric) noexcept {
  return memory::within_limit({.max_octets = std::size_t{1} << 30}, fabric.capabilities(), 1);
}

const char* text(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::crossing: return "requests crossed";
    case Refusal::unknown: return "it does not know this interface: check its --peer options";
    case Refusal::receive_mtu: return "the Receive MTU of this side is too small";
    case Refusal::busy: return "it is busy";
    case Refusal::malformed: return "it did not understand the request";
    default: return "no reason";
  }
}

}  // namespace

LinkState::LinkState(fabric::Fabric& fabric, PacketDevice& device, LinkOptions options, Log log)
    : fabric_(fabric),
      device_(device),
      options_(std::move(options)),
      log_(std::move(log)),
      pool_(fabric, pool_options(fabric)),
      stall_timer_(fabric.context()),
      sweep_timer_(fabric.context()) {
  touched_.reserve(64);
}

LinkState::~LinkState() {
  listener_.reset();
  peers_.clear();
  ended_.clear();
}

ConnectionLimits LinkState::limits() const noexcept {
  const std::uint32_t message = options_.mtu + static_cast<std::uint32_t>(kHeaderSize);
  return {.qpn = port_,
          .receive_mtu = message,
          .depth = static_cast<std::uint16_t>(std::clamp(kQueueBytes / message, kMinDepth, kMaxDepth)),
          .handshake_timeout = options_.handshake_timeout};
}

Result<fabric::Endpoint> LinkState::listen(const fabric::Endpoint& local) {
  auto listener = fabric_.listen(
      local, [this](std::unique_ptr<fabric::ConnectionRequest> request) { requested(std::move(request)); });
  if (!listener) return listener.error();
  listener_ = std::move(*listener);
  port_ = listener_->local().port();
  return listener_->local();
}

Peer* LinkState::find_peer(const LinkAddress& address) noexcept {
  for (const auto& peer : peers_)
    if (compare_without_flags(peer->address, address) == 0) return peer.get();
  return nullptr;
}

Peer& LinkState::peer_at(const LinkAddress& address, const fabric::Endpoint& endpoint) {
  if (Peer* const known = find_peer(address)) return *known;
  return *peers_.emplace_back(std::make_unique<Peer>(*this, address, endpoint));
}

void LinkState::add_neighbour(const IpPrefix& addresses, const fabric::Endpoint& endpoint) {
  const LinkAddress address{.reliable_connected = true, .qpn = endpoint.port(), .gid = ip_bytes(endpoint.address())};
  Peer& peer = peer_at(address, endpoint);
  peer.learnt = false;
  neighbours_.add(addresses, peer);
}

bool LinkState::has_room_to_learn(const LinkAddress& address) const noexcept {
  const auto beside = [&](const auto& peer) { return peer->learnt && peer->address.gid == address.gid; };
  return peers_.size() < kMaxPeers && std::ranges::count_if(peers_, beside) < kMaxPeersOfOne;
}

/// Makes a peer for a request from an unknown address; null if the link learns no peers, or has no room for another.
Peer* LinkState::learn_peer(const LinkAddress& address, const fabric::Endpoint& endpoint) {
  if (options_.learn_within.empty()) return nullptr;
  if (!has_room_to_learn(address)) forget_peers();
  if (!has_room_to_learn(address)) return nullptr;
  Peer& peer = peer_at(address, endpoint);
  peer.learnt = true;
  return &peer;
}

/// Forgets the learnt peers that have no connection, waiting packet or held packet, and the addresses of these peers.
void LinkState::forget_peers() noexcept {
  std::erase_if(peers_, [this](const auto& peer) {
    if (!peer->learnt || peer->connected() || peer->waiting_count != 0 || held_for_ == peer.get()) return false;
    neighbours_.forget(*peer);
    return true;
  });
}

/// Rejects the request, with the private data of this side [4755-3.2-a].
void LinkState::refuse(std::unique_ptr<fabric::ConnectionRequest> request, Refusal why, std::uint64_t& counter) {
  ++counter;
  const ConnectionLimits own = limits();
  const PrivateData data{own.qpn, own.receive_mtu, Extension{.refusal = why, .credits = own.depth}};
  log_.about(request->info().subject()).debug("ipoib: connection request refused: {}", own_reason(why));
  const auto bytes = encode(data);
  fabric_.reject(std::move(request), Octets(bytes).first(encoded_size(data)));
}

void LinkState::requested(std::unique_ptr<fabric::ConnectionRequest> request) noexcept {
  if (closing_) return;
  const fabric::ConnectionInfo& info = request->info();
  const auto data = decode_private_data(info.private_data);
  if (!data || data->qpn > 0xffff) return refuse(std::move(request), Refusal::malformed, statistics_.refused_malformed);
  if (!connection_mtu(limits().receive_mtu, data->receive_mtu))
    return refuse(std::move(request), Refusal::receive_mtu, statistics_.refused_mtu);
  // [4755-3.3-b] the requester's address: its UD queue pair from the private data, its GID from the request
  const LinkAddress remote{.reliable_connected = true, .qpn = data->qpn, .gid = ip_bytes(info.peer.address())};
  Peer* peer = find_peer(remote);
  if (peer == nullptr) peer = learn_peer(remote, {info.peer.address(), static_cast<std::uint16_t>(data->qpn)});
  if (peer == nullptr) return refuse(std::move(request), Refusal::unknown, statistics_.refused_unknown);
  const LinkAddress local{.reliable_connected = true, .qpn = port_, .gid = ip_bytes(info.local.address())};
  const bool outstanding = peer->outgoing && peer->outgoing->state() == Connection::State::setting_up;
  // [4755-3.3-a] the side with the smaller address accepts
  if (outstanding && !accepts_crossing_request(local, remote))
    return refuse(std::move(request), Refusal::crossing, statistics_.refused_crossing);
  // [4755-3.2-c] This side refuses another request of the peer while it is still accepting an earlier one.
  if (peer->incoming && peer->incoming->state() == Connection::State::setting_up)
    return refuse(std::move(request), Refusal::busy, statistics_.refused_busy);
  accept(*peer, std::move(request), *data);
}

void LinkState::accept(Peer& peer, std::unique_ptr<fabric::ConnectionRequest> request, const PrivateData& data) {
  auto made = std::make_unique<Connection>(fabric_, limits(), peer);
  if (const error_code failed = made->allocate(pool_)) {
    log_.about(request->info().subject())
        .warn("ipoib: connection request from {} refused: cannot allocate buffers: {}", peer.text(), failed.message());
    return refuse(std::move(request), Refusal::busy, statistics_.refused_busy);  // [4755-3.2-a]
  }
  if (peer.incoming) bury(peer.incoming);  // the peer has lost this connection, as it requests another one
  peer.incoming = std::move(made);
  if (const error_code failed = peer.incoming->accept(std::move(request), data)) {
    ++statistics_.refused_busy;
    log_.about(peer.incoming->subject())
        .warn("ipoib: cannot accept a connection from {}: {}", peer.text(), failed.message());
    bury(peer.incoming);
  }
  if (held_for_ == &peer) resume();
}

/// Requests a connection to `peer`. Returns false if the link is closing, if Peer::retry_at has not been reached, if
/// Peer::outgoing exists (in any state), or if the request fails at once.
bool LinkState::connect(Peer& peer) {
  if (closing_ || Peer::Clock::now() < peer.retry_at || peer.outgoing) return false;
  peer.outgoing = std::make_unique<Connection>(fabric_, limits(), peer);
  const error_code failed = peer.outgoing->connect(peer.endpoint, pool_);
  if (!failed) return true;
  peer.outgoing->quiesce();
  connect_failed(peer, *peer.outgoing, failed);
  bury(peer.outgoing);
  return false;
}

/// Destroys a connection later, because this function may run in a callback of that connection.
void LinkState::bury(std::unique_ptr<Connection>& connection) noexcept {
  if (joined_from_ == connection.get()) pass_joined();
  std::erase(touched_, connection.get());
  connection->quiesce();
  ended_.push_back(std::move(connection));
  guard_.post(context(), [](LinkState& link) { link.ended_.clear(); });
}

void LinkState::established(Peer& peer, Connection& connection) noexcept {
  ++(&connection == peer.outgoing.get() ? statistics_.connected : statistics_.accepted);
  log_.about(connection.subject()).info("ipoib: {} connected, mtu {}", peer.text(), connection.mtu());
  peer.backoff.reset();
  peer.retry_at = {};
  peer.rejections = 0;
  peer.retry_timer.cancel();
  send_waiting(peer, connection);
}

void LinkState::over(Peer& peer, Connection& connection, error_code why, std::uint32_t lost) noexcept {
  statistics_.lost += lost;
  const bool ours = &connection == peer.outgoing.get();
  if (connection.made()) {
    ++statistics_.ended;
    log_.about(connection.subject()).info("ipoib: {} disconnected: {}", peer.text(), why ? why.message() : "closed");
    if (why) peer.retry_at = Peer::Clock::now() + peer.backoff.next();
  } else if (ours) {
    connect_failed(peer, connection, why);
  }
  bury(ours ? peer.outgoing : peer.incoming);
  if (closing_) return finish_close();
  if (peer.waiting_count != 0 && peer.usable() == nullptr && !peer.connecting() && peer.rejections == 0 &&
      !connect(peer))
    drop_waiting(peer);
  if (held_for_ == &peer) resume();
}

void LinkState::connect_failed(Peer& peer, const Connection& connection, error_code why) {
  const bool rejected = why == fabric::FabricError::rejected;
  // The verbs provider reports this error if the peer's device rejects the request because it takes this side's queue
  // pair for that of an earlier connection. The next attempt uses another queue pair.
  const bool stale = why == boost::system::errc::resource_unavailable_try_again;
  ++(rejected ? statistics_.rejected : statistics_.failed);
  const auto& data = connection.peer();
  const Refusal refusal = data && data->extension ? data->extension->refusal : Refusal::none;
  // If there is a usable connection, the peer's own request has succeeded meanwhile. The failure of this side's request
  // is then no reason to delay the next attempt.
  if (peer.usable() == nullptr) {
    std::chrono::steady_clock::duration pause = peer.backoff.next();
    if (rejected && refusal == Refusal::crossing && peer.waiting_count != 0)
      pause = std::max<decltype(pause)>(pause, options_.handshake_timeout);
    peer.retry_at = Peer::Clock::now() + pause;
  }
  if (rejected && refusal != Refusal::none)
    log_.about(connection.subject()).info("ipoib: {} rejects the connection: {}", peer.text(), text(refusal));
  else
    log_.about(connection.subject()).info("ipoib: cannot connect to {}: {}", peer.text(), why.message());
  if ((rejected || stale) && peer.waiting_count != 0 && ++peer.rejections < kMaxRejections) return await_retry(peer);
  peer.rejections = 0;
  if (peer.usable() == nullptr && !peer.connecting()) drop_waiting(peer);
}

void LinkState::await_retry(Peer& peer) {
  peer.retry_timer.expires_at(peer.retry_at);
  peer.retry_timer.async_wait(peer.guard.wrap([](Peer& one, error_code failed) {
    if (!failed) one.link.retry(one);
  }));
}

void LinkState::retry(Peer& peer) {
  // If another connection to the peer exists or is in progress, no retry is needed. If packets still wait when that
  // connection ends, over() requests a new one or drops them.
  const bool other = peer.usable() != nullptr || peer.in_progress();
  if (!other && peer.waiting_count != 0 && connect(peer)) return;
  peer.rejections = 0;
  if (!other) drop_waiting(peer);
}

void LinkState::await_sweep() {
  const auto period = std::max(options_.idle / kQuietPeriods, std::chrono::milliseconds(10));
  sweep_timer_.expires_after(options_.idle.count() != 0 ? period : kSweep);
  sweep_timer_.async_wait(guard_.wrap([](LinkState& link, error_code failed) {
    if (failed || link.closing_) return;
    link.sweep();
    link.await_sweep();
  }));
}

// [4755-3.4-b] closes idle connections
void LinkState::sweep() noexcept {
  for (const auto& peer : peers_) {
    if (options_.idle.count() != 0) {
      close_if_idle(peer->outgoing.get());
      close_if_idle(peer->incoming.get());
    }
    if (!peer->connected() && peer->waiting_count == 0) peer->waiting.clear();
  }
  forget_peers();
  pool_.trim();
}

void LinkState::close_if_idle(Connection* connection) noexcept {
  if (connection == nullptr || connection->state() != Connection::State::established) return;
  connection->quiet_periods = connection->take_activity() ? 0 : connection->quiet_periods + 1;
  if (connection->quiet_periods < kQuietPeriods) return;
  ++statistics_.idle;
  connection->disconnect();
}

std::size_t LinkState::connections() const noexcept {
  std::size_t count = 0;
  for (const auto& peer : peers_) count += (peer->outgoing ? 1u : 0u) + (peer->incoming ? 1u : 0u);
  return count;
}

// [4755-3.4-a] ends all connections
void LinkState::close(UniqueFunction<void()> done) {
  closing_ = true;
  running_ = false;
  held_for_ = nullptr;
  closed_ = std::move(done);
  listener_.reset();
  stall_timer_.cancel();
  sweep_timer_.cancel();
  for (const auto& peer : peers_) {
    peer->retry_timer.cancel();
    if (peer->outgoing) peer->outgoing->disconnect();
    if (peer->incoming) peer->incoming->disconnect();
  }
  finish_close();
}

void LinkState::finish_close() {
  if (!closed_ || connections() != 0) return;
  guard_.post(context(), [](LinkState& link) {
    if (auto done = std::move(link.closed_)) done();
  });
}

}  // namespace rpcrdma::ipoib
