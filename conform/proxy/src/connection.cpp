// SPDX-License-Identifier: BSD-3-Clause
// Operation: one coroutine for each direction reads bytes, divides them into frames, applies the faults of the plan to
// each frame, and writes. It reads again only after that, unless a fault joins frames.
// Ownership: the coroutines keep the connection alive; close() ends their waits.
// Error handling: the end of a stream is passed on; an error of one connection resets both. If the server cannot be
// reached, the client's connection is closed.
#include "connection.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

#include "rewrite.hpp"

namespace rpcrdma::proxy {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kInput = 2 * kMaxFrame;
static_assert(kInput > kMaxFrame, "a whole frame fits");

auto into(error_code& failed) { return asio::redirect_error(asio::use_awaitable, failed); }

asio::io_context& context_of(Tcp::socket& socket) {
  return static_cast<asio::io_context&>(socket.get_executor().context());
}

}  // namespace

Connection::Half::Half(Side its_side, asio::io_context& context)
    : side(its_side), frames(its_side), input(kInput), timer(context) {}

Connection::Connection(Tcp::socket client, std::uint32_t number, Director& director, Counters& counters, Log log)
    : client_(std::move(client)),
      server_(context_of(client_)),
      number_(number),
      plan_(director, number),
      counters_(counters),
      log_(std::move(log)),
      to_server_(Side::to_server, context_of(client_)),
      to_client_(Side::to_client, context_of(client_)) {}

void Connection::start(const Tcp::endpoint& server, std::function<void()> ended) {
  ended_ = std::move(ended);
  asio::co_spawn(
      client_.get_executor(), [self = shared_from_this(), server] { return self->run(server); },
      [self = shared_from_this()](const std::exception_ptr&) {
        self->close(false);
        self->ended_();
      });
}

void Connection::close(bool reset) noexcept {
  closed_ = true;
  for (Tcp::socket* socket : {&client_, &server_}) {
    error_code ignored;
    if (reset) socket->set_option(asio::socket_base::linger(true, 0), ignored);
    socket->close(ignored);
  }
  to_server_.timer.cancel();
  to_client_.timer.cancel();
}

asio::awaitable<void> Connection::run(Tcp::endpoint server) {
  error_code failed;
  co_await server_.async_connect(server, into(failed));
  if (failed) {
    log_.warn("connection {}: cannot connect to the server at {} port {}: {}; closing the client's connection", number_,
              server.address().to_string(), server.port(), failed.message());
    co_return;
  }
  for (Tcp::socket* socket : {&client_, &server_}) socket->set_option(Tcp::no_delay(true), failed);
  log_.debug("connection {}: connected to the server; relaying", number_);
  for (const Rule& rule : plan_.rules())
    log_.debug("connection {}: messages are checked against the rule {}", number_, to_text(rule));
  asio::steady_timer both(client_.get_executor(), asio::steady_timer::time_point::max());
  running_ = 2;
  for (Half* half : {&to_server_, &to_client_})
    asio::co_spawn(
        client_.get_executor(), [self = shared_from_this(), half] { return self->forward(*half); },
        [this, &both](const std::exception_ptr& thrown) {
          if (thrown) close(false);
          if (--running_ == 0) both.cancel();
        });
  while (running_ != 0) co_await both.async_wait(into(failed));
}

asio::awaitable<void> Connection::forward(Half& half) {
  error_code ignored;
  while (!closed_) {
    const More more = co_await receive(half);
    if (more == More::no) break;
    co_await pass_frames(half);
    if (half.join.count() != 0) co_await join(half);
    co_await flush(half);
  }
  if (closed_) co_return;
  half.output.insert(half.output.end(), half.input.begin(),
                     half.input.begin() + static_cast<std::ptrdiff_t>(half.held));
  half.held = 0;
  co_await flush(half);
  if (!closed_) sink(half).shutdown(Tcp::socket::shutdown_send, ignored);
}

/// Applies a rule with the action `join` to the frames in `half.output`. Waits for the time of the rule. If bytes have
/// arrived by then, reads once and appends their frames, so that the caller's flush() writes all frames together.
asio::awaitable<void> Connection::join(Half& half) {
  error_code ignored;
  co_await wait(half, std::exchange(half.join, Time{0}));
  if (closed_ || source(half).available(ignored) == 0) co_return;
  const More more = co_await receive(half);
  if (more == More::yes) co_await pass_frames(half);
}

