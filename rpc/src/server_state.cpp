// SPDX-License-Identifier: BSD-3-Clause
// Operation: begin() takes a call over, guard() asks the duplicate cache, and then the call is its handler's until
// reply(), reject() or drop(), which go on at the call's loop: encode, tell the cache, send, release.
// Ownership: the state belongs to its registration and is lent to one call; the transport's call is ended exactly once.
// Error handling: what cannot be encoded answers SYSTEM_ERR; what cannot even hold that is discarded.
#include "rpcrdma/rpc/server_state.hpp"

#include <algorithm>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>

#include "rpcrdma/rpc/block_memory.hpp"

namespace rpcrdma::rpc {
namespace {

void send_to(const std::vector<transport::IncomingCall*>& attached, const DuplicateCache::Reply& reply) {
  for (transport::IncomingCall* call : attached)
    boost::asio::post(call->context(), [call, reply] { send_verbatim(*call, *reply); });
}

void send_or_discard(transport::IncomingCall& call, const PayloadBuilder& out) noexcept {
  if (!out.ok()) return call.discard();
  call.send([](error_code) {});
}

}  // namespace

bool ServerState::begin(transport::IncomingCall& call, const CallHeader& header, xdr::Decoder& in) noexcept {
  call_ = &call;
  header_ = header;
  answer_ = {.xid = header.xid};
  // [8166-6.1-b] a chunk that met no eligible argument: not processed
  if (decode_args(in) && in.finish()) return true;
  rest();
  return false;
}

bool ServerState::guard(DuplicateCache& cache) noexcept {
  const fabric::Endpoint& peer = call_->connection().peer;
  key_ = {peer.address(),
          header_.xid,
          header_.program,
          header_.version,
          header_.procedure,
          checksum_of(call_->payload()),
          call_->over_tcp() ? peer.port() : std::uint16_t{0}};
  DuplicateCache::Reply reply;
  switch (cache.begin(key_, *call_, reply)) {
    case DuplicateCache::Found::nothing: cache_ = &cache; return true;
    case DuplicateCache::Found::in_progress: break;
    case DuplicateCache::Found::reply: send_verbatim(*call_, *reply); break;
  }
  rest();
  return false;
}

void ServerState::reply(ReleaseHandler release) {
  release_ = std::move(release);
  on_loop(&ServerState::send_result);
}

void ServerState::reject(AcceptStat why) {
  answer_.accept = why;
  on_loop(&ServerState::send_error);
}

void ServerState::reject(AuthStat why) {
  answer_.kind = ReplyHeader::Kind::auth_error;
  answer_.auth = why;
  on_loop(&ServerState::send_error);
}

void ServerState::drop() noexcept { reject(AcceptStat::system_err); }

void ServerState::on_loop(void (ServerState::*step)() noexcept) {
  boost::asio::io_context& context = call_->context();
  if (context.get_executor().running_in_this_thread()) return (this->*step)();
  boost::asio::post(context,
                    boost::asio::bind_allocator(PostAllocator<void>(post_memory_), [this, step] { (this->*step)(); }));
}

BufferRef ServerState::stage(std::uint32_t size) {
  Result<memory::RegisteredBuffer> buffer = call_->pool().allocate(size);
  if (!buffer) return {};
  staged_.push_back(std::move(*buffer));
  return staged_.back().ref();
}

void ServerState::send_result() noexcept {
  const auto chunks = call_->write_chunks();
  const bool usable = std::any_of(chunks.begin(), chunks.end(), [](std::uint32_t room) { return room != 0; });
  PayloadBuilder& message = call_->reply();
  xdr::Encoder out(message, usable ? this : nullptr);
  encode(out, answer_);
  if (encode_result(out) && out.ok()) return send(message, true);
  answer_.accept = AcceptStat::system_err;
  send_error();
}

void ServerState::send_error() noexcept {
  PayloadBuilder& message = call_->reply();
  xdr::Encoder out(message);
  encode(out, answer_);
  send(message, false);
}

void ServerState::send(const PayloadBuilder& message, bool cacheable) noexcept {
  settle(message.payload(), cacheable);
  if (!message.ok()) {
    call_->discard();
    return sent(BaseError::out_of_memory);
  }
  call_->send([this](error_code status) { sent(status); });
}

/// Tells the cache what became of the call, and answers those that were attached to it.
void ServerState::settle(const Payload& message, bool cacheable) noexcept {
  if (cache_ == nullptr) return;
  auto reply = std::make_shared<const std::vector<std::byte>>(flatten(message));
  DuplicateCache& cache = *std::exchange(cache_, nullptr);
  send_to(cacheable ? cache.complete(key_, reply) : cache.forget(key_), reply);
}

void ServerState::sent(error_code status) noexcept {
  ReleaseHandler release = std::move(release_);
  staged_.clear();
  rest();
  if (release) release(status);
}

void ServerState::rest() noexcept {
  free_args();
  call_ = nullptr;
  give_back();
}

void send_verbatim(transport::IncomingCall& call, const std::vector<std::byte>& message) noexcept {
  PayloadBuilder& out = call.reply();
  out.octets(message);
  send_or_discard(call, out);
}

void send_header(transport::IncomingCall& call, const ReplyHeader& header) noexcept {
  PayloadBuilder& message = call.reply();
  xdr::Encoder out(message);
  encode(out, header);
  send_or_discard(call, message);
}

}  // namespace rpcrdma::rpc
