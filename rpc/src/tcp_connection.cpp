// SPDX-License-Identifier: BSD-3-Clause
// Operation: at most one read and one wait for room in the socket are outstanding, and a timer checks for progress.
// flush() writes replies to the socket directly, from memory or from a pipe. Without calls, the timer waits until the
// connection has been idle for too long, or until the next record begins.
// Ownership: the connection is shared by its operations and calls; its worker lists it until it is closed.
// Error handling: any error closes the connection. Its calls stay valid, and their replies are dropped.
#include "tcp_connection.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>

#include "rpcrdma/base/host_path.hpp"
#include "rpcrdma/base/log_reason.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::rpc {

using boost::asio::ip::tcp;

namespace {

/// The maximum number of bytes and buffers per system call. Between two system calls the event loop serves other
/// connections.
constexpr std::size_t kMostBytes = 1u << 20;
constexpr std::size_t kMostParts = 128;
/// The time that the peer has to close its side of the connection after part() has shut down this side. Then the socket
/// is closed.
constexpr std::chrono::seconds kFarewell{1};

/// Calls `send`, which offers `offered` bytes to a socket, again if a signal interrupts it. Returns the number of bytes
/// that the socket has taken. Sets `status` to would_block if it has not taken all, to the error, or to success.
template <class Send>
std::size_t sent_of(error_code& status, std::size_t offered, Send send) noexcept {
  ssize_t sent = 0;
  do {
    sent = send();
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    status = error_code(errno, boost::system::system_category());
    return 0;
  }
  status = {};
  const auto taken = static_cast<std::size_t>(sent);
  if (taken < offered) status = boost::asio::error::would_block;
  return taken;
}

}  // namespace

TcpConnection::TcpConnection(std::shared_ptr<TcpWorkerState> worker, tcp::socket socket, fabric::Endpoint peer)
    : worker_(std::move(worker)),
      peer_(worker_->enter(peer.address())),
      reply_share_(peer_->replies),
      record_share_(peer_->records),
      socket_(std::move(socket)),
      timer_(worker_->context()),
      reader_(worker_->shared->options.max_record, kUncounted) {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  info_.number = next_connection_number();
  info_.fabric = "tcp";
  info_.local = socket_.local_endpoint(ignored);
  info_.peer = std::move(peer);
  if (within_host(info_.local.address(), info_.peer.address())) do_not_pace(socket_.native_handle());
  log_ = worker_->shared->log.with(info_.subject());
  worker_->add(*this);
}

TcpConnection::~TcpConnection() { close(); }

void TcpConnection::start() {
  reader_.on_begin = [this] {
    if (std::exchange(sleeps_, false)) watch();
  };
  log_.debug("connection accepted");
  watch();
  read_next();
}

void TcpConnection::end(error_code why) noexcept {
  if (!open_) return;
  if (!why || (why == boost::asio::error::eof && !reader_.partial()))
    end_log().debug("connection ended: {}", Reason{});
  else
    end_log().info("connection ended: {}", Reason{why});
  shut();
}

void TcpConnection::end_because(const char* why) noexcept {
  if (open_) end_log().info("connection ended: {}", why);
  shut();
}

void TcpConnection::shut() noexcept {
  if (!std::exchange(open_, false)) return;
  const auto alive = weak_from_this().lock();
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  worker_->shared->leave(info_.peer.address());
  worker_->remove(*this);
  withdraw();
  awaits_room_.reset();
  record_share_.release(std::exchange(record_reserved_, 0));
  // Ends the wait of each call that waits for memory, with the error connection_lost. A call stays valid until its
  // handler ends it. If the handler sends a reply, the reply is dropped.
  for (const auto& call : calls_) serving_bytes_ -= call->give_up();
}

