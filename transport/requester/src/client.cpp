// SPDX-License-Identifier: BSD-3-Clause
// Operation. Connects when a call waits, and at connect(). After a loss or a failed attempt, connects again, with
// backoff, while calls wait or, before close(), a reverse service exists. State that belongs to a connection
// (thresholds, R flag, credits) starts anew.
// Ownership. There is one connection at a time; the requester outlives it.
// Errors. last_error() tells why the last attempt failed or the last connection ended. Calls wait for a connection
// until their deadlines. But if Connection::connect() itself fails with Condition::give_up, for example because the
// fabric cannot reach addresses of this kind, they fail at once.
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "client_impl.hpp"
#include "rpcrdma/base/log_reason.hpp"

namespace rpcrdma::transport {

namespace {

/// The Client that make() returns. A user may destroy it in Call::done(), which runs inside a function of ClientImpl.
/// Therefore the destructor ends the ClientImpl at once, but lets the io_context delete it later.
class ClientHandle final : public Client {
 public:
  explicit ClientHandle(std::unique_ptr<ClientImpl> impl) noexcept : impl_(std::move(impl)) {}
  ~ClientHandle() override {
    impl_->end();
    boost::asio::io_context& context = impl_->context();
    boost::asio::post(context, [impl = std::move(impl_)] {});
  }

  Requester& requester() noexcept override { return impl_->requester(); }
  void close(UniqueFunction<void()> handler) override { impl_->close(std::move(handler)); }
  error_code last_error() const noexcept override { return impl_->last_error(); }
  bool connected() const noexcept override { return impl_->connected(); }
  void connect() override { impl_->connect_now(); }
  bool connecting() const noexcept override { return impl_->connecting(); }
  CharacteristicsExchange& exchange() noexcept override { return *impl_; }
  void set_call_sink(CallSink* sink) noexcept override { impl_->set_call_sink(sink); }

