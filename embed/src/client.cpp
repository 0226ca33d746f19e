// SPDX-License-Identifier: BSD-3-Clause
// Operation: calls are submitted to the Link. The first call or buffer opens the Backend (opening.hpp), to which the
// Link then forwards all calls.
// Ownership: the Client and an opening in progress share the state; buffers share the backend's memory. The backend is
// destroyed on the client's thread, after the calls have been cancelled.
// Error handling: a failure to open fails the calls that wait for it.
#include "rpcrdma/client.hpp"

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <limits>
#include <utility>

#include "link.hpp"
#include "opening.hpp"

namespace rpcrdma {

namespace asio = boost::asio;

struct Client::State : std::enable_shared_from_this<State> {
  using Closed = UniqueFunction<void(), 192>;

  State(std::shared_ptr<embed::Loop> own_loop, asio::io_context& on, std::string_view server, ClientOptions wanted)
      : loop(std::move(own_loop)),
        context(on),
        target{parse_address(server), std::move(wanted), nullptr},
        link(on, [this] { open(); }) {
    calls.emplace(link, on.get_executor(), rpc::ClientOptions{target.options.credential, target.options.timeout, loop});
  }

  void open();
  void opened(std::exception_ptr thrown, Result<embed::Backend> made);
  void serve_reverse_calls();
  void drain(Closed handler);
  void end_drain();
  void shut();

  /// If the client has a thread of its own, runs `function` on this thread: at once if called there, else later. If the
  /// application provides the io_context, runs `function` at once, on the calling thread.
  template <class F>
  void on_thread(F function) {
    if (!loop) return function();
    asio::dispatch(context, std::move(function));
  }