transport::ConnectionReport TcpConnection::report(std::chrono::steady_clock::time_point now) const {
  transport::ConnectionReport out;
  out.number = info_.number;
  out.peer = info_.peer;
  out.fabric = info_.fabric;
  out.age = std::chrono::duration_cast<std::chrono::milliseconds>(now - accepted_at_);
  out.version = 0;
  out.statistics = statistics();
  out.traffic.calls = out.traffic.inline_calls = out.traffic.receives = calls_taken_;
  out.traffic.receive_bytes = received_;
  out.traffic.send_bytes = written_;
  return out;
}

void TcpConnection::drain() noexcept {
  draining_ = true;
  if (serving_ == 0) return part();
  error_code ignored;
  socket_.cancel(ignored);  // ends an outstanding read
}

/// Shuts down the sending side of the connection at once. Then reads and discards what the peer still sends, and closes
/// the connection when the peer has closed its side, after kFarewell at the latest. If the connection were closed while
/// calls are unread, TCP would reset it, and the peer could lose replies that it has not read yet.
void TcpConnection::part() noexcept {
  if (!open_ || std::exchange(parting_, true)) return;
  const auto alive = shared_from_this();
  withdraw();
  awaits_room_.reset();
  error_code ignored;
  socket_.cancel(ignored);
  error_code failed;
  socket_.shutdown(tcp::socket::shutdown_send, failed);
  if (failed) return close();
  timer_.expires_after(kFarewell);
  timer_.async_wait([self = shared_from_this()](error_code status) {
    if (!status) self->close();
  });
  discard(std::make_shared<std::array<std::byte, 16384>>());
}

void TcpConnection::discard(std::shared_ptr<std::array<std::byte, 16384>> buffer) {
  const auto target = boost::asio::buffer(*buffer);
  socket_.async_read_some(target,
                          [self = shared_from_this(), buffer = std::move(buffer)](error_code status, std::size_t) {
                            if (status || !self->open_) return self->close();
                            self->discard(buffer);
                          });
}

void TcpConnection::watch() {
  const TcpServerOptions& options = worker_->shared->options;
  using Duration = Standstill::Clock::duration;
  const auto often = std::min<Duration>({options.idle_timeout, options.stall_timeout, options.pressed_timeout}) / 2;
  timer_.expires_at(sleeps_ ? idle_.since() + options.idle_timeout : Standstill::Clock::now() + often);
  timer_.async_wait([self = weak_from_this()](error_code status) {
    const auto connection = self.lock();
    if (connection && !status && connection->open_ && !connection->parting_) connection->on_tick();
  });
}

void TcpConnection::on_tick() {
  const TcpServerOptions& options = worker_->shared->options;
  const auto now = Standstill::Clock::now();
  const bool expects_more = reader_.partial() && !waits();
  const auto reading = reading_stands_.look(expects_more, reader_.steps(), now);
  const auto writing = writing_stands_.look(writing_, writing_ ? acknowledged() : 0, now);
  const auto idle = idle_.look(serving_ == 0, reader_.steps(), now);
  const bool records_awaited = record_share_.is_awaited();
  if ((reading >= options.pressed_timeout && record_reserved_ != 0 && records_awaited) ||
      (writing >= options.pressed_timeout && (records_awaited || reply_share_.is_awaited()))) {
    return end_because("it makes no progress and holds memory that other connections wait for");
  }
  if (std::max(reading, writing) >= options.stall_timeout) return end_because("a record or a reply made no progress");
  if (idle >= options.idle_timeout) return end_because("it was idle");
  // Releases the memory that the records of earlier calls have used. The record of a call in progress is still in use,
  // so this is done only if no call is in progress.
  if (serving_ == 0) {
    for (const auto& call : calls_) Record().swap(call->record());
    reader_.shrink();
  }
  worker_->trim();
  sleeps_ = idle != Standstill::Clock::duration::zero() && !reader_.partial();
  watch();
}

bool TcpConnection::may_read() const noexcept {
  const TcpServerOptions& options = worker_->shared->options;
  return open_ && !reading_ && !draining_ && serving_ < options.max_calls && serving_bytes_ < options.max_call_bytes;
}