 private:
  std::unique_ptr<ClientImpl> impl_;
};

}  // namespace

std::unique_ptr<Client> Client::make(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server,
                                     ClientOptions options, Log log) {
  return std::make_unique<ClientHandle>(std::make_unique<ClientImpl>(fabric, pool, server, options, std::move(log)));
}

ClientImpl::ClientImpl(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server,
                       const ClientOptions& options, Log log)
    : server_(server),
      log_(log.with({.fabric = fabric.capabilities().name, .peer = server})),
      setup_{&fabric, &pool, Role::client, options.connection, 256, 256, log_, &log_limits_},
      core_(requester_setup(fabric, options, log_), [this] { want_connection(); }),
      backoff_(options.first_backoff, options.last_backoff, core_.next_xid()),  // the first XID is random
      timer_(fabric.context()),
      version_(options.connection.version),
      version_memory_(options.version_memory) {
  core_.on_idle = [this] { close_if_idle(); };
}

RequesterSetup ClientImpl::requester_setup(fabric::Fabric& fabric, const ClientOptions& options, const Log& log) {
  RequesterSetup out;
  out.context = &fabric.context();
  out.credits = options.connection.credits;
  out.other_credits = options.connection.reverse_credits;
  out.silence = options.silence;
  out.grace = options.grace;
  out.max_long_call = options.max_long_call;
  out.max_waiting = options.max_waiting;
  out.log = log;
  return out;
}

void ClientImpl::end() noexcept {
  timer_.cancel();
  close_handler_.reset();
  // Ends the queue pair first, so that no peer can reach memory that done() returns to the caller.
  if (connection_) connection_->destroy();
  if (CallSink* const sink = std::exchange(call_sink_, nullptr)) sink->on_lost();
  core_.shut(BaseError::cancelled);
  connection_.reset();
}

void ClientImpl::want_connection() {
  if (state_ != State::idle) return;
  connect();
}

void ClientImpl::connect_now() {
  if (state_ == State::connecting || state_ == State::connected) return;
  timer_.cancel();
  connect();
}

void ClientImpl::connect() {
  state_ = State::connecting;
  choose_version();
  auto connection = Connection::connect(setup_, server_, *this);
  if (connection) {
    connection_ = std::move(*connection);
    return;
  }
  last_error_ = connection.error();
  log_.debug("cannot connect to the server: {}", Reason{last_error_});
  state_ = State::idle;
  if (last_error_ == Condition::give_up)
    core_.fail_waiting(last_error_);
  else
    wait_and_connect();
}

void ClientImpl::choose_version() noexcept {
  if (version_ != VersionChoice::automatic) return;
  const bool offer = std::chrono::steady_clock::now() >= offer_after_;
  setup_.options.version = offer ? VersionChoice::automatic : VersionChoice::one;
}

void ClientImpl::wait_and_connect() {
  state_ = State::waiting;
  const std::chrono::milliseconds wait = backoff_.next();
  log_.debug("next attempt to connect in {} ms", wait.count());
  timer_.expires_after(wait);
  timer_.async_wait(guard_.wrap([](ClientImpl& self, error_code cancelled) {
    if (cancelled || self.state_ != State::waiting) return;
    self.state_ = State::idle;
    if (self.wants_connection()) self.connect();
  }));
}

void ClientImpl::on_connected() noexcept {
  state_ = State::connected;
  last_error_ = {};
  if (std::exchange(was_connected_, true)) ++core_.mutable_counters().reconnects;
  connection_->log().debug(
      "connected to the server: send threshold {} bytes, receive threshold {} bytes, remote invalidation {}",
      connection_->thresholds().send, connection_->thresholds().receive, connection_->thresholds().remote_invalidation);
  core_.attach(connection_);
  if (call_sink_ != nullptr) call_sink_->on_connected(*connection_);
}

void ClientImpl::on_disconnected(error_code why) noexcept {
  const ConnectionPtr connection = std::move(connection_);
  connection_.reset();
  if (connection) connection->log_end(why);
  last_error_ = why ? why : error_code(TransportError::connection_lost);
  if (connection && connection->lacks_version_two()) offer_after_ = std::chrono::steady_clock::now() + version_memory_;
  // The backoff starts anew only after an answer to a call, so that a server that accepts and closes at once is retried
  // as slowly as a server that rejects.
  if (core_.proven()) backoff_.reset();
  state_ = State::idle;
  if (call_sink_ != nullptr) call_sink_->on_lost();
  core_.detach();
  if (state_ == State::idle && wants_connection()) wait_and_connect();
  close_if_idle();
}

/// [8167-5.4-a] a reverse service needs the connection even if no call waits
bool ClientImpl::wants_connection() const noexcept {
  return core_.has_waiting() || (call_sink_ != nullptr && !close_handler_);
}

void ClientImpl::on_call(Received& message) noexcept {
  core_.heard();
  if (call_sink_ != nullptr)
    call_sink_->on_call(*connection_, message);
  else
    // [8167-6-a] Without a CallSink, this client has not announced that it accepts reverse calls.
    core_.discard(message.header.xid, "a reverse call");
}

void ClientImpl::on_reply(Received& message) noexcept {
  // [8166-4.2.4-a] In version one, the connection treats an RDMA_NOMSG that has no Position-Zero Read chunk as a reply.
  // If the message has no Reply chunk either, it is malformed.
  const bool empty = message.header.procedure == wire::Procedure::nomsg && message.header.version < wire::kVersionTwo &&
                     !message.header.chunks.has_reply_chunk();
  if (empty) return on_bad_message(wire::WireError::bad_chunks, message);
  core_.on_reply(message);
}

/// Handles a malformed message. If this client serves reverse calls and none of its outstanding calls has the XID of
/// the message, the message counts as a reverse call. call_sink_ then handles it as a server does, and may answer with
/// RDMA_ERROR [8166-4.5-b]. [8166-4.2.4-c] [8166-4.5-c] [8166-4.6.1-c] [8166-4.6.2-b] Any other malformed message
/// counts as a reply, and is dropped without an answer.
void ClientImpl::on_bad_message(wire::WireError error, Received& message) noexcept {
  if (call_sink_ != nullptr && !core_.expects(message.header.xid))
    return call_sink_->on_bad_message(*connection_, error, message);
  core_.count_discarded();
  // A message that is too short may lack the XID.
  const bool known = error != wire::WireError::too_short;
  connection_->message_log(known ? std::optional(message.header.xid) : std::nullopt)
      .debug("message discarded: {}", Reason{error});
}

void ClientImpl::on_peer_error(Received& message) noexcept { core_.on_peer_error(message); }

void ClientImpl::on_batch_end() noexcept {
  core_.pump();
  if (call_sink_ != nullptr) call_sink_->on_batch_end();
  if (close_handler_) close_if_idle();
}

void ClientImpl::close(UniqueFunction<void()> handler) {
  close_handler_ = std::move(handler);
  guard_.post(context(), [](ClientImpl& self) { self.close_if_idle(); });
}

/// Closes only when all calls are over: waiting calls may still need a new connection.
void ClientImpl::close_if_idle() noexcept {
  if (!close_handler_ || core_.has_calls()) return;
  if (connection_) return connection_->close();
  timer_.cancel();
  state_ = State::idle;
  auto handler = std::move(close_handler_);
  close_handler_.reset();
  handler();
}

Characteristics ClientImpl::characteristics() const noexcept {
  return connection_ ? connection_->characteristics() : Characteristics{};
}

void ClientImpl::request(const CharacteristicChange& wanted, Handler handler) {
  if (!connection_) return handler(TransportError::no_characteristics, {});
  connection_->request_characteristics(wanted, std::move(handler));
}

void ClientImpl::change(const CharacteristicChange& wanted, Handler handler) {
  if (!connection_) return handler(TransportError::no_characteristics, {});
  connection_->change_characteristics(wanted, std::move(handler));
}

BackwardSupport ClientImpl::backward_support() const noexcept {
  return call_sink_ != nullptr ? call_sink_->support() : BackwardSupport::none;
}

void ClientImpl::set_call_sink(CallSink* sink) noexcept {
  call_sink_ = sink;
  if (connection_) connection_->backward_support_changed();
}

}  // namespace rpcrdma::transport
