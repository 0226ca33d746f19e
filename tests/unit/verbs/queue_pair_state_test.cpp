// SPDX-License-Identifier: BSD-3-Clause
// Walks the table of a queue pair's transitions.
#include "queue_pair_state.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace rpcrdma::fabric::verbs {
namespace {

using State = QueuePairState;
using Event = QueuePairEvent;

constexpr auto kStates = static_cast<int>(State::ended) + 1;
constexpr auto kEvents = static_cast<int>(Event::end) + 1;

std::optional<State> walk(const std::vector<Event>& events) {
  std::optional<State> state = State::idle;
  for (const Event event : events)
    if (state) state = next_state(*state, event);
  return state;
}

TEST(QueuePairState, EachTransitionOfTheTableIsTakenAndNoOther) {
  std::set<std::pair<State, Event>> listed;
  for (const auto& [from, event, to] : kQueuePairTransitions) {
    EXPECT_TRUE(listed.emplace(from, event).second) << "ambiguous";
    EXPECT_EQ(next_state(from, event), to);
  }
  for (int state = 0; state < kStates; ++state)
    for (int event = 0; event < kEvents; ++event) {
      const auto from = static_cast<State>(state);
      const auto what = static_cast<Event>(event);
      if (what == Event::end)
        EXPECT_EQ(next_state(from, what).has_value(), from != State::ended) << state;
      else
        EXPECT_EQ(next_state(from, what).has_value(), listed.contains({from, what})) << state << ' ' << event;
    }
}

TEST(QueuePairState, EveryStateIsReachedAndLeadsToTheEnd) {
  std::set<State> reached{State::idle};
  for (int round = 0; round < kStates; ++round)
    for (const auto& [from, event, to] : kQueuePairTransitions)
      if (reached.contains(from)) reached.insert(to);
  for (const State state : std::set(reached)) reached.insert(next_state(state, Event::end).value_or(state));
  EXPECT_EQ(reached.size(), static_cast<std::size_t>(kStates));
}

TEST(QueuePairState, Handshakes) {
  EXPECT_EQ(walk({Event::start_connector, Event::address_resolved, Event::route_resolved, Event::peer_accepted}),
            State::established);
  EXPECT_EQ(walk({Event::start_connector, Event::address_resolved, Event::route_resolved, Event::peer_replied,
                  Event::settled}),
            State::established);
  EXPECT_EQ(walk({Event::start_acceptor, Event::peer_accepted}), State::established);
  // An event of the handshake has no effect when it is out of order.
  EXPECT_EQ(walk({Event::start_connector, Event::route_resolved}), std::nullopt);
  EXPECT_EQ(walk({Event::start_acceptor, Event::peer_accepted, Event::peer_accepted}), std::nullopt);
  EXPECT_EQ(walk({Event::end, Event::peer_accepted}), std::nullopt);
}

TEST(QueuePairState, OrderlyEndAndFaults) {
  const std::vector<Event> established{Event::start_acceptor, Event::peer_accepted};
  auto events = established;
  events.insert(events.end(), {Event::disconnect, Event::drained});
  EXPECT_EQ(walk(events), State::hanging_up);
  // After rdma_disconnect(), flushed work is not a fault.
  EXPECT_EQ(next_state(State::hanging_up, Event::device_flushed), std::nullopt);
  for (const State state : {State::established, State::draining})
    EXPECT_EQ(next_state(state, Event::device_flushed), State::peer_fault);
}

TEST(QueuePairState, WhatTheStatesAllow) {
  for (int state = 0; state < kStates; ++state) {
    const auto at = static_cast<State>(state);
    EXPECT_EQ(is_connected(at),
              at == State::established || at == State::draining || at == State::hanging_up || at == State::peer_fault);
    EXPECT_EQ(takes_work(at), at != State::hanging_up && at != State::peer_fault && at != State::ended);
  }
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