void TcpConnection::read_next() {
  if (!may_read()) return;
  reading_ = true;
  reader_.async_read(socket_, [self = shared_from_this()](error_code status) { self->on_read(status); });
}

void TcpConnection::on_read(error_code status) {
  const auto alive = shared_from_this();
  receiving_ = true;
  for (std::optional<error_code> outcome = status; outcome;) {
    // A call that arrives while the server shuts down is not served. The client sends it again on its next connection.
    if (draining_ && serving_ != 0) break;
    if (draining_ && open_) {
      part();
      break;
    }
    if (*outcome || !open_) {
      // A peer that has closed its direction still receives the replies that are ready and that the socket takes.
      while (open_ && !writing_ && !replies_.empty()) flush();
      end(*outcome);
      break;
    }
    if (reader_.wanted() != 0) {
      await_room();
      break;
    }
    on_record();
    reading_ = false;
    if (!may_read()) break;
    reading_ = true;
    outcome = reader_.read_received();
    if (!outcome) reader_.async_go_on(socket_, [self = alive](error_code next) { self->on_read(next); });
  }
  receiving_ = false;
  flush();
}

void TcpConnection::await_room() {
  awaits_room_ = shared_from_this();
  record_share_.acquire(*this, reader_.wanted());
}

void TcpConnection::on_budget(std::size_t bytes) noexcept {
  const auto self = std::exchange(awaits_room_, {});
  record_reserved_ = bytes;
  reader_.use(worker_->record_store.take(bytes));
  reader_.async_go_on(socket_, [self](error_code status) { self->on_read(status); });
}

/// The number of bytes of replies that the peer's host has acknowledged.
std::uint64_t TcpConnection::acknowledged() noexcept {
  int left = 0;
  if (::ioctl(socket_.native_handle(), SIOCOUTQ, &left) != 0 || left < 0) left = 0;
  return written_ - std::min(written_, static_cast<std::uint64_t>(left));
}

void TcpConnection::on_record() {
  TcpCall* const idle = calls_.try_take();
  TcpCall& call = idle != nullptr ? *idle : calls_.add(std::make_unique<TcpCall>());
  if (!call.start(shared_from_this(), reader_.record())) {
    calls_.give_back(call);
    return end_because("the peer sent a record that is not a call");
  }
  call.record_reserved = std::exchange(record_reserved_, 0);
  ++calls_taken_;
  received_ += call.record_size();
  ++serving_;
  serving_bytes_ += call.record_size();
  worker_->count_call();
  worker_->handler().on_call(call);
}

void TcpConnection::ended(TcpCall& call) noexcept {
  --serving_;
  serving_bytes_ -= call.record_size() + call.reserved;
  calls_.give_back(call);
  if (call.record_reserved != 0) worker_->record_store.put(std::exchange(call.record(), {}));
  record_share_.release(std::exchange(call.record_reserved, 0));
  reply_share_.release(std::exchange(call.reserved, 0));
  if (draining_ && serving_ == 0) return part();
  read_next();
}

void TcpConnection::reserve(TcpCall& call, std::uint32_t bytes, transport::IncomingCall::Handler handler) {
  if (bytes > worker_->shared->options.bulk_budget) return handler(BaseError::out_of_memory);
  if (!open_) return handler(transport::TransportError::connection_lost);
  if (bytes <= kUncounted) return handler({});
  serving_bytes_ += bytes;
  call.await(reply_share_, bytes, std::move(handler));
}

void TcpConnection::write(TcpCall& call) noexcept {
  replies_.push_back(&call);
  if (receiving_ || flushing_ || writing_) return;
  // If other calls are in progress, their replies may be ready soon, and go with this one.
  serving_ == 1 ? flush() : flush_soon();
}

