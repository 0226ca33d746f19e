// SPDX-License-Identifier: BSD-3-Clause
// Tests the decisions of WaitPolicy in a model with virtual time: a client calls a server, on machines where a wake-up
// costs from 1 to 300 microseconds.
#include "rpcrdma/base/wait_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rpcrdma {
namespace {

using namespace std::chrono_literals;
using Duration = WaitPolicy::Duration;
using TimePoint = WaitPolicy::TimePoint;

struct Machine {
  Duration wake_up;            ///< cost of a wake-up
  Duration believed;           ///< the cost of a wake-up that the policy assumes
  Duration work = 5us;         ///< time that client and server each work on a message
  Duration slice{};            ///< time slice of other threads that compute on the same processors; zero: none
  bool one_processor = false;  ///< client and server share a processor
};

struct Party {
  explicit Party(const Machine& machine, Polling polling = {}) : policy(polling, machine.believed, TimePoint{}) {}
  /// Reports polls that found nothing, until the policy no longer polls.
  void exhaust() {
    while (policy.window(waits_since) != Duration::zero()) policy.missed(1us);
  }
  WaitPolicy policy;
  TimePoint waits_since{};
  Duration in_vain{};
  Duration polled{};  ///< time spent in polls
  int paid = 0;       ///< polls that found work
  int displaced = 0;
};

class Model {
 public:
  explicit Model(const Machine& machine, Polling polling = {})
      : machine_(machine), client(machine, polling), server(machine, polling) {}

  /// Makes one call after the client has waited for `think`; returns how long the call takes.
  Duration call(Duration think = {}) {
    now_ += think;
    if (think != Duration::zero()) client_idles(think);
    const TimePoint start = now_;
    now_ += machine_.work;
    server_since(server_ready_);
    arrives(server);
    now_ += machine_.work;
    server_ready_ = now_;
    client.waits_since = start + machine_.work;
    arrives(client);
    return now_ - start;
  }
  /// Makes calls until 50 calls in a row have cost no wake-up, or until the time `most` is over. Returns the virtual
  /// time that the calls have taken.
  Duration settles_in(Duration most) {
    const TimePoint start = now_;
    for (int settled = 0; settled < 50 && now_ - start < most;) settled = call() <= 2 * machine_.work ? settled + 1 : 0;
    return now_ - start;
  }
  /// Returns the mean duration of the calls made during `time`.
  Duration mean_in(Duration time, Duration think = {}) {
    const TimePoint end = now_ + time;
    Duration sum{};
    int calls = 0;
    for (; now_ < end; ++calls) sum += call(think);
    return sum / calls;
  }
  TimePoint now() const { return now_; }

 private:
  const Machine machine_;

 public:
  Party client, server;

 private:
  void server_since(TimePoint since) { server.waits_since = since; }

  /// Models a wait of the client for a timer, which began `think` before now_ and ends at now_. If the client's policy
  /// asks for a poll in this wait, counts the poll.
  void client_idles(Duration think) {
    const TimePoint since = now_ - think;
    const Duration window = client.policy.window(since);
    if (window == Duration::zero()) return;
    end_poll(client, think, window);
  }

  /// Delivers a message to `party` at now_; advances now_ to the time when `party` runs.
  void arrives(Party& party) {
    const Duration waited = now_ - party.waits_since;
    const Duration window = party.policy.window(party.waits_since);
    // When `party` polls and yields the processor, another thread computes for a whole time slice.
    if (window != Duration::zero() && machine_.slice != Duration::zero()) {
      now_ = std::max(now_, party.waits_since + machine_.slice);
      ++party.displaced;
      return party.policy.displaced(now_, now_ - party.waits_since);
    }
    const bool taken_in_turn = window != Duration::zero() && machine_.one_processor;
    if (window == Duration::zero() || !end_poll(party, taken_in_turn ? Duration::zero() : waited, window))
      now_ += machine_.wake_up;
  }

  /// Models the end of a poll by `party`, which lasts at most `window`. The message arrives when the party has waited
  /// for `waited`. Tells the policy whether the poll has found the message. Returns true if it has.
  static bool end_poll(Party& party, Duration waited, Duration window) {
    party.polled += std::min(waited, window);
    if (waited <= window) {
      ++party.paid;
      party.policy.found();
      return true;
    }
    party.in_vain += window;
    party.policy.missed(window);
    return false;
  }