  const std::shared_ptr<embed::Loop> loop;  // null if the application provides the io_context
  asio::io_context& context;
  std::atomic<const rpc::ProcedureInfo*> procedure{nullptr};
  embed::Target target;
  embed::Link link;
  std::vector<std::function<void(rpc::ReverseHandlers&, const Log&)>> services;
  UniqueFunction<void()> connected;
  std::optional<embed::Backend> backend;
  std::optional<rpc::Client> calls;
  const std::shared_ptr<asio::cancellation_signal> opening = std::make_shared<asio::cancellation_signal>();
  std::vector<Closed> draining;
  bool closed = false;
};

void Client::State::open() {
  target.procedure = procedure;
  asio::co_spawn(
      context, embed::open_backend(context, loop, target),
      asio::bind_cancellation_slot(opening->slot(),
                                   [self = shared_from_this()](std::exception_ptr thrown, Result<embed::Backend> made) {
                                     self->opened(std::move(thrown), std::move(made));
                                   }));
}

void Client::State::opened(std::exception_ptr thrown, Result<embed::Backend> made) {
  if (thrown) made = make_error_code(BaseError::cancelled);
  if (closed) return;
  if (!made) {
    target.options.log.warn("cannot open a connection to {}: {}", target.address.host, made.error().message());
    return link.failed(made.error());
  }
  backend.emplace(std::move(*made));
  if (!services.empty() && backend->rdma) serve_reverse_calls();
  link.opened(backend->requester());
}

/// Starts to serve reverse calls. The ReverseHandlers run `announce` for each connection that is made from now on. If a
/// NULL call has already made a connection (opening.cpp), this function posts a call of `announce` for it.
void Client::State::serve_reverse_calls() {
  const auto announce = [this] {
    if (connected) connected();
  };
  backend->handlers = std::make_unique<rpc::ReverseHandlers>(
      *backend->rdma,
      rpc::ReverseHandlersOptions{
          .announce = announce, .bulk_budget = target.options.reverse_bulk_budget, .log = target.options.log});
  for (const auto& add_to : services) add_to(*backend->handlers, target.options.log);
  if (backend->rdma->connected())
    asio::post(context, [self = shared_from_this(), announce] {
      if (!self->closed) announce();
    });
}

void Client::State::drain(Closed handler) {
  draining.push_back(std::move(handler));
  if (closed) return end_drain();
  if (draining.size() > 1) return;
  calls->when_idle([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    if (!self->backend || !self->backend->rdma) return self->end_drain();
    self->backend->rdma->close([weak] {
      if (const auto open = weak.lock()) open->end_drain();
    });
  });
}

void Client::State::end_drain() {
  for (Closed& handler : std::exchange(draining, {})) handler();
}

/// Cancels the calls in progress. They complete after this function has returned.
void Client::State::shut() {
  closed = true;
  // After emit(), a handler that co_spawn() has posted may still use the signal. The empty handler posted below runs
  // after that handler, and keeps the signal alive until then.
  opening->emit(asio::cancellation_type::terminal);
  asio::post(context, [signal = opening] {});
  calls.reset();
  link.close();
  // No further reverse call reaches a handler; those that have begun may still be answered.
  if (backend && backend->rdma) backend->rdma->set_call_sink(nullptr);
  if (backend) asio::post(context, [gone = std::make_shared<embed::Backend>(std::move(*backend))] {});
  backend.reset();
  end_drain();
}

Client::Client(std::string_view server, ClientOptions options) {
  auto loop = std::make_shared<embed::Loop>(options.poll);
  asio::io_context& context = loop->context();
  state_ = std::make_shared<State>(loop, context, server, std::move(options));
  rpc_ = &*state_->calls;
  loop->start(loop);
}

Client::Client(asio::io_context& context, std::string_view server, ClientOptions options)
    : state_(std::make_shared<State>(nullptr, context, server, std::move(options))), rpc_(&*state_->calls) {}

Client::~Client() {
  const std::shared_ptr<embed::Loop> loop = state_->loop;
  state_->on_thread([state = state_] { state->shut(); });
  state_.reset();
  if (!loop) return;
  loop->release();
  loop->join();
}

void Client::serve(std::function<void(rpc::ReverseHandlers&, const Log&)> add_to) {
  state_->services.push_back(std::move(add_to));
}

void Client::on_connected(UniqueFunction<void()> handler) { state_->connected = std::move(handler); }

void Client::note(const rpc::ProcedureInfo& procedure) noexcept {
  if (state_->procedure.load(std::memory_order_relaxed) == nullptr)
    state_->procedure.store(&procedure, std::memory_order_relaxed);
}

void Client::drain(UniqueFunction<void(), 192> handler) {
  state_->on_thread([state = state_, handler = std::move(handler)]() mutable { state->drain(std::move(handler)); });
}

void Client::provide(std::byte* memory, std::size_t size, BufferHandler handler) {
  state_->on_thread([state = state_, memory, size, handler = std::move(handler)]() mutable {
    embed::Link& link = state->link;
    link.when_open([state = std::move(state), memory, size, handler = std::move(handler)](error_code failed) mutable {
      if (size > std::numeric_limits<std::uint32_t>::max()) failed = BaseError::invalid_argument;
      if (failed) return handler(failed, {});
      const std::shared_ptr<embed::Memory>& from = state->backend->memory;
      Result<memory::RegisteredBuffer> made = memory == nullptr ? from->pool->allocate(static_cast<std::uint32_t>(size))
                                                                : memory::adopt(*from->fabric, {memory, size});
      if (!made) return handler(made.error(), {});
      handler({}, Buffer(from, std::move(*made)));
    });
  });
}

Client::Statistics Client::statistics() const {
  std::promise<Statistics> promise;
  state_->on_thread([&state = *state_, &promise] {
    Statistics now;
    now.calls = state.link.counters();
    now.traffic = state.link.traffic();
    if (state.calls)
      for (const rpc::ProcedureReport& one : state.calls->procedures()) now.procedures.push_back(*one.statistics);
    if (state.loop) now.waits = state.loop->waits();
    if (state.backend) {
      now.connected = state.backend->rdma && state.backend->rdma->connected();
      if (state.backend->rdma) now.characteristics = state.backend->rdma->exchange().characteristics();
      now.fabric = state.backend->tcp ? "tcp" : state.backend->memory->fabric->capabilities().name;
      now.server = state.backend->server;
      if (!state.backend->tcp) now.provider = state.backend->memory->fabric->counters();
    }
    promise.set_value(std::move(now));
  });
  return promise.get_future().get();
}

}  // namespace rpcrdma
