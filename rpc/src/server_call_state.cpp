// SPDX-License-Identifier: BSD-3-Clause
// Operation: begin() takes a call over, and guard() looks it up in the duplicate request cache. Then the call belongs
// to its handler until reply(), reject() or drop(). These functions continue on the call's event loop: they encode and
// send the reply, complete or remove the cache entry, and release the call.
// Ownership: the state belongs to its registration and is lent to one call; the transport's call is ended exactly once.
// Error handling: a result that cannot be encoded, or for which memory is missing, becomes SYSTEM_ERR. Over RDMA, a
// reply that is too long becomes ERR_CHUNK. Any other reply that the transport cannot send ends the connection.
#include "rpcrdma/rpc/server_call_state.hpp"

#include <algorithm>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>

#include "rpcrdma/base/after_handler.hpp"
#include "rpcrdma/base/run_or_else.hpp"
#include "rpcrdma/rpc/block_memory.hpp"

namespace rpcrdma::rpc {
namespace {

/// A function to post to the event loop of `call`: it calls `run`. If the io_context is destroyed before this function
/// has run, `end` runs, but only for a call over TCP. `end` ends the call, because a call over TCP keeps its connection
/// alive until the call ends. A call over RDMA needs no `end`, because its server ends it. This server may already have
/// been destroyed, and the call with it.
template <class Run, class End>
auto run_or_end(const transport::IncomingCall& call, Run run, End end) noexcept {
  return RunOrElse(run, [over_tcp = call.over_tcp(), end] {
    if (over_tcp) end();
  });
}

}  // namespace

bool ServerCallState::begin(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in,
                            ProcedureStatistics& statistics) noexcept {
  call_ = &call;
  header_ = header;
  answer_ = {.xid = header.xid};
  data_ = Data::not_fetched;
  // [8166-6.1-b] finish() fails if the call has a chunk that matches no eligible argument. The call is then not
  // processed.
  if (decode_args(in) && in.finish()) {
    statistics_ = &statistics;
    call.measure(statistics);
    return true;
  }
  release();
  return false;
}

bool ServerCallState::guard(DuplicateCache& cache, transport::CallHandler& server, const xdr::Decoder& in,
                            CallLog& log) noexcept {
  const fabric::Endpoint& peer = call_->connection().peer;
  key_ = {peer.address(),
          header_.xid,
          header_.program,
          header_.version,
          header_.procedure,
          checksum_of(call_->payload(), in.eligible()),
          call_->over_tcp() ? peer.port() : std::uint16_t{0}};
  DuplicateCache::Reply reply;
  switch (cache.begin(key_, {call_, &server}, reply)) {
    case DuplicateCache::Found::nothing: cache_ = &cache; return true;
    case DuplicateCache::Found::in_progress:
      log.about(*call_, log.duplicates)
          .debug("call repeats a call in progress, and waits for the outcome of that call");
      break;
    case DuplicateCache::Found::reply:
      log.about(*call_, log.duplicates).debug("call answered from the duplicate request cache");
      send_verbatim(*call_, *reply);
      break;
  }
  ++statistics_->replayed;
  release();
  return false;
}

void ServerCallState::reply(ReleaseHandler release) {
  release_ = std::move(release);
  on_loop(&ServerCallState::send_result);
}

void ServerCallState::reject(AcceptStat why) {
  answer_.accept = why;
  on_loop(&ServerCallState::send_rejection);
}

void ServerCallState::reject(AuthStat why) {
  answer_.kind = ReplyHeader::Kind::auth_error;
  answer_.auth = why;
  on_loop(&ServerCallState::send_rejection);
}

void ServerCallState::drop() noexcept {
  answer_.accept = AcceptStat::system_err;
  if (data_ == Data::failed) return on_loop(&ServerCallState::send_rejection);
  on_loop(&ServerCallState::send_failure);
}

void ServerCallState::on_loop(void (ServerCallState::*step)() noexcept) {
  boost::asio::io_context& context = call_->context();
  if (context.get_executor().running_in_this_thread()) return (this->*step)();
  const auto end = [this] {
    transport::IncomingCall& call = *call_;
    if (cache_ != nullptr) {
      for (const AttachedCall& attached : std::exchange(cache_, nullptr)->forget(key_))
        if (&attached.call->context() == &call.context()) attached.call->discard();
    }
    // Destroys the release handler without calling it, because its captures may refer to objects that no longer exist.
    release_ = {};
    staged_.clear();
    release();
    call.discard();
  };
  const auto run = [this, step] {
    if (call_->over_tcp()) return (this->*step)();
    const HandlerScope scope(call_->context());  // does not throw: the connection has made an AfterHandler
    (this->*step)();
  };
  boost::asio::post(context,
                    boost::asio::bind_allocator(PostAllocator<void>(post_memory_), run_or_end(*call_, run, end)));
}

BufferRef ServerCallState::stage(std::uint32_t size) {
  Result<memory::RegisteredBuffer> buffer = call_->pool().allocate(size);
  if (!buffer) return {};
  staged_.push_back(std::move(*buffer));
  return staged_.back().ref();
}

void ServerCallState::send_result() noexcept {
  const auto chunks = call_->write_chunks();
  const bool usable = std::any_of(chunks.begin(), chunks.end(), [](std::uint32_t room) { return room != 0; });
  PayloadBuilder& message = call_->reply();
  xdr::Encoder out(message, usable ? this : nullptr);
  encode(out, answer_);
  encode_result(out);
  settle(message);
  // [8166-4.5.3-b] The transport also takes a reply that is too long. RPC-over-RDMA sends ERR_CHUNK in its place. TCP
  // ends the connection.
  if (message.ok() || message.failure() == BuildFailure::too_long) return send(message);
  send_error(AcceptStat::system_err);
}

/// Sends the error reply to a call whose procedure may have been run. If the duplicate request cache holds the call, it
/// keeps this reply, so that the procedure does not run again if the client repeats the call.
void ServerCallState::send_failure() noexcept {
  PayloadBuilder& message = call_->reply();
  xdr::Encoder out(message);
  encode(out, answer_);
  settle(message);
  send(message);
}

/// Sends the error reply to a call whose procedure has not been run. Removes the call from the duplicate request cache,
/// so that the procedure can run if the client repeats the call.
void ServerCallState::send_rejection() noexcept {
  abandon();
  send_error(answer_.accept);
}

void ServerCallState::send_error(AcceptStat why) noexcept {
  answer_.accept = why;
  PayloadBuilder& message = call_->reply();
  xdr::Encoder out(message);
  encode(out, answer_);
  send(message);
}

void ServerCallState::count_reply(const PayloadBuilder& message) noexcept {
  ProcedureStatistics& counted = *statistics_;
  counted.reply_size.add(message.payload().length);
  if (answer_.kind != ReplyHeader::Kind::accepted || answer_.accept != AcceptStat::success)
    ++counted.errors;
  else if (const std::uint32_t status = result_status(); status != 0)
    counted.fail(status);
}

void ServerCallState::send(const PayloadBuilder& message) noexcept {
  count_reply(message);
  call_->send([this](error_code status) { sent(status); });
}

/// Encodes the reply for the duplicate request cache into separate memory. Called if encoding it into the transport's
/// memory has failed.
std::vector<std::byte> ServerCallState::encode_apart() noexcept {
  BlockMemory memory;
  PayloadBuilder message;
  memory.start(message);
  xdr::Encoder out(message);
  encode(out, answer_);
  if (answer_.accept == AcceptStat::success && !encode_result(out)) {
    memory.start(message);
    encode(out, {.xid = answer_.xid, .accept = AcceptStat::system_err});
  }
  return flatten(message.payload());
}

/// Keeps the reply in the cache, and sends it to the calls that are attached to this call.
void ServerCallState::settle(const PayloadBuilder& message) noexcept {
  if (cache_ == nullptr) return;
  const auto reply =
      std::make_shared<const std::vector<std::byte>>(message.ok() ? flatten(message.payload()) : encode_apart());
  for (const AttachedCall& attached : std::exchange(cache_, nullptr)->complete(key_, reply)) {
    transport::IncomingCall* call = attached.call;
    boost::asio::post(call->context(),
                      run_or_end(
                          *call, [call, reply] { send_verbatim(*call, *reply); }, [call] { call->discard(); }));
  }
}

/// Removes this call from the duplicate request cache, if the cache holds it. Each call that was attached to this call
/// is passed to its server again, on the thread of that call. The server then treats it as if it had just arrived.
void ServerCallState::abandon() noexcept {
  if (cache_ == nullptr) return;
  for (const AttachedCall& attached : std::exchange(cache_, nullptr)->forget(key_))
    boost::asio::post(attached.call->context(),
                      run_or_end(
                          *attached.call, [attached] { attached.server->on_call(*attached.call); },
                          [attached] { attached.call->discard(); }));
}

void ServerCallState::sent(error_code status) noexcept {
  ReleaseHandler handler = std::move(release_);
  staged_.clear();
  release();
  if (handler) handler(status);
}

void ServerCallState::release() noexcept {
  free_args();
  call_ = nullptr;
  give_back();
}

void send_verbatim(transport::IncomingCall& call, const std::vector<std::byte>& message) noexcept {
  call.reply().octets(message);
  call.send([](error_code) {});
}

void send_header(transport::IncomingCall& call, const ReplyHeader& header) noexcept {
  xdr::Encoder out(call.reply());
  encode(out, header);
  call.send([](error_code) {});
}

}  // namespace rpcrdma::rpc
