// SPDX-License-Identifier: BSD-3-Clause
// Operation: a call is encoded when it is made, replayed into the transport's memory when that asks, and decoded
// inside done(), while the reply is there.
// Ownership: the core owns all calls; a running call holds the core, so that it outlives its client.
// Error handling: a call that cannot be encoded is over before it began, but completes later like any other.
#include "rpcrdma/rpc/client_call.hpp"

#include <boost/asio/post.hpp>

namespace rpcrdma::rpc {

error_code ClientCall::prepare(const CallHeader& header, Encode encode_args, const void* args) noexcept {
  memory_.start(message_);
  xdr::Encoder out(message_);
  rpc::encode(out, header);
  if (!encode_args(out, args) || !out.ok()) return RpcError::unencodable;
  return {};
}

void ClientCall::encode(PayloadBuilder& out) noexcept {
  const Payload& message = message_.payload();
  auto item = message.items.begin();
  for (const PayloadPiece& piece : message.pieces) {
    for (; item != message.items.end() && item->position < piece.position; ++item) out.item(item->parts);
    out.octets(piece.octets.octets());
  }
  for (; item != message.items.end(); ++item) out.item(item->parts);
}

void ClientCall::done(error_code status, const Payload* reply) noexcept {
  if (status || reply == nullptr) return finish(status ? status : make_error_code(RpcError::bad_reply), nullptr);
  boost::container::small_vector<std::span<const BufferRef>, 2> destinations;
  for (const auto& result : results) destinations.emplace_back(result.data(), result.size());
  xdr::Decoder in(*reply);
  in.set_destinations(destinations);
  ReplyHeader header;
  if (!decode(in, header)) return finish(RpcError::bad_reply, nullptr);
  finish(outcome(header), &in);
}

void ClientCall::finish(error_code status, xdr::Decoder* in) noexcept {
  const std::shared_ptr<ClientCore> core = std::move(core_);
  core->unlink(*this);
  submitted_ = false;
  Completion completion = std::move(completion_);
  completion(status, status ? nullptr : in);
  core->give_back(this);
}

ClientCore::Lease ClientCore::lease() {
  if (rest_.empty()) {
    calls_.push_back(std::make_unique<ClientCall>());
    rest_.reserve(calls_.size());
    return {calls_.back().get(), Return{shared_from_this()}};
  }
  ClientCall* call = rest_.back();
  rest_.pop_back();
  return {call, Return{shared_from_this()}};
}

void ClientCore::give_back(ClientCall* call) noexcept { rest_.push_back(call); }

void ClientCore::start(Lease lease, error_code failed, ClientCall::Completion completion) {
  ClientCall& call = *lease.release();
  call.completion_ = std::move(completion);
  call.core_ = shared_from_this();
  link(call);
  if (!failed && closed_) failed = BaseError::cancelled;
  if (failed) {
    boost::asio::post(executor_, [&call, failed] { call.finish(failed, nullptr); });
    return;
  }
  call.submitted_ = true;
  requester_.submit(call);
}

void ClientCore::cancel(ClientCall& call) noexcept {
  if (call.submitted_) requester_.cancel(call);
}

void ClientCore::close() noexcept {
  closed_ = true;
  for (ClientCall* call = active_; call != nullptr; call = call->next_active_) cancel(*call);
}

void ClientCore::link(ClientCall& call) noexcept {
  call.previous_active_ = nullptr;
  call.next_active_ = active_;
  if (active_ != nullptr) active_->previous_active_ = &call;
  active_ = &call;
}

void ClientCore::unlink(ClientCall& call) noexcept {
  (call.previous_active_ != nullptr ? call.previous_active_->next_active_ : active_) = call.next_active_;
  if (call.next_active_ != nullptr) call.next_active_->previous_active_ = call.previous_active_;
}

}  // namespace rpcrdma::rpc
