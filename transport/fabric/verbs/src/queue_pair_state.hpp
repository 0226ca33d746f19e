// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace rpcrdma::fabric::verbs {

/// The states of a queue pair, in the order of its life, each with the event that it waits for.
enum class QueuePairState : std::uint8_t {
  idle,         ///< start()
  resolving,    ///< ADDR_RESOLVED
  routing,      ///< ROUTE_RESOLVED
  connecting,   ///< ESTABLISHED, after rdma_connect
  accepting,    ///< ESTABLISHED, after rdma_accept
  settling,     ///< the timer that delays an iWARP connector's first Send
  established,  ///< work
  draining,     ///< an empty send queue, after disconnect()
  hanging_up,   ///< DISCONNECTED after rdma_disconnect, or the timer
  peer_fault,   ///< DISCONNECTED after an iWARP device flushed work, or the timer
  ended,        ///< no event: at most the rdma_cm id remains, and the last callbacks run from the io_context
};

enum class QueuePairEvent : std::uint8_t {
  start_connector,
  start_acceptor,
  address_resolved,
  route_resolved,
  connect_failed,  ///< rdma_connect has returned an error: the kernel has forgotten the handshake
  peer_replied,    ///< iWARP connector: the peer has accepted
  peer_accepted,   ///< InfiniBand connector: the peer has accepted; acceptor: the peer has confirmed
  settled,
  disconnect,
  drained,
  device_flushed,  ///< an iWARP device flushes work without a request to disconnect from this side
  end,
};

struct QueuePairTransition {
  QueuePairState from;
  QueuePairEvent event;
  QueuePairState to;
};

/// All transitions except those of the event `end`, which leads to `ended` from every other state.
inline constexpr auto kQueuePairTransitions = [] {
  using State = QueuePairState;
  using Event = QueuePairEvent;
  return std::to_array<QueuePairTransition>({
      {State::idle, Event::start_connector, State::resolving},
      {State::idle, Event::start_acceptor, State::accepting},
      {State::resolving, Event::address_resolved, State::routing},
      {State::routing, Event::route_resolved, State::connecting},
      {State::connecting, Event::connect_failed, State::routing},
      {State::connecting, Event::peer_replied, State::settling},
      {State::connecting, Event::peer_accepted, State::established},
      {State::accepting, Event::peer_accepted, State::established},
      {State::settling, Event::settled, State::established},
      {State::established, Event::disconnect, State::draining},
      {State::established, Event::device_flushed, State::peer_fault},
      {State::draining, Event::drained, State::hanging_up},
      {State::draining, Event::device_flushed, State::peer_fault},
  });
}();

/// The state after `event`; nullopt if `event` has no effect in `state`.
constexpr std::optional<QueuePairState> next_state(QueuePairState state, QueuePairEvent event) noexcept {
  if (event == QueuePairEvent::end) {
    if (state == QueuePairState::ended) return std::nullopt;
    return QueuePairState::ended;
  }
  for (const QueuePairTransition& transition : kQueuePairTransitions)
    if (transition.from == state && transition.event == event) return transition.to;
  return std::nullopt;
}

/// True from on_established until the end of the connection.
constexpr bool is_connected(QueuePairState state) noexcept {
  return state >= QueuePairState::established && state < QueuePairState::ended;
}
/// Whether posted work is still passed to the device.
constexpr bool takes_work(QueuePairState state) noexcept { return state <= QueuePairState::draining; }

}  // namespace rpcrdma::fabric::verbs