  TimePoint now_{};
  TimePoint server_ready_{};
};

std::vector<Machine> machines() {
  std::vector<Machine> all;
  for (const Duration wake_up : {1us, 5us, 20us, 50us, 140us, 300us})
    for (const int error : {-2, 1, 2})  // -2: the policy assumes half the true cost; 2: twice the true cost
      for (const Duration work : {1us, 5us, 35us})
        all.push_back({wake_up, error < 0 ? Duration(wake_up) / 2 : error * Duration(wake_up), work});
  return all;
}

std::string name_of(const Machine& machine) {
  return std::to_string(machine.wake_up.count()) + " ns, believed " + std::to_string(machine.believed.count()) +
         ", work " + std::to_string(machine.work.count());
}

TEST(WaitPolicy, TwoThatSleepFindTheWayOut) {
  for (const Machine& machine : machines()) {
    Model model(machine);
    model.client.exhaust();
    model.server.exhaust();
    EXPECT_EQ(model.call(), 2 * machine.work + 2 * machine.wake_up) << name_of(machine);
    EXPECT_LT(model.settles_in(1s), 200ms) << name_of(machine);
  }
}

TEST(WaitPolicy, TwoThatPollContinue) {
  for (const Machine& machine : machines()) {
    Model model(machine);
    EXPECT_EQ(model.mean_in(20ms), 2 * machine.work) << name_of(machine);
  }
}

TEST(WaitPolicy, TheyFindTheWayBackAfterAPause) {
  for (const Machine& machine : machines()) {
    Model model(machine);
    model.mean_in(10ms);
    model.mean_in(1s, 10ms);
    EXPECT_LT(model.settles_in(1s), 200ms) << name_of(machine);
  }
}

// Bounds the time that a party spends in polls that find nothing. The bound is the sum of three terms: 2 % of the total
// time, the assumed cost of a wake-up (at least 2 us) for each poll that found a message, and an allowance for a few
// polls at the start.
TEST(WaitPolicy, PollsLittleWhereCallsAreRare) {
  for (const Machine& machine : machines()) {
    for (const int rate : {100, 1000}) {
      const Duration think = Duration(1s) / rate;
      Model model(machine);
      model.mean_in(1s, think);
      for (const Party* party : {&model.client, &model.server}) {
        const Duration saved = party->paid * std::max<Duration>(machine.believed, 2us);
        const Duration at_first = 9 * (2 * machine.believed + 50us);
        EXPECT_LE(party->in_vain, (model.now() - TimePoint{}) / 50 + saved + at_first)
            << name_of(machine) << ", " << rate;
      }
    }
  }
}

// A thread polls for at most 5 % of the time. The exception is 10,000 calls a second whose mean duration shows that
// polling has saved nearly all wake-ups. A thread may then poll all the time.
TEST(WaitPolicy, WhatPollingCostsAtDifferentRates) {
  for (const int rate : {100, 1000, 10'000}) {
    for (const Duration wake_up : {5us, 20us, 50us, 140us}) {
      const Machine machine{wake_up, wake_up};
      Model model(machine);
      const Duration mean = model.mean_in(5s, Duration(1s) / rate);
      for (const Party* party : {&model.client, &model.server}) {
        const bool pays = rate == 10'000 && mean < 2 * machine.work + wake_up / 10;
        EXPECT_LE(party->polled, (model.now() - TimePoint{}) * (pays ? 100 : 5) / 100)
            << rate << " calls a second, " << name_of(machine);
      }
    }
  }
}

TEST(WaitPolicy, UsesNothingWhenIdle) {
  WaitPolicy policy({}, 50us, TimePoint{});
  Duration polled{};
  TimePoint now{};
  for (int i = 0; i < 1000; ++i, now += 1s) {
    const Duration window = policy.window(now);
    polled += window;
    policy.missed(window);
  }
  EXPECT_LE(polled, 1000 * 140us) << "at most one poll of 140 us in each wait";
}

TEST(WaitPolicy, OnOneProcessorTheyTakeTurns) {
  for (Machine machine : machines()) {
    machine.one_processor = true;
    Model model(machine);
    model.client.exhaust();
    model.server.exhaust();
    EXPECT_LT(model.settles_in(1s), 200ms) << name_of(machine);
  }
}

// If a thread polls while another thread computes on the same processor, each yield costs the polling thread a time
// slice of 3 ms.
TEST(WaitPolicy, LeavesTheProcessorToAThreadThatComputes) {
  for (Machine machine : machines()) {
    if (machine.work != 35us) continue;  // with less work per call, the model would have to run longer
    machine.slice = 3ms;
    Model model(machine);
    model.mean_in(1500ms);  // runs until the pauses between polls have grown
    model.client.displaced = model.server.displaced = 0;
    const Duration mean = model.mean_in(2s);
    EXPECT_LE(model.client.displaced + model.server.displaced, 6);
    EXPECT_LE(mean, 2 * (machine.work + machine.wake_up) * 101 / 100 + 1us) << name_of(machine);
  }
}

TEST(WaitPolicy, TakesTheProcessorBackWhenItIsFree) {
  WaitPolicy policy({}, 50us, TimePoint{});
  TimePoint now{};
  for (int i = 0; i < 10; ++i) {
    policy.displaced(now, 3ms);
    EXPECT_EQ(policy.window(now), 0us);
    now += 1s;
    EXPECT_GT(policy.window(now), 0us);
    policy.found();
  }
}

TEST(WaitPolicy, Options) {
  EXPECT_EQ(parse_polling("auto"), Polling());
  EXPECT_EQ(parse_polling("off"), Polling::off());
  EXPECT_EQ(parse_polling("1"), Polling::fixed(1us));
  EXPECT_EQ(parse_polling("1000000"), Polling::fixed(1s));
  for (const char* wrong : {"", "on", "0", "-1", "+1", "1000001", "1.5", "10us", " 1", "99999999999999999999"})
    EXPECT_EQ(parse_polling(wrong), std::nullopt) << wrong;
}

TEST(WaitPolicy, IsSwitchedOff) {
  WaitPolicy policy(Polling::off(), 50us, TimePoint{});
  EXPECT_EQ(policy.window(TimePoint{} + 1h), 0us);
}

TEST(WaitPolicy, PollsAsLongAsToldTo) {
  WaitPolicy policy(Polling::fixed(7us), 50us, TimePoint{});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(policy.window(TimePoint{}), 7us);
    policy.missed(7us);
  }
  policy.displaced(TimePoint{}, 3ms);
  EXPECT_EQ(policy.window(TimePoint{}), 0us) << "no polling on a processor that other threads want";
  EXPECT_EQ(policy.window(TimePoint{} + 1s), 7us);
}

TEST(WaitPolicy, MeasuresTheWakeUp) {
  EXPECT_GE(measured_wake_up(), 0us);
  EXPECT_EQ(measured_wake_up(), measured_wake_up());
}

}  // namespace
}  // namespace rpcrdma
