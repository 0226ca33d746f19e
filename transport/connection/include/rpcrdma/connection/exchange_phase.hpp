// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The state machine of the exchange of characteristics, as one table. Does no I/O.
#include <array>
#include <cstddef>
#include <cstdint>

namespace rpcrdma::transport {

/// The phases of the exchange, by the messages that this side has sent and received.
enum class ExchangePhase : std::uint8_t {
  off,          ///< the version is one, or the exchange is switched off
  negotiating,  ///< neither side has announced its characteristics
  heard,        ///< only the peer has announced its characteristics
  announced,    ///< only this side has announced its characteristics
  active,       ///< both sides have announced their characteristics
  refused,      ///< the peer has refused INIT_XCHAR
};
inline constexpr std::size_t kExchangePhases = 6;  ///< the number of phases

/// The events of an exchange. `announce`: this side could send INIT_XCHAR. `init` to `update`: the peer has sent an
/// optional message of this type. `refusal`: the peer has answered this side's INIT_XCHAR with an error.
enum class ExchangeEvent : std::uint8_t { announce, init, request, response, update, refusal };
inline constexpr std::size_t kExchangeEvents = 6;  ///< the number of events

/// How this side treats the message of an event.
enum class Reaction : std::uint8_t {
  take,
  refuse,  ///< answer RDMA2_ERR_INVAL_OPTION
  bad,     ///< answer RDMA2_ERR_BAD_HEADER
  drop,
};

/// The result of transition().
struct ExchangeTransition {
  Reaction reaction;   ///< how this side treats the message
  ExchangePhase next;  ///< the phase after the event
};

/// The transition for `event` in `phase`.
constexpr ExchangeTransition transition(ExchangePhase phase, ExchangeEvent event) noexcept {
  using enum ExchangePhase;
  using enum Reaction;
  using Row = std::array<ExchangeTransition, kExchangeEvents>;
  // The table has a row for each ExchangePhase and a column for each ExchangeEvent, in the order of the enumerators.
  // [xchar-4-a] In phase `off`, this side refuses the operations of the extension, because it does not support them.
  // [xchar-4-b] [xchar-4-c] In all other phases, it supports all four operations.
  // A second INIT_XCHAR of the peer is an error, because a peer announces changes by UPD_XCHAR. After the peer has
  // refused this side's INIT_XCHAR, this side still accepts an INIT_XCHAR of the peer.
  constexpr std::array<Row, kExchangePhases> kTable{{
      // announce           init            request              response             update               refusal
      {{{drop, off}, {refuse, off}, {refuse, off}, {refuse, off}, {refuse, off}, {drop, off}}},
      {{{take, announced},
        {take, heard},
        {take, negotiating},
        {drop, negotiating},
        {take, negotiating},
        {drop, negotiating}}},
      {{{take, active}, {bad, heard}, {take, heard}, {drop, heard}, {take, heard}, {drop, heard}}},
      {{{drop, announced}, {take, active}, {take, announced}, {drop, announced}, {take, announced}, {take, refused}}},
      {{{drop, active}, {bad, active}, {take, active}, {take, active}, {take, active}, {drop, active}}},
      {{{drop, refused}, {take, active}, {take, refused}, {drop, refused}, {take, refused}, {drop, refused}}},
  }};
  return kTable[static_cast<std::size_t>(phase)][static_cast<std::size_t>(event)];
}

}  // namespace rpcrdma::transport
