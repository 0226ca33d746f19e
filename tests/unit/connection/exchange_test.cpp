// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <map>

#include "rpcrdma/connection/exchange_phase.hpp"
#include "rpcrdma/connection/inline_growth.hpp"

namespace rpcrdma::transport {
namespace {

using enum ExchangePhase;
using enum ExchangeEvent;

constexpr std::array kAllPhases{off, negotiating, heard, announced, active, refused};
constexpr std::array kAllEvents{announce, init, request, response, update, refusal};

// Checks transition() for every phase and event. `taken` lists the events that are taken, with the next phase. Any
// other event leaves the phase as it is. [xchar-4-b] [xchar-4-c] In the phase `off`, a side refuses all four messages
// of the extension. In the other phases, it refuses none of them.
TEST(Exchange, EveryTransition) {
  const std::map<std::pair<ExchangePhase, ExchangeEvent>, ExchangePhase> taken{
      {{negotiating, announce}, announced},
      {{negotiating, init}, heard},
      {{negotiating, request}, negotiating},
      {{negotiating, update}, negotiating},
      {{heard, announce}, active},
      {{heard, request}, heard},
      {{heard, update}, heard},
      {{announced, init}, active},
      {{announced, request}, announced},
      {{announced, update}, announced},
      {{announced, refusal}, refused},
      {{active, request}, active},
      {{active, response}, active},
      {{active, update}, active},
      {{refused, init}, active},
      {{refused, request}, refused},
      {{refused, update}, refused},
  };
  for (const ExchangePhase phase : kAllPhases)
    for (const ExchangeEvent event : kAllEvents) {
      SCOPED_TRACE(static_cast<int>(phase) * 10 + static_cast<int>(event));
      const ExchangeTransition got = transition(phase, event);
      const auto expected = taken.find({phase, event});
      EXPECT_EQ(got.reaction == Reaction::take, expected != taken.end());
      EXPECT_EQ(got.next, expected != taken.end() ? expected->second : phase);
      // [xchar-4-a] without the extension, each of the four messages is refused
      const bool message = event != announce && event != refusal;
      EXPECT_EQ(got.reaction == Reaction::refuse, phase == off && message);
      // A second INIT_XCHAR is an error.
      EXPECT_EQ(got.reaction == Reaction::bad, event == init && (phase == heard || phase == active));
    }
}

TEST(Exchange, EveryPhaseIsReached) {
  std::map<ExchangePhase, bool> reached{{negotiating, true}, {off, true}};
  for (int round = 0; round < 6; ++round)
    for (const ExchangePhase phase : kAllPhases)
      for (const ExchangeEvent event : kAllEvents)
        if (reached.contains(phase)) reached[transition(phase, event).next] = true;
  EXPECT_EQ(reached.size(), kExchangePhases);
}

std::optional<std::uint32_t> after(InlineGrowth& growth, std::uint32_t calls, std::uint64_t size, std::uint32_t limit) {
  std::optional<std::uint32_t> out;
  for (std::uint32_t i = 0; i < calls; ++i)
    if (const auto wanted = growth.on_call(size, limit)) out = wanted;
  return out;
}

TEST(InlineGrowth, GrowsWithManyLargeCalls) {
  InlineGrowth growth(4096, 65536);
  EXPECT_FALSE(after(growth, InlineGrowth::kWindow - InlineGrowth::kEnough + 1, 100, 4096));
  EXPECT_FALSE(after(growth, InlineGrowth::kEnough - 1, 9000, 4096)) << "too few large calls";
  EXPECT_FALSE(after(growth, InlineGrowth::kWindow, 65537, 4096)) << "the call is too long for any Receive";
  EXPECT_EQ(after(growth, InlineGrowth::kWindow, 9000, 4096), 16384u);
  EXPECT_EQ(after(growth, InlineGrowth::kWindow, 40000, 16384), 65536u);
  EXPECT_FALSE(after(growth, InlineGrowth::kWindow, 40000, 65536));
}

TEST(InlineGrowth, WaitsAfterARejection) {
  InlineGrowth growth(4096, 65536);
  growth.pause();
  EXPECT_FALSE(after(growth, InlineGrowth::kPause - InlineGrowth::kWindow, 9000, 4096));
  EXPECT_TRUE(after(growth, 2 * InlineGrowth::kWindow, 9000, 4096));
}

TEST(InlineGrowth, ShrinksWhenNoCallNeedsIt) {
  InlineGrowth growth(4096, 65536);
  EXPECT_FALSE(after(growth, 4 * InlineGrowth::kQuiet, 100, 4096)) << "nothing to shrink";
  EXPECT_FALSE(after(growth, 1, 9000, 16384));
  EXPECT_FALSE(after(growth, InlineGrowth::kQuiet - InlineGrowth::kWindow, 100, 16384));
  EXPECT_EQ(after(growth, 2 * InlineGrowth::kWindow, 100, 16384), 4096u);
}

TEST(InlineGrowth, KeepsTheFirstSize) {
  InlineGrowth growth(16384, 65536);
  EXPECT_FALSE(after(growth, 4 * InlineGrowth::kQuiet, 100, 16384)) << "nothing to shrink";
  EXPECT_FALSE(after(growth, 4 * InlineGrowth::kWindow, 9000, 16384)) << "fits";
  EXPECT_EQ(after(growth, 2 * InlineGrowth::kQuiet, 9000, 65536), 16384u);
}

TEST(InlineGrowth, DoesNotAskForWhatThereIs) {
  InlineGrowth growth(4096, 65536);
  EXPECT_FALSE(after(growth, InlineGrowth::kWindow - 1, 9000, 4096));
  EXPECT_FALSE(after(growth, 1, 9000, 16384)) << "the limit has been raised meanwhile";
}

}  // namespace
}  // namespace rpcrdma::transport
