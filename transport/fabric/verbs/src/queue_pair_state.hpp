// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace rpcrdma::fabric::verbs {

/// The states of a queue pair, in the order of its life. The comment on each state says what the queue pair waits for.
enum class QueuePairState : std::uint8_t {
  idle,         ///< start()
  resolving,    ///< ADDR_RESOLVED
  routing,      ///< ROUTE_RESOLVED
  connecting,   ///< ESTABLISHED, after rdma_connect
  accepting,    ///< ESTABLISHED, after rdma_accept
  settling,     ///< the timer that delays an iWARP connector's first Send
  established,  ///< work
  draining,     ///< after disconnect(): an empty send queue, or the end of a time limit
  hanging_up,   ///< after rdma_disconnect: DISCONNECTED, or the end of a time limit
  peer_fault,   ///< after an iWARP device has flushed work unasked: DISCONNECTED, or the end of a time limit
  ended,        ///< no event: at most the rdma_cm id remains, and the last callbacks run from the io_context
};

enum class QueuePairEvent : std::uint8_t {
  start_connector,
  start_acceptor,
  address_resolved,
  route_resolved,
  connect_failed,  ///< rdma_connect has returned an error, so no handshake is in progress any more
  peer_replied,    ///< the peer has accepted the request of an iWARP connector
  peer_accepted,   ///< the peer has accepted the request of an InfiniBand connector, or an acceptor is connected
  settled,
  disconnect,
  drained,
  device_flushed,  ///< an iWARP device has flushed work before this side has called rdma_disconnect
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
/// Returns whether submit() passes posted work to the device. In the states after `draining`, it does not. The end of
/// the connection then completes this work with FabricError::flushed.
constexpr bool takes_work(QueuePairState state) noexcept { return state <= QueuePairState::draining; }

}  // namespace rpcrdma::fabric::verbs
