// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Transport characteristics of both sides of a connection of RPC-over-RDMA version two, and requests to change them
// (draft-dnoveck-nfsv4-rpcrdma-xcharext-01; rpcrdma/wire/v2/characteristics.hpp has the codes).
//
// Once version two has been agreed, each side announces its characteristics, unless ConnectionOptions::characteristics
// forbids it. A client announces them when it receives a reply that lets it use more than one credit. A server that
// does not know the extension could otherwise have no receive for the announcement. If the server has already announced
// its own characteristics, the client needs only one credit. Version one has no characteristics.
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

/// The characteristics of one side. The default values hold for a side that has announced nothing (section 3, table 1).
struct CharacteristicValues {
  std::uint32_t receive_buffer_size = 4096;                             ///< least size of a posted Receive, bytes
  bool requester_remote_invalidation = false;                           ///< accepts Send with Invalidate
  BackwardSupport backward_request_support = BackwardSupport::unknown;  ///< support of the reverse direction

  friend bool operator==(const CharacteristicValues&, const CharacteristicValues&) = default;
};

/// The progress of a connection's exchange.
enum class ExchangeState : std::uint8_t {
  none,  ///< no exchange: there is no connection, its version is one, or ConnectionOptions::characteristics forbids it
  negotiating,  ///< this side has announced nothing: version two is not agreed yet, or this side has too few credits
  announced,    ///< this side has announced its characteristics; the peer has not announced any yet
  active,       ///< both sides have announced characteristics: requests are possible
  refused,      ///< the peer has refused this side's announcement
};

/// The present characteristics of a connection, and the messages that have been exchanged since the connection was
/// made.
struct Characteristics {
  ExchangeState state = ExchangeState::none;  ///< progress of the exchange
  std::uint32_t version = 1;                  ///< the RPC-over-RDMA version of this side's calls
  CharacteristicValues own;                   ///< the values that this side has announced
  CharacteristicValues peer;            ///< the values that the peer has announced, inferred values, or the defaults
  std::uint64_t requests_sent = 0;      ///< REQ_XCHAR
  std::uint64_t requests_received = 0;  ///< REQ_XCHAR
  std::uint64_t updates_sent = 0;       ///< UPD_XCHAR
  std::uint64_t updates_received = 0;   ///< UPD_XCHAR
  std::uint64_t refused = 0;            ///< optional messages that this side dropped, or answered with an error
  std::uint64_t unanswered = 0;         ///< REQ_XCHAR without an answer in time
  // Requests of the policy (CharacteristicOptions::adaptive) to the peer:
  std::uint64_t grown = 0;           ///< requests for larger Receives
  std::uint64_t shrunk_unused = 0;   ///< requests for smaller Receives, as no call needed larger Receives
  std::uint64_t shrunk_idle = 0;     ///< requests for smaller Receives, as there were no calls
  std::uint64_t shrunk_pressed = 0;  ///< requests for smaller Receives, as the peer was short of memory
};

/// The values to change; an empty member leaves its value as it is.
struct CharacteristicChange {
  std::optional<std::uint32_t> receive_buffer_size{};         ///< bytes
  std::optional<bool> requester_remote_invalidation{};        ///< as in CharacteristicValues
  std::optional<BackwardSupport> backward_request_support{};  ///< as in CharacteristicValues
};

/// The result for one value of a CharacteristicChange.
enum class Disposition : std::uint8_t {
  unchanged,  ///< no change was requested
  done,       ///< the new value is in effect
  rejected,   ///< not supported, not acceptable, or not possible now
  pending,    ///< accepted, but not in effect yet; Characteristics shows the value once it is in effect
};

/// The result for each value of a CharacteristicChange.
struct ChangeOutcome {
  Disposition receive_buffer_size = Disposition::unchanged;            ///< result for the value of this name
  Disposition requester_remote_invalidation = Disposition::unchanged;  ///< result for the value of this name
  Disposition backward_request_support = Disposition::unchanged;       ///< result for the value of this name

  friend bool operator==(const ChangeOutcome&, const ChangeOutcome&) = default;
};

/// Receives the outcome of a request or a change.
using CharacteristicsHandler = UniqueFunction<void(error_code, ChangeOutcome), 192>;

/// One side's exchange of characteristics. The object that Client::exchange() returns lives as long as the client, and
/// refers to the client's current connection. IncomingCall::exchange() refers to the connection of the call.
///
/// Threads: the thread of the connection's io_context.
class RPCRDMA_EXPORT CharacteristicsExchange {
 public:
  /// The characteristics of the current connection.
  virtual Characteristics characteristics() const noexcept = 0;

  /// Asks the peer to change its characteristics. Completes with void(error_code, ChangeOutcome) when the peer has
  /// answered. If the outcome for a value is Disposition::pending, characteristics() shows the value once it is in
  /// effect. Before this side sends a request for a smaller Receive Buffer Size, it limits its Sends to that size, but
  /// not to less than 4096 bytes (section 3.1).
  ///
  /// Errors: TransportError::no_characteristics if the state is not ExchangeState::active; connection_lost; bad_reply
  /// if the peer's answer is malformed; BaseError::invalid_argument for a value out of range; BaseError::out_of_memory
  /// if too many requests wait; BaseError::deadline_exceeded after CharacteristicOptions::request_timeout. If a request
  /// that was sent ends with bad_reply or deadline_exceeded, this side does not know whether the peer has changed its
  /// values. It then sends only messages that both the old and the new values allow.
  template <class Token>
  auto async_request(const CharacteristicChange& wanted, Token&& token) {
    return start(&CharacteristicsExchange::request, wanted, std::forward<Token>(token));
  }
  /// Changes this side's characteristics, and announces them to the peer. Completes with
  /// void(error_code, ChangeOutcome), without waiting for the peer. The Receive Buffer Size can only be raised: only a
  /// peer may ask for a smaller size (section 3.1). A larger size is pending until the last smaller Receive has been
  /// consumed; it is rejected if memory or options do not allow it.
  template <class Token>
  auto async_change(const CharacteristicChange& wanted, Token&& token) {
    return start(&CharacteristicsExchange::change, wanted, std::forward<Token>(token));
  }

 protected:
  ~CharacteristicsExchange() = default;
  using Handler = CharacteristicsHandler;  ///< the handler of both operations
  /// Implements async_request(). Runs `handler` exactly once, possibly before this function returns.
  virtual void request(const CharacteristicChange& wanted, Handler handler) = 0;
  /// Implements async_change(). Runs `handler` exactly once, possibly before this function returns.
  virtual void change(const CharacteristicChange& wanted, Handler handler) = 0;
  /// The context that runs handlers without an executor of their own.
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
