// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <deque>
#include <memory>
#include <unordered_map>

#include "random_rules.hpp"

namespace rpcrdma::proxy {

/// A fault for the current message. `dice` makes its random choices.
struct Fault {
  Rule rule;
  Dice dice;
  std::uint32_t number;  ///< 1 for the first message of this connection and direction that the rule matches
  bool begins;           ///< true for the first message on which the rule acts in this direction of the connection
};

/// What the plans of all connections share: the rules of the script, the seed, and for each rule the number of further
/// connections on which it may act. A random choice depends only on the seed, the rule, the direction, and the numbers
/// of the connection and of the message. It does not depend on the order in which connections and messages arrive.
class Director {
 public:
  Director(Script script, std::uint64_t seed);
  std::uint64_t seed() const noexcept { return seed_; }

 private:
  friend class Plan;
  Script script_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> left_;  // for each rule: the number of further connections on which it may act
};

/// Decides on the faults of one connection. Connections are counted from 1.
class Plan {
 public:
  Plan(Director& director, std::uint32_t connection);
  /// The rules of the script, and the rules that the seed chose for this connection.
  const std::vector<Rule>& rules() const noexcept { return rules_; }
  /// Returns the faults of the message that begins with `frame`, in the order of the rules. Returns none if `frame`
  /// does not begin a message. Must be called for each frame of both directions.
  std::vector<Fault> judge(Side side, const Frame& frame);

 private:
  bool matches(const Rule& rule, Side side, const Frame& frame, const std::optional<Procedure>& answered) const;
  bool takes_turn(std::size_t index);
  std::optional<Procedure> remember(Side side, const Frame& frame);

  // The maximum number of unanswered calls in calls_. A further call displaces the oldest one.
  static constexpr std::size_t kMaxCalls = 4096;

  Director& director_;
  std::uint32_t connection_;
  std::vector<Rule> rules_;
  /// Whether a rule of the script acts on this connection. `open` means that this has not been decided yet. `used_up`
  /// means that the rule does not act, because it has already acted on Rule::times other connections.
  enum class Turn : std::uint8_t { open, acts, used_up };
  std::vector<std::array<std::uint32_t, 2>> seen_;  // for each rule: messages of each direction that it has matched
  std::vector<Turn> turns_;                         // the state of each rule on this connection
  std::unordered_map<std::uint32_t, Procedure> calls_;
  std::deque<std::uint32_t> order_;  // the XIDs in calls_, oldest first
};

}  // namespace rpcrdma::proxy
