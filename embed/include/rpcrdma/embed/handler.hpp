// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The forms of a handler, and their adaptation to rpc::Dispatcher.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>
#include <variant>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/embed/scratch.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"

namespace rpcrdma {

/// The return type of a coroutine handler.
template <class T>
using awaitable = boost::asio::awaitable<T>;
/// Another name for rpc::ServerCall.
template <rpc::Procedure P>
using ServerCall = rpc::ServerCall<P>;
using rpc::AcceptStat;
using rpc::AuthStat;
using rpc::Credential;
using rpc::ReverseClient;

/// Thrown by a plain function to answer its call with an error instead of a result, for example
/// `throw rpcrdma::Rejection(rpcrdma::AcceptStat::garbage_args)`. Any other exception becomes SYSTEM_ERR, with a line
/// in the log.
class Rejection : public std::exception {
 public:
  /// Answers with an accept_stat (RFC 5531 section 9).
  explicit Rejection(AcceptStat why) noexcept : why_(why) {}
  /// Answers AUTH_ERROR.
  explicit Rejection(AuthStat why) noexcept : why_(why) {}
  /// A fixed text.
  const char* what() const noexcept override { return "RPC call rejected"; }
  /// Rejects `call` with the given reason.
  template <rpc::Procedure P>
  void apply(ServerCall<P>& call) const {
    std::visit([&call](auto why) { call.reject(why); }, why_);
  }

 private:
  std::variant<AcceptStat, AuthStat> why_;
};

namespace embed {

template <class H, class P>
concept CallHandler = std::invocable<H&, ServerCall<P>>;
template <class H, class P>
concept PlainHandler = std::invocable<H&, const typename P::Args&> ||
    std::invocable<H&, const typename P::Args&, Scratch&> ||
    (std::same_as<typename P::Args, rpc::Void>&& std::invocable<H&>);
/// A handler of any form. CallHandler is the first operand because of generic lambdas that take a ServerCall<P>. The
/// compiler does not check PlainHandler if CallHandler holds. Such a check could make the compiler instantiate the body
/// of the lambda with arguments for which the body does not compile.
template <class H, class P>
concept Handler = CallHandler<H, P> || PlainHandler<H, P>;

/// Logs `thrown`, an exception of the handler of `procedure`, which served the call `about`.
RPCRDMA_EXPORT void report(const Log& log, const LogSubject& about, const rpc::ProcedureInfo& procedure,
                           const std::exception_ptr& thrown) noexcept;

/// Adapts a handler of any form to rpc::Dispatcher. Each dispatcher has its own copy; the copies share the handler.
template <rpc::Procedure P, class H>
class Served {
 public:
  static_assert(
      Handler<H, P>,
      "a handler is Result(const Args&), Result(const Args&, rpcrdma::Scratch&), void(rpcrdma::ServerCall<P>), "
      "or rpcrdma::awaitable<void>(rpcrdma::ServerCall<P>)");

  Served(std::shared_ptr<H> handler, Log log) : handler_(std::move(handler)), log_(std::move(log)) {}

  void operator()(ServerCall<P> call) {
    const LogSubject about = call.subject();
    try {
      if constexpr (CallHandler<H, P>) {
        serve(std::move(call), about);
      } else {
        answer(call);
      }
    } catch (const Rejection& rejection) {
      if (call) rejection.apply(call);
    } catch (...) {
      report(log_, about, P::kInfo, std::current_exception());
    }
  }

 private:
  void serve(ServerCall<P> call, const LogSubject& about) {
    if constexpr (std::is_void_v<std::invoke_result_t<H&, ServerCall<P>>>) {
      (*handler_)(std::move(call));
    } else {
      boost::asio::io_context& context = call.context();
      // The coroutine may use members of the handler, which therefore lives at least as long as the coroutine.
      boost::asio::co_spawn(context, (*handler_)(std::move(call)),
                            [handler = handler_, log = log_, about](const std::exception_ptr& thrown) {
                              if (thrown) report(log, about, P::kInfo, thrown);
                            });
    }
  }

  void answer(ServerCall<P>& call) {
    static_assert(
        P::kInfo.eligible_arguments == 0,
        "the bulk data of the arguments has not arrived when a plain function runs: take a rpcrdma::ServerCall<P> "
        "and fetch it");
    if constexpr (std::same_as<typename P::Result, rpc::Void>) {
      invoke(call);
      call.reply({});
    } else {
      // The result may point to the memory of scratch_, which is released below. This is the thread of the event loop,
      // on which reply() encodes the result before it returns.
      call.reply(invoke(call));
    }
    if (scratch_) scratch_->release();
  }
  decltype(auto) invoke(ServerCall<P>& call) {
    if constexpr (std::invocable<H&, const typename P::Args&, Scratch&>) {
      if (!scratch_) scratch_ = std::make_unique<Scratch>();
      scratch_->release();
      return (*handler_)(call.args(), *scratch_);
    } else if constexpr (std::invocable<H&, const typename P::Args&>) {
      return (*handler_)(call.args());
    } else {
      return (*handler_)();
    }
  }

  std::shared_ptr<H> handler_;
  Log log_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace embed
}  // namespace rpcrdma