asio::awaitable<Connection::More> Connection::receive(Half& half) {
  error_code failed;
  const std::size_t got = co_await source(half).async_read_some(
      asio::buffer(half.input.data() + half.held, half.input.size() - half.held), into(failed));
  half.held += got;
  if (!failed) co_return More::yes;
  if (failed != asio::error::eof && !closed_) {
    log_.debug("connection {}: direction {}: cannot receive: {}; resetting both sides", number_, name_of(half.side),
               failed.message());
    close(true);
  }
  co_return More::no;
}

asio::awaitable<void> Connection::pass_frames(Half& half) {
  std::size_t begin = 0;
  while (!closed_) {
    const MutableOctets waiting = MutableOctets(half.input).subspan(begin, half.held - begin);
    const bool framed = !half.frames.unframed();
    const auto frame = half.frames.next(waiting);
    if (framed && half.frames.unframed()) unframe(half, "does not begin with an MPA start-up frame");
    if (half.frames.unframed()) half.output.insert(half.output.end(), waiting.begin(), waiting.end());
    begin += frame ? frame->size : half.frames.unframed() ? waiting.size() : 0;
    if (!frame) break;
    co_await pass(half, *frame, waiting.first(frame->size));
  }
  std::memmove(half.input.data(), half.input.data() + begin, half.held - begin);
  half.held -= begin;
}

asio::awaitable<void> Connection::pass(Half& half, Frame frame, MutableOctets bytes) {
  ++counters_.frames;
  if (frame.first) ++counters_.messages[static_cast<std::size_t>(frame.kind)];
  note_start_up(half, frame);
  if (frame.first) half.split.reset();
  for (Fault& fault : plan_.judge(half.side, frame)) {
    co_await apply(half, std::move(fault), frame, bytes);
    if (closed_) co_return;
  }
  if (half.cut)
    co_await cut(half, frame, bytes);
  else if (half.split)
    co_await write_pieces(half, frame, bytes);
  else
    half.output.insert(half.output.end(), bytes.begin(), bytes.end());
}

asio::awaitable<void> Connection::apply(Half& half, Fault fault, const Frame& frame, MutableOctets bytes) {
  const Rule rule = fault.rule;
  std::string what;
  switch (rule.action) {
    case Action::cut:
    case Action::drop_reply:
      half.cut = fault;
      half.cut_in = rule.after;
      what = fmt::format("after {} bytes of it", rule.after);
      break;
    case Action::split:
      half.split = fault;
      what = rule.size == 0 ? "into pieces of random sizes" : fmt::format("into pieces of {} bytes", rule.size);
      break;
    case Action::join:
      half.join = rule.time;
      what = fmt::format("with the data that arrives within {} ms", rule.time.count());
      break;
    case Action::delay: what = fmt::format("by {} ms", rule.time.count()); break;
    case Action::hold:
      what = fmt::format("for {} ms", rule.time.count());
      if (rule.bytes != 0) what += fmt::format(", or until {} bytes have passed the other way", rule.bytes);
      break;
    case Action::flip: what = flip(fault, frame, bytes); break;
    case Action::credits: what = lower(fault, frame, bytes); break;
  }
  report(half, frame, fault, what);
  if (rule.action != Action::delay && rule.action != Action::hold) co_return;
  // Writes the bytes before this frame at once: the rule delays or holds only the frame and what follows it.
  co_await flush(half);
  if (rule.action == Action::delay)
    co_await wait(half, rule.time);
  else
    co_await hold(half, rule);
}

/// Returns a description of the change; empty if nothing was changed.
std::string Connection::flip(Fault& fault, const Frame& frame, MutableOctets bytes) {
  const bool has_crc = uses_crc() && frame.kind != Kind::mpa_request && frame.kind != Kind::mpa_reply;
  const auto bit = bit_to_flip(fault, frame);
  if (!bit || (fault.rule.only_with_crc && !has_crc)) return {};
  flip_bit(bytes, *bit);
  if (!has_crc) return fmt::format("bit {}, no CRC", *bit);
  if (fault.rule.fix_crc) write_crc(bytes);
  return fmt::format("bit {}, CRC {}", *bit, fault.rule.fix_crc ? "fixed" : "kept");
}

std::string Connection::lower(const Fault& fault, const Frame& frame, MutableOctets bytes) {
  if (!frame.rpc) return {};
  const auto before = lower_credits(bytes, fault.rule.grant);
  if (!before) return {};
  if (uses_crc()) write_crc(bytes);
  return fmt::format("{} instead of {}", fault.rule.grant, *before);
}

