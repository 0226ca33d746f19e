// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The typed server: takes calls from a transport (RDMA or TCP) to the handlers of their procedures.
//
//     rpc::Dispatcher dispatcher({.cache = &cache});
//     dispatcher.on<nfs3::Getattr>([](rpc::ServerCall<nfs3::Getattr> call) { ...; call.reply(result); });
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <vector>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/rpc/server_call.hpp"

namespace rpcrdma::rpc {

/// One procedure that is served: its ULB, what it demands, and how to run it.
class Registration {
 public:
  virtual ~Registration() = default;
  virtual const ProcedureInfo& info() const noexcept = 0;
  /// Decodes the arguments and runs the handler. False: the arguments cannot be decoded. `server` gets calls once more
  /// that were attached to one that is not run.
  virtual bool run(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in, DuplicateCache* cache,
                   transport::CallHandler& server) noexcept = 0;
  AuthRequirement auth = AuthRequirement::none;
};

struct DispatcherOptions {
  DuplicateCache* cache = nullptr;  ///< outlives the dispatcher; null: calls sent again are run again
  Log log;
};

/// Serves on one thread, that of its transports' io_context. Handlers are registered before the first call.
/// Outlives its transports and every ServerCall. One for each thread; they may share a DuplicateCache.
class Dispatcher final : public transport::CallHandler {
 public:
  explicit Dispatcher(DispatcherOptions options = {});
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Serves P with `handler`: void(ServerCall<P>) or asio::awaitable<void>(ServerCall<P>), run on the loop, where it
  /// must not block. The first procedure of a program's version adds its NULL procedure, served to anyone.
  /// A later registration of the same procedure takes the place of an earlier one.
  template <Procedure P, class Handler>
  void on(Handler handler, AuthRequirement auth = P::kInfo.auth);

  void on_call(transport::IncomingCall& call) noexcept override;

  struct Counters {
    std::uint64_t calls = 0;
    std::uint64_t rejected = 0;  ///< answered without running a handler, the duplicates not counted
    std::uint64_t discarded = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Version {
    std::uint32_t program;
    std::uint32_t version;
    std::vector<std::unique_ptr<Registration>> procedures;  // by number; null where there is none
  };
  void add(std::unique_ptr<Registration> registration);
  /// The registration for a call, or null and the answer in `reply`.
  Registration* find(const CallHeader& header, ReplyHeader& reply) const noexcept;
  void reject(transport::IncomingCall& call, const ReplyHeader& reply) noexcept;

  DispatcherOptions options_;
  std::vector<Version> versions_;
  Counters counters_;
};

/// A handler with the states of its calls, which are kept for reuse.
template <Procedure P, class Handler>
class TypedRegistration final : public Registration {
 public:
  TypedRegistration(Handler handler, AuthRequirement requirement) : handler_(std::move(handler)) { auth = requirement; }
  const ProcedureInfo& info() const noexcept override { return P::kInfo; }

  bool run(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in, DuplicateCache* cache,
           transport::CallHandler& server) noexcept override {
    State& state = at_rest();
    if (!state.begin(call, header, in)) return false;
    if (!P::kInfo.idempotent && cache != nullptr && !state.guard(*cache, server)) return true;
    try {
      invoke(ServerCall<P>(state));
    } catch (...) {
      return true;  // the unwinding has dropped the call, which answers SYSTEM_ERR
    }
    return true;
  }

 private:
  struct State final : TypedServerCallState<P> {
    explicit State(TypedRegistration& owner) : owner_(owner) {}
    void give_back() noexcept override { owner_.rest_.push_back(this); }
    TypedRegistration& owner_;
  };

  State& at_rest() {
    if (rest_.empty()) {
      states_.push_back(std::make_unique<State>(*this));
      rest_.reserve(states_.size());
      return *states_.back();
    }
    State& state = *rest_.back();
    rest_.pop_back();
    return state;
  }
  void invoke(ServerCall<P> call) {
    if constexpr (std::is_void_v<std::invoke_result_t<Handler&, ServerCall<P>>>) {
      handler_(std::move(call));
    } else {
      boost::asio::io_context& context = call.context();
      boost::asio::co_spawn(context, handler_(std::move(call)), boost::asio::detached);
    }
  }

  Handler handler_;
  std::vector<std::unique_ptr<State>> states_;
  std::vector<State*> rest_;
};

template <Procedure P, class Handler>
void Dispatcher::on(Handler handler, AuthRequirement auth) {
  add(std::make_unique<TypedRegistration<P, Handler>>(std::move(handler), auth));
}

}  // namespace rpcrdma::rpc
