// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The typed server: delivers calls from a transport (RDMA or TCP) to the handlers of their procedures.
//
//     rpc::Dispatcher dispatcher({.cache = &cache});
//     dispatcher.on<nfs3::Getattr>([](rpc::ServerCall<nfs3::Getattr> call) { ...; call.reply(result); });
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/recycler.hpp"
#include "rpcrdma/rpc/server_call.hpp"
#include "rpcrdma/rpc/statistics.hpp"

namespace rpcrdma::rpc {

/// One procedure that is served: its binding, the credential that it requires, and its handler.
class RPCRDMA_EXPORT Registration {
 public:
  virtual ~Registration() = default;
  /// The binding of the procedure.
  virtual const ProcedureInfo& info() const noexcept = 0;
  /// Decodes the arguments of `call` and runs the handler. Returns false if the arguments cannot be decoded. The
  /// handler does not run if `cache` has the reply to an equal call, or knows that an equal call is in progress. In the
  /// first case the kept reply answers `call`. In the second case `call` waits for the reply to the equal call. If the
  /// equal call ends without being run, `call` is passed to `server` again.
  virtual bool run(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in, DuplicateCache* cache,
                   transport::CallHandler& server) noexcept = 0;
  AuthRequirement auth = AuthRequirement::none;  ///< checked before run()
  CallLog* log = nullptr;                        ///< the log of the dispatcher, which sets this pointer
  /// Made by the first run(); null until then.
  const ProcedureStatistics* statistics() const noexcept { return statistics_.get(); }

 protected:
  /// Makes the statistics if there are none yet.
  ProcedureStatistics& counted(const CallHeader& header) {
    if (!statistics_) make_statistics(header);
    return *statistics_;
  }

 private:
  void make_statistics(const CallHeader& header);

  std::unique_ptr<ProcedureStatistics> statistics_;
};

/// Options of a Dispatcher.
struct DispatcherOptions {
  DuplicateCache* cache = nullptr;  ///< must outlive the dispatcher; null: no cache, and repeated calls are run again
  Log log;                          ///< copied
};

/// Serves calls on the thread of its transports' io_context. Register handlers before the first call. The
/// dispatcher must outlive its transports and every ServerCall. Each thread has its own dispatcher; several dispatchers
/// may share a DuplicateCache.
class RPCRDMA_EXPORT Dispatcher final : public transport::CallHandler {
 public:
  /// A dispatcher without procedures.
  explicit Dispatcher(DispatcherOptions options = {});
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Serves P with `handler`: void(ServerCall<P>) or asio::awaitable<void>(ServerCall<P>). The handler runs on the
  /// event loop's thread and must not block. The first registration for a version of a program also adds the NULL
  /// procedure of this version, which needs no credential. A later registration of the same procedure replaces an
  /// earlier one, whose calls must be over.
  template <Procedure P, class Handler>
  void on(Handler handler, AuthRequirement auth = P::kInfo.auth);

  void on_call(transport::IncomingCall& call) noexcept override;

  /// Totals since the start.
  struct Counters {
    std::uint64_t calls = 0;     ///< calls received
    std::uint64_t rejected = 0;  ///< calls answered without running a handler; duplicates are not counted
    /// Messages that have no XID or are not calls. Over RDMA they are answered by an RDMA_ERROR, over TCP not at all.
    std::uint64_t discarded = 0;
    // Rejected calls by reason (RFC 5531 section 9):
    std::uint64_t rpc_mismatch = 0;           ///< the RPC version is not 2
    std::uint64_t bad_auth = 0;               ///< the credential or the verifier is refused
    std::uint64_t program_unavailable = 0;    ///< unknown program
    std::uint64_t program_mismatch = 0;       ///< unknown version of a program
    std::uint64_t procedure_unavailable = 0;  ///< unknown procedure
    std::uint64_t garbage_args = 0;           ///< the arguments cannot be decoded, or the call is truncated
  };
  /// Called on the dispatcher's thread.
  const Counters& counters() const noexcept { return counters_; }
  /// The procedures that have been called so far. Called on the dispatcher's thread.
  std::vector<ProcedureReport> procedures() const;

 private:
  struct Version {
    std::uint32_t program;
    std::uint32_t version;
    std::vector<std::unique_ptr<Registration>> procedures;  // index: procedure number; null if there is none
  };
  void add(std::unique_ptr<Registration> registration);
  /// Finds the registration for a call; if there is none, returns null and sets the error in `reply`.
  Registration* find(const CallHeader& header, ReplyHeader& reply) const noexcept;
  std::uint64_t& reason(const ReplyHeader& reply) noexcept;
  void reject(transport::IncomingCall& call, const ReplyHeader& reply) noexcept;

  DispatcherOptions options_;
  CallLog log_;
  std::vector<Version> versions_;
  Counters counters_;
};

/// A handler and the pooled states of its calls.
template <Procedure P, class Handler>
class TypedRegistration final : public Registration {
 public:
  /// Takes ownership of `handler`.
  TypedRegistration(Handler handler, AuthRequirement requirement)
      : handler_(std::make_shared<Handler>(std::move(handler))) {
    auth = requirement;
  }
  const ProcedureInfo& info() const noexcept override { return P::kInfo; }

  bool run(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in, DuplicateCache* cache,
           transport::CallHandler& server) noexcept override {
    State& state = take_state();
    if (!state.begin(call, header, in, counted(header))) return false;
    if (!P::kInfo.idempotent && cache != nullptr && !state.guard(*cache, server, in, *log)) return true;
    try {
      invoke(ServerCall<P>(state));
    } catch (...) {
      return true;  // unwinding has destroyed the ServerCall, whose destructor has answered SYSTEM_ERR
    }
    return true;
  }

 private:
  struct State final : TypedServerCallState<P> {
    explicit State(TypedRegistration& owner) : owner_(owner) {}
    void give_back() noexcept override { owner_.states_.give_back(*this); }
    TypedRegistration& owner_;
  };

  State& take_state() {
    State* const idle = states_.try_take();
    return idle != nullptr ? *idle : states_.add(std::make_unique<State>(*this));
  }
  void invoke(ServerCall<P> call) {
    if constexpr (std::is_void_v<std::invoke_result_t<Handler&, ServerCall<P>>>) {
      (*handler_)(std::move(call));
    } else {
      boost::asio::io_context& context = call.context();
      // Keeps the handler, because the coroutine may use its members.
      boost::asio::co_spawn(context, (*handler_)(std::move(call)), [handler = handler_](const std::exception_ptr&) {});
    }
  }

  std::shared_ptr<Handler> handler_;
  Recycler<State> states_;
};

template <Procedure P, class Handler>
void Dispatcher::on(Handler handler, AuthRequirement auth) {
  add(std::make_unique<TypedRegistration<P, Handler>>(std::move(handler), auth));
}

}  // namespace rpcrdma::rpc
