// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Transport characteristics of both sides of a connection of RPC-over-RDMA version two, and requests to change them
// (draft-dnoveck-nfsv4-rpcrdma-xcharext-01; rpcrdma/wire/v2/characteristics.hpp has the codes).
//
// Both sides announce theirs when version two has been agreed, a client after the first reply. Version one has none.
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <optional>
#include <utility>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/wire/v2/characteristics.hpp"

namespace rpcrdma::transport {

using wire::v2::BackwardSupport;

/// The characteristics of one side; the defaults are those of a side that has announced none (section 3, table 1).
struct CharacteristicValues {
  std::uint32_t receive_buffer_size = 4096;                             ///< least size of a posted Receive, bytes
  bool requester_remote_invalidation = false;                           ///< accepts Send with Invalidate
  BackwardSupport backward_request_support = BackwardSupport::unknown;  ///< of the reverse direction

  friend bool operator==(const CharacteristicValues&, const CharacteristicValues&) = default;
};

/// How far the exchange of a connection has come.
enum class ExchangeState : std::uint8_t {
  none,         ///< no connection, version one, or switched off (ConnectionOptions::characteristics)
  negotiating,  ///< version two is not agreed yet, or a credit is missing: nothing has been announced
  announced,    ///< this side has announced its characteristics; the peer has not announced any yet
  active,       ///< the peer has announced characteristics: requests are possible
  refused,      ///< the peer does not support the extension
};

/// The characteristics of a connection now, and what has been exchanged since it was made.
struct Characteristics {
  ExchangeState state = ExchangeState::none;  ///< of the exchange
  std::uint32_t version = 1;                  ///< of this side's calls (RPC-over-RDMA version)
  CharacteristicValues own;                   ///< as announced
  CharacteristicValues peer;                  ///< as announced, inferred, or the default
  std::uint64_t requests_sent = 0;            ///< REQ_XCHAR
  std::uint64_t requests_received = 0;        ///< likewise
  std::uint64_t updates_sent = 0;             ///< UPD_XCHAR
  std::uint64_t updates_received = 0;         ///< likewise
  std::uint64_t refused = 0;                  ///< optional messages answered by an error, or dropped
};

/// The values to change; an empty member leaves its value as it is.
struct CharacteristicChange {
  std::optional<std::uint32_t> receive_buffer_size{};         ///< bytes
  std::optional<bool> requester_remote_invalidation{};        ///< as in CharacteristicValues
  std::optional<BackwardSupport> backward_request_support{};  ///< likewise
};

/// The result for one value of a CharacteristicChange.
enum class Disposition : std::uint8_t {
  unchanged,  ///< not wanted
  done,       ///< in effect
  rejected,   ///< not supported, not acceptable, or not possible now
  pending,    ///< in effect later: Characteristics shows it then
};

/// The result for each value of a CharacteristicChange.
struct ChangeOutcome {
  Disposition receive_buffer_size = Disposition::unchanged;            ///< of that value
  Disposition requester_remote_invalidation = Disposition::unchanged;  ///< likewise
  Disposition backward_request_support = Disposition::unchanged;       ///< likewise

  friend bool operator==(const ChangeOutcome&, const ChangeOutcome&) = default;
};

/// Receives the outcome of a request or a change.
using CharacteristicsHandler = UniqueFunction<void(error_code, ChangeOutcome), 192>;

/// The exchange of one side: that of a client (Client::exchange()) lasts as long as the client and refers to its
/// current connection; that of a server (IncomingCall::exchange()) refers to the connection of a call.
///
/// Threads: the thread of the connection's io_context.
class RPCRDMA_EXPORT CharacteristicsExchange {
 public:
  /// The characteristics of the current connection.
  virtual Characteristics characteristics() const noexcept = 0;

  /// Asks the peer to change its characteristics. Completes with void(error_code, ChangeOutcome) when the peer has
  /// answered; a value that is still pending then shows in characteristics() once it is in effect. Asking for a smaller
  /// Receive Buffer Size limits what this side sends at once (section 3.1). Errors: TransportError::no_characteristics
  /// where the state is not ExchangeState::active; connection_lost; BaseError::out_of_memory if many requests wait.
  template <class Token>
  auto async_request(const CharacteristicChange& wanted, Token&& token) {
    return start(&CharacteristicsExchange::request, wanted, std::forward<Token>(token));
  }
  /// Changes this side's characteristics, and announces them to the peer. Completes as async_request() does. The
  /// Receive Buffer Size can only be raised, as only a peer may ask for a smaller one (section 3.1), and is pending
  /// until the last smaller Receive has been consumed; rejected where memory or options do not allow it.
  template <class Token>
  auto async_change(const CharacteristicChange& wanted, Token&& token) {
    return start(&CharacteristicsExchange::change, wanted, std::forward<Token>(token));
  }

 protected:
  ~CharacteristicsExchange() = default;
  using Handler = CharacteristicsHandler;  ///< of both operations
  /// Starts async_request(): runs `handler` once, possibly at once.
  virtual void request(const CharacteristicChange& wanted, Handler handler) = 0;
  /// Starts async_change(), likewise.
  virtual void change(const CharacteristicChange& wanted, Handler handler) = 0;
  /// Where handlers without an executor run.
  virtual boost::asio::io_context& executor_context() noexcept = 0;

 private:
  using Operation = void (CharacteristicsExchange::*)(const CharacteristicChange&, Handler);
  template <class Token>
  auto start(Operation operation, const CharacteristicChange& wanted, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, ChangeOutcome)>(
        [this, operation, wanted](auto handler) {
          auto work =
              boost::asio::prefer(boost::asio::get_associated_executor(handler, executor_context().get_executor()),
                                  boost::asio::execution::outstanding_work.tracked);
          (this->*operation)(wanted, [handler = std::move(handler), work = std::move(work)](
                                         error_code failed, ChangeOutcome outcome) mutable {
            boost::asio::post(work, [handler = std::move(handler), failed, outcome]() mutable {
              std::move(handler)(failed, outcome);
            });
          });
        },
        token);
  }
};

}  // namespace rpcrdma::transport
