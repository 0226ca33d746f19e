// SPDX-License-Identifier: BSD-3-Clause
#include "random_rules.hpp"

#include <algorithm>

namespace rpcrdma::proxy {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

/// The finalizer of SplitMix64.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

template <std::size_t N>
Kind pick(Dice& dice, const Kind (&kinds)[N]) {
  return kinds[dice.below(N)];
}

Rule random_cut(Dice& dice, bool in_start_up) {
  static constexpr Kind kKinds[] = {Kind::call,  Kind::reply,       Kind::read_request, Kind::read_response,
                                    Kind::write, Kind::mpa_request, Kind::mpa_reply};
  Rule rule;
  rule.kind = kKinds[dice.below(in_start_up ? 7 : 5)];
  const bool start_up = rule.kind == Kind::mpa_request || rule.kind == Kind::mpa_reply;
  rule.nth = start_up ? 1 : dice.between(1, 40);
  rule.after = dice.below(3) == 0 ? 0 : dice.below(start_up ? 20 : 200);
  rule.reset = dice.below(2) == 0;
  return rule;
}

/// A rule that flips a bit so that the receiver is certain to detect the change. Either the rule leaves the CRC wrong
/// and applies only to frames with a CRC, or it corrects the CRC and changes a header field that the receiver checks.
Rule random_flip(Dice& dice) {
  static constexpr Kind kKinds[] = {Kind::call, Kind::reply, Kind::read_request, Kind::read_response, Kind::write};
  static constexpr Field kFields[] = {Field::ddp_version, Field::rdmap_version, Field::msn};
  Rule rule;
  rule.action = Action::flip;
  rule.kind = pick(dice, kKinds);
  rule.nth = dice.between(1, 40);
  rule.fix_crc = dice.below(2) == 0;
  rule.only_with_crc = !rule.fix_crc;
  const bool has_msn = rule.kind != Kind::read_response && rule.kind != Kind::write;
  if (rule.fix_crc) rule.field = kFields[dice.below(has_msn ? 3 : 2)];
  return rule;
}

Rule random_hold(Dice& dice) {
  static constexpr Kind kKinds[] = {Kind::call, Kind::reply, Kind::write, Kind::read_request, Kind::read_response};
  Rule rule;
  rule.action = Action::hold;
  rule.kind = pick(dice, kKinds);
  rule.nth = dice.between(1, 40);
  rule.time = std::chrono::milliseconds(dice.between(1, 100));
  rule.bytes = dice.below(2) == 0 ? 0 : dice.between(1, 100000);
  return rule;
}

Rule random_segmentation(Dice& dice, Action action) {
  static constexpr Kind kKinds[] = {Kind::call, Kind::reply};
  Rule rule;
  rule.action = action;
  if (dice.below(2) == 0) rule.side = dice.below(2) == 0 ? Side::to_server : Side::to_client;
  rule.nth = dice.between(1, 40);
  rule.count = dice.between(1, 50);
  rule.time = std::chrono::milliseconds(action == Action::split ? 0 : dice.between(1, 20));
  // With a probability of 2/3, a split rule has no `size`. The proxy then cuts into pieces of random sizes.
  if (action != Action::split || dice.below(3) != 0) return rule;
  rule.kind = pick(dice, kKinds);
  rule.count = dice.between(1, 4);
  rule.size = dice.between(1, 20);
  return rule;
}

Rule random_credits(Dice& dice) {
  Rule rule;
  rule.action = Action::credits;
  rule.kind = Kind::reply;
  rule.nth = dice.between(1, 40);
  rule.count = dice.between(1, 100);
  rule.grant = dice.between(1, 8);
  return rule;
}

Rule random_rule(Dice& dice, bool in_start_up) {
  switch (dice.below(8)) {
    case 0:
    case 1: return random_cut(dice, in_start_up);
    case 2: return random_flip(dice);
    case 3: return random_hold(dice);
    case 4: return random_segmentation(dice, Action::split);
    case 5: return random_segmentation(dice, dice.below(2) == 0 ? Action::join : Action::delay);
    case 6: return random_credits(dice);
    default: break;
  }
  Rule rule;
  rule.action = Action::drop_reply;
  rule.nth = dice.between(1, 10);
  return rule;
}

}  // namespace

Dice::Dice(std::uint64_t seed, std::initializer_list<std::uint64_t> purpose) noexcept : state_(mix(seed + kGolden)) {
  for (const std::uint64_t word : purpose) state_ = mix(state_ + word + kGolden);
}

std::uint64_t Dice::next() noexcept { return mix(state_ += kGolden); }

std::uint32_t Dice::between(std::uint32_t least, std::uint32_t most) noexcept {
  return least + below(1 + below(most - least + 1));
}

std::vector<Rule> random_rules(const RandomRule& random, std::uint64_t seed, std::uint32_t connection) {
  std::vector<Rule> rules;
  if (connection > random.connections) return rules;
  Dice dice(seed, {connection});
  for (std::uint32_t left = 1 + dice.below(random.each); left > 0; --left) {
    rules.push_back(random_rule(dice, random.start_up && connection > 1));
    rules.back().connection = connection;
    if (random.without && rules.back().kind == random.without) rules.pop_back();
  }
  return rules;
}

}  // namespace rpcrdma::proxy
