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

/// A function that the handler of a call passes with the result. It runs when the transport no longer uses the memory
/// that the result points to. Its argument is the outcome of sending the reply.
using ReleaseHandler = UniqueFunction<void(error_code), 128>;

/// The log of a dispatcher, with bounds for the lines that clients can cause. Used on one thread.
struct CallLog {
  Log log;                ///< where lines go
  LogLimit rejected{};    ///< about calls that no handler has served
  LogLimit duplicates{};  ///< about calls that were sent again
  /// Returns the log for one line about `call`. `limit` is the member, such as `rejected`, that bounds lines of this
  /// kind.
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

  /// Takes over `call`, and decodes its arguments from the present position of `in`. Returns false if the arguments
  /// cannot be decoded. The caller of begin() then remains responsible for answering `call`. `statistics` counts the
  /// call, and must outlive the call's connection (IncomingCall::measure()).
  bool begin(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in,
             ProcedureStatistics& statistics) noexcept;
  /// Looks the call up in `cache`, after `in` has decoded its arguments. Returns true if the call is new: `cache` then
  /// contains it, and the caller must run it. Returns false if an equal call is known, and this object then serves no
  /// call. If the equal call has been answered, this function has sent the same reply. If the equal call is in
  /// progress, this call waits for its reply. If the equal call is then not run, `server` receives this call again.
  bool guard(DuplicateCache& cache, transport::CallHandler& server, const xdr::Decoder& in, CallLog& log) noexcept;

  // The next four functions end the use of this object by a ServerCall, which must not access it afterwards. They may
  // be called on any thread.
  void reply(ReleaseHandler release);
  void reject(AcceptStat why);
  void reject(AuthStat why);
  void drop() noexcept;

  /// To be called with the outcome of a reservation of bulk bytes for the call. Sets data_ to `failed` if the
  /// reservation has failed, unless a transfer has already succeeded.
  void note_reserved(error_code status) noexcept {
    if (status && data_ == Data::not_fetched) data_ = Data::failed;
  }
  /// To be called with the outcome of a transfer of bulk arguments for the call. Sets data_ to `fetched` or `failed`. A
  /// failure after a successful transfer changes nothing.
  void note_fetched(error_code status) noexcept {
    if (!status) data_ = Data::fetched;
    note_reserved(status);
  }

 protected:
  virtual bool decode_args(xdr::Decoder& in) noexcept = 0;
  virtual void free_args() noexcept = 0;
  virtual bool encode_result(xdr::Encoder& out) noexcept = 0;
  virtual void give_back() noexcept = 0;
  /// Returns the status member of the result, such as an nfsstat3. Returns 0 if the result has no such member; see
  /// status_of().
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

/// Brings a DDP-eligible argument to `destination`. If the argument is reduced, reads its Read chunk. If the argument
/// arrived in the message, copies it. `handler` may run before this function returns.
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
