// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <string>

namespace rpcrdma::ipoib {

/// The counters of a link. The counters from `multicast` to `not_taken` count dropped packets by reason, each packet at
/// most once.
struct Statistics {
  std::uint64_t sent = 0;            ///< packets given to the fabric
  std::uint64_t sent_bytes = 0;      ///< bytes of these packets, without encapsulation
  std::uint64_t received = 0;        ///< packets passed to the stack
  std::uint64_t received_bytes = 0;  ///< bytes of these packets, without encapsulation
  std::uint64_t cut = 0;             ///< packets from the stack that were cut; `sent` counts the pieces
  std::uint64_t joined = 0;          ///< packets passed to the stack that were joined; `received` counts the pieces
  std::uint64_t pauses = 0;          ///< how often reading the device stopped because a peer had no room

  std::uint64_t multicast = 0;     ///< packets from the stack to multicast and broadcast addresses, which need UD
  std::uint64_t no_neighbour = 0;  ///< packets from the stack to addresses that no neighbour has
  std::uint64_t unreachable = 0;   ///< packets from the stack that got no connection, or no room to wait for one
  std::uint64_t too_big = 0;       ///< packets from the stack larger than the MTU of the connection
  /// Packets from the stack that were dropped for lack of room at the peer: the peer had had no room for too long, or
  /// more packets waited for a connection than the new connection had room for.
  std::uint64_t stalled = 0;
  std::uint64_t lost = 0;     ///< packets whose connection ended before they were sent
  std::uint64_t invalid = 0;  ///< packets from the stack that are not IP, exceed the MTU, or contradict their Offload

  /// Received frames that are too short for their headers, or whose packet does not have the IP version that the
  /// encapsulation header names.
  std::uint64_t bad_frames = 0;
  std::uint64_t bad_types = 0;    ///< received frames that are not IP, or carry a multicast packet
  std::uint64_t bad_sources = 0;  ///< received packets with a source address that is not the peer's
  std::uint64_t not_taken = 0;    ///< received packets that the stack did not accept

  std::uint64_t connected = 0;          ///< connections made by a request of this side
  std::uint64_t accepted = 0;           ///< connections made by a request of a peer
  std::uint64_t rejected = 0;           ///< requests of this side that a peer rejected
  std::uint64_t failed = 0;             ///< requests of this side that failed for another reason
  std::uint64_t refused_crossing = 0;   ///< requests refused because they crossed a request of this side
  std::uint64_t refused_unknown = 0;    ///< requests refused: the sender's address is unknown and cannot be learnt
  std::uint64_t refused_mtu = 0;        ///< requests refused because of their Receive MTU
  std::uint64_t refused_malformed = 0;  ///< requests refused because of their private data
  std::uint64_t refused_busy = 0;  ///< requests refused: no memory, another was being accepted, or accepting failed
  std::uint64_t ended = 0;         ///< established connections that ended, except those replaced by a new request
  std::uint64_t idle = 0;          ///< ended connections that this side closed because they were idle

  /// The counters as "name=value name=value ...".
  std::string text() const;
};

}  // namespace rpcrdma::ipoib
