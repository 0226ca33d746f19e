// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frames.hpp"

namespace rpcrdma::proxy {

enum class Action : std::uint8_t { cut, delay, hold, split, join, flip, credits, drop_reply };
inline constexpr std::array<std::string_view, 8> kActionNames{"cut",  "delay", "hold",    "split",
                                                              "join", "flip",  "credits", "drop-reply"};
constexpr std::string_view name_of(Action action) noexcept { return kActionNames[static_cast<std::size_t>(action)]; }

/// The field of the header in which the action `flip` inverts one bit. The seed determines the bit in the field. With
/// `any`, the action inverts the bit Rule::bit of the frame or, if that is absent, a bit that the seed determines.
enum class Field : std::uint8_t { any, ddp_version, rdmap_version, queue, msn, stag };
inline constexpr std::array<std::string_view, 6> kFieldNames{"any",   "ddp-version", "rdmap-version",
                                                             "queue", "msn",         "stag"};

/// One fault, and the messages on which it acts. The messages of a connection that match the rule are numbered from 1,
/// separately in each direction. The fault acts on the messages with the numbers `nth` to `nth` + `count` - 1.
struct Rule {
  Action action = Action::cut;
  std::optional<Kind> kind;  ///< nothing: every kind
  std::optional<Side> side;  ///< nothing: both directions
  std::uint32_t nth = 1;
  std::uint32_t count = 1;
  std::uint32_t connection = 0;            ///< number of the connection on which the rule may act; 0: any
  std::uint32_t times = 1;                 ///< the maximum number of connections on which it acts
  std::uint32_t after = 0;                 ///< cut: after this many bytes of the message
  bool reset = false;                      ///< cut: by a reset instead of an orderly close
  std::chrono::milliseconds time{0};       ///< delay: the time; hold, join: the longest time
  std::uint64_t bytes = 0;                 ///< hold: until this many bytes have passed in the other direction
  std::uint32_t size = 0;                  ///< split: size of the pieces; 0: random sizes
  Field field = Field::any;                ///< flip: the header field that contains the bit
  std::optional<std::uint32_t> bit;        ///< flip: number of the bit in the frame
  bool fix_crc = false;                    ///< flip: whether to correct the CRC
  bool only_with_crc = false;              ///< flip: leave frames without a CRC unchanged
  std::uint32_t grant = 1;                 ///< credits: a larger credit value is lowered to this
  std::optional<std::uint32_t> procedure;  ///< drop_reply: the procedure of the call; nothing: any non-idempotent one
};

/// The rule `random` of a script. For each of the first `connections` connections, the proxy generates up to `each`
/// rules from the seed.
struct RandomRule {
  std::uint32_t connections = 8, each = 3;
  bool start_up = true;         ///< whether rules may cut the MPA start-up of connections other than the first
  std::optional<Kind> without;  ///< leaves out rules that name this kind of message
};

struct Script {
  std::vector<Rule> rules;
  std::optional<RandomRule> random;
};

/// Adds the rule in `line` to `script`. Returns an error message, or nothing.
std::optional<std::string> add_rule(std::string_view line, Script& script);
/// Adds the rules of a script: one in each line; empty lines, and text after #, are skipped. The error message
/// names the line.
std::optional<std::string> add_rules(std::string_view text, Script& script);
/// A rule in the form that add_rule() reads.
std::string to_text(const Rule& rule);

}  // namespace rpcrdma::proxy
