// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Implementation of ServerCall; see server_call.hpp for how to use it.
#include <boost/asio/async_result.hpp>
#include <boost/container/small_vector.hpp>
#include <optional>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/post_memory.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/responder.hpp"
#include "rpcrdma/rpc/duplicate_cache.hpp"
#include "rpcrdma/rpc/message.hpp"
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/rpc/statistics.hpp"
#include "rpcrdma/xdr/encoder.hpp"

namespace rpcrdma::rpc {

/// Runs when the memory that a result points to is no longer used.
using ReleaseHandler = UniqueFunction<void(error_code), 128>;

/// The log of a dispatcher, with bounds for the lines that clients can cause. Used on one thread.
struct CallLog {
  Log log;                ///< where lines go
  LogLimit rejected{};    ///< about calls that no handler has served
  LogLimit duplicates{};  ///< about calls that were sent again
  /// The log for one line about `call`.
  LogAbout about(const transport::IncomingCall& call, LogLimit& limit) const noexcept {
    return log.about(call.connection().subject(call.xid()), &limit);
  }
};

/// The state of one RPC being served. Pooled by the registration of its procedure. Used on the thread of the
/// call's event loop, except where a comment permits any thread.
class RPCRDMA_EXPORT ServerCallState : private xdr::Staging {
 public:
  virtual ~ServerCallState() = default;

  const CallHeader& header() const noexcept { return header_; }
  transport::IncomingCall& call() const noexcept { return *call_; }

  /// Takes over a call, whose arguments are next in `in`. Returns false if they cannot be decoded; the caller then
  /// keeps the call. `statistics` counts the call, and must outlive it.
  bool begin(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in,
             ProcedureStatistics& statistics) noexcept;
  /// Enters the call, whose arguments `in` has decoded, into `cache`. False if the cache has answered the call or
  /// attached it to an equal call: this state is then idle. `server` receives the call again if the equal call is not
  /// run.
  bool guard(DuplicateCache& cache, transport::CallHandler& server, const xdr::Decoder& in, CallLog& log) noexcept;

  // May be called on any thread. After each of these functions, the ServerCall no longer uses this object.
  void reply(ReleaseHandler release);
  void reject(AcceptStat why);
  void reject(AuthStat why);
  void drop() noexcept;

  /// Called with the outcome of a reservation for the call. Records a failure, unless a transfer has succeeded before.
  void note_reserved(error_code status) noexcept {
    if (status && data_ == Data::not_fetched) data_ = Data::failed;
  }
  /// Called with the outcome of a transfer for the call. Records it, but no failure after a successful transfer.
  void note_fetched(error_code status) noexcept {
    if (!status) data_ = Data::fetched;
    note_reserved(status);
  }

 protected:
  virtual bool decode_args(xdr::Decoder& in) noexcept = 0;
  virtual void free_args() noexcept = 0;
  virtual bool encode_result(xdr::Encoder& out) noexcept = 0;
  virtual void give_back() noexcept = 0;
  /// The error of the program that the result carries: see status_of().
  virtual std::uint32_t result_status() const noexcept = 0;

 private:
  /// Whether the call has fetched its bulk arguments. This decides whether the call counts as not run when it is
  /// dropped.
  enum class Data : std::uint8_t {
    not_fetched,
    failed,   ///< a reservation or transfer failed before any transfer succeeded: the call counts as not run
    fetched,  ///< at least one transfer has succeeded: the handler may have acted on the data
  };

  BufferRef stage(std::uint32_t size) override;
  void on_loop(void (ServerCallState::*step)() noexcept);
  void send_result() noexcept;
  void send_failure() noexcept;
  void send_rejection() noexcept;
  void send_error(AcceptStat why) noexcept;
  void send(const PayloadBuilder& message) noexcept;
  std::vector<std::byte> encode_apart() noexcept;
  void settle(const PayloadBuilder& message) noexcept;
  void abandon() noexcept;
  void count_reply(const PayloadBuilder& message) noexcept;
  void sent(error_code status) noexcept;
  void release() noexcept;

  CallHeader header_;
  transport::IncomingCall* call_ = nullptr;
  ReplyHeader answer_;
  ReleaseHandler release_;
  boost::container::small_vector<memory::RegisteredBuffer, 1> staged_;
  DuplicateCache* cache_ = nullptr;
  DuplicateKey key_;
  PostMemory post_memory_;
  Data data_ = Data::not_fetched;
  ProcedureStatistics* statistics_ = nullptr;
};

template <Procedure P>
class TypedServerCallState : public ServerCallState {
 public:
  typename P::Args args{};
  typename P::Result result{};

 protected:
  bool decode_args(xdr::Decoder& in) noexcept override { return in.decode(&P::xdr_args, args); }
  void free_args() noexcept override {
    XDR xdrs{};
    xdrs.x_op = XDR_FREE;
    P::xdr_args(&xdrs, &args);
    args = {};
  }
  bool encode_result(xdr::Encoder& out) noexcept override { return out.encode(&P::xdr_result, result); }
  std::uint32_t result_status() const noexcept override { return status_of(result); }
};

/// Sends the reply message `message` for `call`. Called on the thread of the call's context().
RPCRDMA_EXPORT void send_verbatim(transport::IncomingCall& call, const std::vector<std::byte>& message) noexcept;
/// Answers `call` with a reply header only. Called on the thread of the call's context().
RPCRDMA_EXPORT void send_header(transport::IncomingCall& call, const ReplyHeader& header) noexcept;

/// Pulls a reduced argument, or copies an argument that arrived in the message. `handler` may run before this function
/// returns.
RPCRDMA_EXPORT void fetch(transport::IncomingCall& call, const bulk_data& data, std::span<const BufferRef> destination,
                          transport::IncomingCall::Handler handler);

template <class Token>
auto async_reserve_on(ServerCallState& state, std::uint32_t bytes, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      [&state, bytes](auto handler) {
        state.call().reserve_bulk(bytes, [&state, handler = std::move(handler)](error_code status) mutable {
          state.note_reserved(status);
          std::move(handler)(status);
        });
      },
      token);
}

template <class Token>
auto async_fetch_on(ServerCallState& state, const bulk_data& data, std::span<const BufferRef> destination,
                    Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      [&state, &data, destination](auto handler) {
        fetch(state.call(), data, destination, [&state, handler = std::move(handler)](error_code status) mutable {
          state.note_fetched(status);
          std::move(handler)(status);
        });
      },
      token);
}

}  // namespace rpcrdma::rpc
