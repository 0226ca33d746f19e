// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace rpcrdma::fabric::iwarp {

/// The life of a stream, from its queue pair's creation to the end of its connection.
///
///     state         meaning
///     idle          The user has not started the queue pair.
///     connecting    The handshake with the peer is in progress.
///     established   The handshake has succeeded, and the user can post work.
///     draining      The user has called disconnect(). Posted work and the peer's Reads are still being completed.
///     peer_ended    As draining, but the peer has ended its direction of the TCP connection.
///     shut_down     This side has ended its direction of the TCP connection. The peer has not ended its own yet.
///     closed        The connection has ended.
class StreamState {
 public:
  enum class Name : std::uint8_t { idle, connecting, established, draining, peer_ended, shut_down, closed };
  enum class Event : std::uint8_t {
    start,       ///< the user starts the queue pair
    establish,   ///< the handshake succeeded
    disconnect,  ///< the user ends the connection in an orderly way
    drained,     ///< all posted work except receives is complete, and all Reads of the peer are answered
    peer_end,    ///< the peer ended its direction between two frames
    end,         ///< anything that ends the connection at once
  };
  static constexpr std::size_t kNames = 7;
  static constexpr std::size_t kEvents = 6;

  Name name() const noexcept { return name_; }
  /// The state after `event`: the present state if the event has no effect.
  Name after(Event event) const noexcept {
    return kTransitions[static_cast<std::size_t>(name_)][static_cast<std::size_t>(event)];
  }
  /// Enters the state after `event`; false if the event has no effect.
  bool enter(Event event) noexcept {
    const Name next = after(event);
    if (next == name_) return false;
    name_ = next;
    return true;
  }

  bool over() const noexcept { return name_ == Name::closed; }
  /// Whether work other than receives may be posted.
  bool accepts_work() const noexcept { return name_ == Name::established; }
  /// Whether frames may be written to the socket.
  bool transmits() const noexcept { return name_ >= Name::established && name_ <= Name::peer_ended; }
  /// False if the stream no longer reads from the socket.
  bool reads() const noexcept { return name_ != Name::peer_ended && name_ != Name::closed; }
  /// Whether an orderly end has begun and is not over.
  bool ending() const noexcept { return name_ >= Name::draining && name_ <= Name::shut_down; }

 private:
  using enum Name;
  static constexpr std::array<std::array<Name, kEvents>, kNames> kTransitions{{
      // Each row holds the next states for one present state, which the comment after the row names. The columns are
      // the events start, establish, disconnect, drained, peer_end and end.
      {connecting, idle, closed, idle, idle, closed},                     // idle
      {connecting, established, closed, connecting, connecting, closed},  // connecting
      {established, established, draining, established, closed, closed},  // established
      {draining, draining, draining, shut_down, peer_ended, closed},      // draining
      {peer_ended, peer_ended, peer_ended, closed, peer_ended, closed},   // peer_ended
      {shut_down, shut_down, shut_down, shut_down, closed, closed},       // shut_down
      {closed, closed, closed, closed, closed, closed},                   // closed
  }};

  Name name_ = idle;
};

}  // namespace rpcrdma::fabric::iwarp
