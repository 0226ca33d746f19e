// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One RPC as an asynchronous operation with a completion token (callback, use_future, use_awaitable...), for programs
// that encode RPC messages themselves. Each operation allocates memory; code that must not allocate uses Call.
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <memory>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::transport {

/// The call to send, and the memory for its results.
struct CallSpec {
  /// Writes the call message, `xid` first. May run more than once (Call::encode()), and must write the same message.
  UniqueFunction<void(PayloadBuilder& out, std::uint32_t xid)> encode;
  /// This member and the members below have the meaning of the members of Call with the same names. The memory in
  /// `results`, and the memory that `encode` passes to out.item(), must stay valid until the operation completes.
  /// Until then, the caller must not access the memory in `results`, and must not change the memory passed to
  /// out.item().
  std::uint32_t max_reply = 1024;
  boost::container::small_vector<boost::container::small_vector<BufferRef, 1>, 1> results;
  bool may_reduce = true;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// A reply that owns its bytes, except those placed in CallSpec::results.
struct OwnedReply {
  std::vector<std::byte> message;  ///< the reduced reply, its XID first
  std::vector<std::uint32_t>
      results;  ///< bytes placed in each of CallSpec::results; empty: all results are in `message`
};

namespace detail {

template <class Handler>
class AsyncCall final : public Call {
 public:
  AsyncCall(Requester& requester, CallSpec spec, Handler handler, boost::asio::io_context::executor_type fallback)
      : spec_(std::move(spec)),
        handler_(std::move(handler)),
        executor_(tracked(boost::asio::get_associated_executor(handler_, fallback))) {
    xid = requester.next_xid();
    max_reply = spec_.max_reply;
    results = spec_.results;
    may_reduce = spec_.may_reduce;
    deadline = spec_.deadline;
    if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected())
      slot.assign([this, &requester](boost::asio::cancellation_type) { requester.cancel(*this); });
  }
  void encode(PayloadBuilder& out) noexcept override { spec_.encode(out, xid); }
  void done(error_code status, const Payload* reply) noexcept override {
    const std::unique_ptr<AsyncCall> self(this);
    if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected()) slot.clear();
    OwnedReply owned;
    if (reply != nullptr) {
      for (const PayloadPiece& piece : reply->pieces)
        owned.message.insert(owned.message.end(), piece.octets.data, piece.octets.data + piece.octets.size);
      for (const PayloadItem& item : reply->items) owned.results.push_back(item.length);
    }
    boost::asio::dispatch(executor_, [handler = std::move(handler_), status, owned = std::move(owned)]() mutable {
      std::move(handler)(status, std::move(owned));
    });
  }

 private:
  using Fallback = boost::asio::io_context::executor_type;
  static auto tracked(const boost::asio::associated_executor_t<Handler, Fallback>& executor) {
    return boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked);
  }

  CallSpec spec_;
  Handler handler_;
  // Counts as work of its context, so that run() there does not return before the handler has run.
  decltype(tracked(std::declval<boost::asio::associated_executor_t<Handler, Fallback>>())) executor_;
};

}  // namespace detail

/// Sends one call on `requester`, and completes with void(error_code, OwnedReply). The handler runs on its associated
/// executor. If it has none, it runs on `context`, which must be the io_context of the requester. Start and cancel the
/// call on the requester's thread.
template <class Token>
auto async_call(Requester& requester, boost::asio::io_context& context, CallSpec spec, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code, OwnedReply)>(
      [&requester, &context](auto handler, CallSpec of) {
        using Operation = detail::AsyncCall<decltype(handler)>;
        // The operation deletes itself in done().
        auto* operation = new Operation(requester, std::move(of), std::move(handler), context.get_executor());
        requester.submit(*operation);
      },
      token, std::move(spec));
}

}  // namespace rpcrdma::transport
