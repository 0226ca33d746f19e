// SPDX-License-Identifier: BSD-3-Clause
// Operation: each turn of the event loop reads at most kBatch packets; the work posted for them is submitted at the end
// of the turn. A packet is read into the one buffer of this link and passed to a connection, which leaves another
// buffer in exchange.
// Back-pressure: if the peer of a packet has no room, the packet is held. The device is not read until the peer has
// room, its connection ends, or a limit is reached. The limit is LinkOptions::stall; while several peers have packets,
// it is what the peer has left of LinkOptions::stall (patience.hpp). At the limit the peer is stalled: packets for the
// peer are dropped until it has room.
// Cutting: a packet that stands for several is kept in memory of its own. Its segments are cut one after the other into
// the buffer of this link; each is then handled like any other packet.
// Error handling: a packet that cannot be sent is counted and dropped. If the packet is too big or its destination is
// unreachable, the stack receives an ICMP error.
#include <algorithm>

#include "link_state.hpp"

namespace rpcrdma::ipoib {
namespace {

constexpr unsigned kBatch = 64;
/// The largest number of packets that wait for one connection.
constexpr std::size_t kWaiting = 16;
/// The period of the stall timer is LinkOptions::stall divided by this number, but at least 1 ms.
constexpr int kTicks = 8;
/// When two consecutive packets are for different peers, the link assumes for this time that several peers are in use.
/// During this time, Peer::patience limits how long hold() may hold a packet. At other times, each hold may last
/// LinkOptions::stall.
constexpr std::chrono::seconds kTogether{1};

Octets contents(const Packet& packet) noexcept { return packet.buffer.octets().subspan(kHeaderSize, packet.length); }

}  // namespace

error_code LinkState::allocate() {
  auto buffer = pool_.allocate(limits().receive_mtu);
  if (!buffer) return buffer.error();
  packet_.buffer = std::move(*buffer);
  uncut_.resize(options_.mtu + kMaxUncut);
  return {};
}

void LinkState::start(UniqueFunction<void(error_code)> failed) {
  failed_ = std::move(failed);
  running_ = true;
  await_device();
  await_sweep();
}

void LinkState::await_device() {
  device_.wait(guard_.wrap([](LinkState& link) { link.read_batch(); }));
}

void LinkState::read_batch() {
  if (!running_) return submit_touched();
  for (unsigned i = 0; i < kBatch; ++i) {
    if (!segmenter_.done()) {
      packet_.length = static_cast<std::uint32_t>(segmenter_.next(packet_.buffer.octets().subspan(kHeaderSize)));
      if (!route()) return submit_touched();
      continue;
    }
    Offload offload;
    const auto size = device_.read(packet_.buffer.octets().subspan(kHeaderSize, options_.mtu),
                                   MutableOctets(uncut_).subspan(options_.mtu), offload);
    // A device may report EFAULT for a packet that does not fit in the buffers. Such a packet is invalid, because the
    // buffers have room for any valid packet.
    if (!size && size.error() == boost::system::errc::bad_address) {
      ++statistics_.invalid;
      continue;
    }
    if (!size) {
      running_ = false;
      submit_touched();
      return failed_(size.error());
    }
    if (*size == 0) {
      submit_touched();
      return await_device();
    }
    if (!take(*size, offload)) return submit_touched();
  }
  submit_touched();
  guard_.post(context(), [](LinkState& link) { link.read_batch(); });
}

void LinkState::submit_touched() noexcept {
  for (Connection* connection : touched_) connection->submit();
  touched_.clear();
}

/// Handles a packet of `size` bytes that has been read from the device into packet_ and, beyond the MTU, into uncut_.
/// Returns false if the packet is held (hold()): the caller must then not read further packets.
bool LinkState::take(std::size_t size, const Offload& offload) {
  const std::size_t here = std::min<std::size_t>(size, options_.mtu);
  const MutableOctets out = packet_.buffer.octets().subspan(kHeaderSize, here);
  if (offload.cut != Offload::Cut::none) {
    const MutableOctets whole = MutableOctets(uncut_).subspan(options_.mtu - here, size);
    std::ranges::copy(out, whole.begin());
    if (segmenter_.begin(whole, offload, options_.mtu)) {
      ++statistics_.cut;
      return true;
    }
  } else if (size == here && (!offload.checksum || complete_checksum(out, offload))) {
    packet_.length = static_cast<std::uint32_t>(size);
    return route();
  }
  // Drops the packet. Either its contents do not match `offload`, or the packet or a segment of it is longer than
  // options_.mtu. The latter happens if the MTU of the device has been raised.
  ++statistics_.invalid;
  return true;
}

/// Handles the packet in packet_. False if it is held.
bool LinkState::route() {
  const auto ip = parse_ip(contents(packet_));
  if (!ip) {
    ++statistics_.invalid;
    return true;
  }
  if (ip->multicast) {  // [4755-7-b] [4755-2.1-a] multicast requires UD, which the fabrics lack
    ++statistics_.multicast;
    return true;
  }
  packet_.type = ip->type;
  const Neighbours::Entry* const neighbour = neighbours_.find(ip->destination);
  if (neighbour == nullptr) {
    statistics_.no_neighbour += 1 + segmenter_.drop();
    report(IcmpError::unreachable, 0, contents(packet_));
    return true;
  }
  if (last_ != neighbour->peer && std::exchange(last_, neighbour->peer) != nullptr)
    several_until_ = Peer::Clock::now() + kTogether;
  return send_to(*neighbour->peer) || !hold(*neighbour->peer);
}

/// Sends packet_ to the peer, or queues it until there is a connection, or drops it. Does none of these and returns
/// false if the connection has no room at present and the peer is not stalled: the caller then holds or drops it.
bool LinkState::send_to(Peer& peer) {
  Connection* const connection = peer.usable();
  if (connection == nullptr) {
    wait_for_connection(peer);
    return true;
  }
  if (!connection->has_room()) {
    if (!peer.stalled) return false;
    ++statistics_.stalled;
    return true;
  }
  if (transmit(*connection, packet_))
    touched_.push_back(connection);
  else
    statistics_.too_big += segmenter_.drop();
  return true;
}

/// Posts a packet. If it exceeds the MTU of the connection, drops it and returns false. Requires has_room().
bool LinkState::transmit(Connection& connection, Packet& packet) {
  if (packet.length > connection.mtu()) {  // [4755-7.2-a] report() tells the stack the MTU of this destination
    ++statistics_.too_big;
    report(IcmpError::too_big, connection.mtu(), contents(packet));
    return false;
  }
  ++statistics_.sent;
  statistics_.sent_bytes += packet.length;
  connection.send(packet);
  return true;
}

void LinkState::wait_for_connection(Peer& peer) {
  if (!peer.in_progress() && peer.rejections == 0 && !connect(peer)) {
    statistics_.unreachable += 1 + segmenter_.drop();
    return report(IcmpError::unreachable, 0, contents(packet_));
  }
  if (peer.waiting_count == kWaiting) {
    ++statistics_.unreachable;
    return;
  }
  if (peer.waiting_count == peer.waiting.size()) {
    auto buffer = pool_.allocate(limits().receive_mtu);
    if (!buffer) {
      ++statistics_.unreachable;
      return;
    }
    peer.waiting.push_back({std::move(*buffer), 0, packet_.type});
  }
  std::swap(peer.waiting[peer.waiting_count++], packet_);
}

void LinkState::send_waiting(Peer& peer, Connection& connection) {
  const std::size_t count = std::exchange(peer.waiting_count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (connection.has_room())
      transmit(connection, peer.waiting[i]);
    else
      ++statistics_.stalled;
  }
  connection.submit();
}

void LinkState::drop_waiting(Peer& peer) noexcept {
  for (std::size_t i = 0; i < peer.waiting_count; ++i) report(IcmpError::unreachable, 0, contents(peer.waiting[i]));
  statistics_.unreachable += std::exchange(peer.waiting_count, 0);
}

void LinkState::report(IcmpError error, std::uint32_t mtu, Octets packet) noexcept {
  const Octets message = Octets(icmp_).first(make_icmp_error(error, mtu, packet, icmp_));
  if (!message.empty()) device_.write({&message, 1}, {});
}

std::chrono::steady_clock::duration LinkState::tick() const noexcept {
  using Duration = std::chrono::steady_clock::duration;
  return std::max(Duration(options_.stall) / kTicks, Duration(std::chrono::milliseconds(1)));
}

/// Holds packet_ until `peer` has room, until its connection ends, or until a time limit. The link reads no packets
/// from the device meanwhile, so packets for the other peers wait too. Returns false if `peer` has used up the time for
/// which it may delay the other peers. The packet is then dropped.
bool LinkState::hold(Peer& peer) {
  const auto now = Peer::Clock::now();
  auto until = peer.patience.begin(now);
  if (now >= several_until_) until = now + options_.stall;
  if (!until) {
    peer.stalled = true;
    ++statistics_.stalled;
    return false;
  }
  held_for_ = &peer;
  held_ticks_ = (*until - now) / tick() + 1;
  ++statistics_.pauses;
  if (!stall_timer_runs_) await_stall();
  return true;
}

/// Tries again to send the held packet to its peer. If the peer still has no room and its time is not over, the packet
/// stays held. Otherwise send_to() has dealt with the packet, and the link reads from the device again.
void LinkState::resume() {
  Peer& peer = *held_for_;
  if (!send_to(peer)) return;
  peer.patience.end(Peer::Clock::now());
  held_for_ = nullptr;
  read_batch();
}

/// Starts one run of the timer that limits how long hold() holds a packet. A run that has started continues when the
/// hold ends, and may serve the next hold, because setting a timer for each hold would take longer than most holds
/// last.
///
/// The limit is a number of runs instead of a time, because the process may not be scheduled for some time, and then
/// does not notice that the peer has room. However long that takes, it counts as one run at most.
void LinkState::await_stall() {
  stall_timer_runs_ = true;
  stall_timer_.expires_after(tick());
  stall_timer_.async_wait(stall_guard_.wrap_in_own_memory([](LinkState& link, error_code failed) {
    link.stall_timer_runs_ = false;
    if (failed || link.held_for_ == nullptr) return;
    if (--link.held_ticks_ > 0) return link.await_stall();
    link.held_for_->stalled = true;
    link.resume();
  }));
}

void LinkState::room(Peer& peer) noexcept {
  peer.stalled = false;
  if (held_for_ == &peer) resume();
}

}  // namespace rpcrdma::ipoib
