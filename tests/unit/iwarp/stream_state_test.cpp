// SPDX-License-Identifier: BSD-3-Clause
#include "stream/stream_state.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace rpcrdma::fabric::iwarp {
namespace {

using Name = StreamState::Name;
using Event = StreamState::Event;

/// All transitions except those by Event::end, which leads to `closed` from every state. Another event that is not
/// listed leaves the state as it is.
const std::map<std::pair<Name, Event>, Name> kExpected{
    {{Name::idle, Event::start}, Name::connecting},
    {{Name::idle, Event::disconnect}, Name::closed},
    {{Name::connecting, Event::establish}, Name::established},
    {{Name::connecting, Event::disconnect}, Name::closed},
    {{Name::established, Event::disconnect}, Name::draining},
    {{Name::established, Event::peer_end}, Name::closed},
    {{Name::draining, Event::drained}, Name::shut_down},
    {{Name::draining, Event::peer_end}, Name::peer_ended},
    {{Name::peer_ended, Event::drained}, Name::closed},
    {{Name::shut_down, Event::peer_end}, Name::closed},
};

/// The events that lead from the initial state to each state.
const std::map<Name, std::vector<Event>> kPaths{
    {Name::idle, {}},
    {Name::connecting, {Event::start}},
    {Name::established, {Event::start, Event::establish}},
    {Name::draining, {Event::start, Event::establish, Event::disconnect}},
    {Name::peer_ended, {Event::start, Event::establish, Event::disconnect, Event::peer_end}},
    {Name::shut_down, {Event::start, Event::establish, Event::disconnect, Event::drained}},
    {Name::closed, {Event::end}},
};

StreamState in(Name name) {
  StreamState state;
  for (const Event event : kPaths.at(name)) EXPECT_TRUE(state.enter(event));
  EXPECT_EQ(state.name(), name);
  return state;
}

TEST(StreamStates, TheWholeTable) {
  ASSERT_EQ(kPaths.size(), StreamState::kNames);
  for (const auto& [from, path] : kPaths) {
    for (std::size_t i = 0; i < StreamState::kEvents; ++i) {
      const auto event = static_cast<Event>(i);
      const auto found = kExpected.find({from, event});
      const Name to = found != kExpected.end() ? found->second : event == Event::end ? Name::closed : from;
      StreamState state = in(from);
      EXPECT_EQ(state.after(event), to) << static_cast<int>(from) << " by " << i;
      EXPECT_EQ(state.enter(event), to != from) << static_cast<int>(from) << " by " << i;
      EXPECT_EQ(state.name(), to);
    }
  }
}

TEST(StreamStates, WhatEachStateAllows) {
  const std::set<Name> transmit{Name::established, Name::draining, Name::peer_ended};
  const std::set<Name> read{Name::idle, Name::connecting, Name::established, Name::draining, Name::shut_down};
  const std::set<Name> ending{Name::draining, Name::peer_ended, Name::shut_down};
  for (const auto& [name, path] : kPaths) {
    const StreamState state = in(name);
    EXPECT_EQ(state.accepts_work(), name == Name::established);
    EXPECT_EQ(state.transmits(), transmit.contains(name));
    EXPECT_EQ(state.reads(), read.contains(name));
    EXPECT_EQ(state.ending(), ending.contains(name));
    EXPECT_EQ(state.over(), name == Name::closed);
  }
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