/// Waits for `time` on the timer of `half`. Returns true if the connection is already closed, or if the timer was
/// cancelled before it expired.
asio::awaitable<bool> Connection::wait(Half& half, Time time) {
  if (closed_) co_return true;
  error_code cancelled;
  half.timer.expires_after(time);
  co_await half.timer.async_wait(into(cancelled));
  co_return cancelled.failed();
}

asio::awaitable<void> Connection::hold(Half& half, const Rule& rule) {
  if (rule.bytes != 0) half.release = other(half).passed + rule.bytes;
  const bool released = co_await wait(half, rule.time);
  if (released && !closed_)
    log_.debug("connection {}: direction {}: the hold ended: enough bytes have passed in the other direction", number_,
               name_of(half.side));
  half.release.reset();
}

/// Passes on the part of `bytes` that lies before the place of the cut in the message. Ends both connections when it
/// has passed on all bytes before this place, or the whole message if the message is shorter.
asio::awaitable<void> Connection::cut(Half& half, const Frame& frame, Octets bytes) {
  const std::size_t passed = std::min(half.cut_in, bytes.size());
  half.output.insert(half.output.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(passed));
  half.cut_in -= passed;
  if (half.cut_in != 0 && !frame.last) co_return;
  co_await flush(half);
  close(half.cut->rule.reset);
}

asio::awaitable<void> Connection::write_pieces(Half& half, const Frame& frame, Octets bytes) {
  constexpr std::uint32_t kLargestRandom = 4096;
  co_await flush(half);
  while (!bytes.empty() && !closed_) {
    const std::uint32_t size = half.split->rule.size;
    const std::size_t piece = size != 0 ? size : half.split->dice.between(1, kLargestRandom);
    co_await write(half, bytes.first(std::min(piece, bytes.size())));
    bytes = bytes.subspan(std::min(piece, bytes.size()));
  }
  if (frame.last) half.split.reset();
}

asio::awaitable<void> Connection::flush(Half& half) {
  co_await write(half, half.output);
  half.output.clear();
}

asio::awaitable<void> Connection::write(Half& half, Octets bytes) {
  if (closed_ || bytes.empty()) co_return;
  error_code failed;
  const std::size_t written =
      co_await asio::async_write(sink(half), asio::buffer(bytes.data(), bytes.size()), into(failed));
  half.passed += written;
  counters_.bytes += written;
  Half& held = other(half);
  if (held.release && half.passed >= *held.release) held.timer.cancel();
  if (failed && !closed_) close(true);
}

void Connection::note_start_up(const Half& half, const Frame& frame) {
  if (frame.kind != Kind::mpa_request && frame.kind != Kind::mpa_reply) return;
  const auto& flags = half.frames.flags();
  if (flags && flags->reject && half.side == Side::to_client) {
    unframe(to_server_, "belongs to a rejected connection");
    unframe(to_client_, "belongs to a rejected connection");
    return;
  }
  // The sender of an MPA frame with the markers flag asks for markers in the FPDUs that it receives. Therefore markers
  // are in the direction opposite to that of the frame. That direction stays framed until its own start-up frame has
  // been read, because the flags of that frame matter too.
  for (Half* one : {&to_server_, &to_client_}) {
    const auto& asked = other(*one).frames.flags();
    if (one->frames.flags() && asked && asked->markers) unframe(*one, "has markers");
  }
}

void Connection::unframe(Half& half, std::string_view why) {
  log_.warn("connection {}: no faults are injected into direction {}, which {}", number_, name_of(half.side), why);
  ++counters_.unframed;
  half.frames.unframe();
}

/// CRCs are in use if either side asks for them.
bool Connection::uses_crc() const noexcept {
  const auto asks = [](const Half& half) { return half.frames.flags() && half.frames.flags()->crc; };
  return asks(to_server_) || asks(to_client_);
}

void Connection::report(const Half& half, const Frame& frame, const Fault& fault, const std::string& what) {
  const Rule& rule = fault.rule;
  if (what.empty()) {
    ++counters_.skipped;
    log_.info("skipped fault: connection={} {} {} {}: {} does not apply to this frame", number_, name_of(half.side),
              name_of(frame.kind), fault.number, name_of(rule.action));
    return;
  }
  ++counters_.faults[static_cast<std::size_t>(rule.action)];
  const std::string line = fmt::format("fault connection={} {} {} {}: {} {}", number_, name_of(half.side),
                                       name_of(frame.kind), fault.number, name_of(rule.action), what);
  if (fault.begins)
    log_.info("{}", line);
  else
    log_.debug("{}", line);
}

}  // namespace rpcrdma::proxy