void TcpConnection::flush_soon() {
  if (std::exchange(flush_posted_, true)) return;
  boost::asio::post(worker_->context(), [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void TcpConnection::flush() {
  if (writing_ || replies_.empty()) return;
  // Keeps this object alive, because TcpCall::written() may release the last other reference to it.
  const auto alive = shared_from_this();
  error_code status = transport::TransportError::connection_lost;
  std::size_t sent = open_ ? send_replies(status) : 0;
  flushing_ = true;
  if (status == boost::asio::error::would_block) {
    writing_ = true;
    socket_.async_wait(tcp::socket::wait_write, [self = alive](error_code failed) {
      self->writing_ = false;
      // drain() cancels all operations of the socket in order to end a read. If it cancels this wait, the connection
      // stays open, and flush() goes on with the replies.
      if (failed && failed != boost::asio::error::operation_aborted) self->end(failed);
      self->flush();
    });
  } else if (status) {
    end(status);
  }
  written_ += sent;
  sent += front_written_;
  while (!replies_.empty()) {
    TcpCall* const call = replies_.front();
    const bool complete = sent >= call->reply_size();
    if (!complete && open_) break;
    sent = complete ? sent - call->reply_size() : 0;
    replies_.pop_front();
    call->written(complete ? error_code() : transport::TransportError::connection_lost);
  }
  front_written_ = sent;
  flushing_ = false;
  if (!replies_.empty() && !writing_) flush_soon();
}

/// Passes the next bytes of the waiting replies to the socket, up to a limit. Returns the number of bytes that the
/// socket has taken. Sets `status` to would_block if the socket takes no more at present, to the socket's error, or to
/// success. Sends what comes before the contents of a pipe by one system call, and these by another one.
std::size_t TcpConnection::send_replies(error_code& status) {
  gather_.clear();
  const TcpCall* piped = nullptr;  // the first call with bytes in a pipe
  std::size_t bytes = 0;
  for (TcpCall* const call : replies_) {
    const std::size_t skipped = call == replies_.front() ? front_written_ : 0;
    if (bytes >= kMostBytes || gather_.size() >= kMostParts) break;
    call->gather(gather_, skipped);
    bytes += call->reply_size() - skipped;
    if (call->pipe() < 0) continue;
    piped = call;
    break;
  }
  std::array<iovec, kMostParts> parts;
  std::size_t offered = 0;
  std::size_t in_pipe = 0;  // bytes that follow `parts` and are in the pipe of `piped`
  bool last = true;         // no bytes of this reply follow those in the pipe
  msghdr message{};
  message.msg_iov = parts.data();
  for (const auto& part : gather_) {
    if (message.msg_iovlen == parts.size() || offered >= kMostBytes) break;
    if (part.data() == nullptr) {
      in_pipe = part.size();
      last = &part == &gather_.back();
      break;
    }
    const std::size_t size = std::min(part.size(), kMostBytes - offered);
    parts[message.msg_iovlen++] = {const_cast<std::byte*>(part.data()), size};
    offered += size;
  }
  std::size_t taken = 0;
  if (offered != 0) {
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (in_pipe != 0 ? MSG_MORE : 0);
    taken = sent_of(status, offered, [&] { return ::sendmsg(socket_.native_handle(), &message, flags); });
    if (status) return taken;
  }
  if (in_pipe == 0) return taken;
  if (piped == nullptr) {
    status = BaseError::invalid_argument;
    return taken;
  }
  // SPLICE_F_NONBLOCK concerns the pipe only. The socket does not block because Asio has set O_NONBLOCK: a connection
  // reads before it writes.
  const unsigned flags = SPLICE_F_NONBLOCK | (last ? 0 : SPLICE_F_MORE);
  const std::size_t moved = sent_of(status, in_pipe, [&] {
    return ::splice(piped->pipe(), nullptr, socket_.native_handle(), nullptr, in_pipe, flags);
  });
  // The pipe is empty, or the socket is full.
  int left = 0;
  if (status == boost::asio::error::would_block && (::ioctl(piped->pipe(), FIONREAD, &left) != 0 || left == 0))
    status = BaseError::invalid_argument;
  return taken + moved;
}

}  // namespace rpcrdma::rpc
