// SPDX-License-Identifier: BSD-3-Clause
// Operation: a call is encoded when it is made, on the thread that makes it. The message, except the data of its items,
// is copied to the transport's memory each time the transport asks for it. The reply is decoded inside done(), while
// the reply is valid.
// Ownership: the core owns all calls; a running call references the core, so that it outlives its client.
// Error handling: a call that cannot be encoded is not sent; it completes later, like any other call.
#include "rpcrdma/rpc/client_call.hpp"

#include <algorithm>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>
#include <tuple>
#include <utility>

#include "rpcrdma/base/run_or_else.hpp"

namespace rpcrdma::rpc {
namespace {

/// The bytes of a reply, including the results in Write chunks with their pads.
std::uint64_t size_of(const Payload& reply) noexcept {
  std::uint64_t size = reply.length;
  for (const PayloadItem& item : reply.items) size += padded(item.length);
  return size;
}

}  // namespace

error_code ClientCall::prepare(const CallHeader& header, Encode encode_args, const void* args) noexcept {
  memory_.start(message_);
  xdr::Encoder out(message_);
  rpc::encode(out, header);
  if (!encode_args(out, args) || !out.ok()) return RpcError::unencodable;
  return {};
}

void ClientCall::prepare(Octets message) noexcept {
  memory_.start(message_);
  message_.octets(message);
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
  if (counted_ != nullptr) counted_->reply_size.add(size_of(*reply));
  if (!decode(in, header)) return finish(RpcError::bad_reply, nullptr);
  finish(outcome(header), &in);
}

void ClientCall::finish(error_code status, xdr::Decoder* in) noexcept {
  const std::shared_ptr<ClientCore> core = std::move(core_);
  core->active_.erase(core->active_.iterator_to(*this));
  submitted_ = false;
  ++uses_;
  if (status && counted_ != nullptr) ++counted_->errors;
  Completion completion = std::move(completion_);
  completion(status, status ? nullptr : in);
  counted_ = nullptr;
  core->give_back(*this);
  if (core->active_.empty() && core->idle_) std::exchange(core->idle_, {})();
}

void ClientCall::set_xid(std::uint32_t value) noexcept {
  xid = value;
  Writer(message_.payload().pieces.front().octets.octets()).u32(value);
}

std::unique_lock<std::mutex> ClientCore::guard() noexcept {
  return any_thread() ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

void ClientCore::give_back(ClientCall& call) noexcept {
  const auto lock = guard();
  calls_.give_back(call);
}

ClientCore::Lease ClientCore::lease() {
  const auto lock = guard();
  ClientCall* const idle = calls_.try_take();
  return {idle != nullptr ? idle : &calls_.add(std::make_unique<ClientCall>()), Return{shared_from_this()}};
}

void ClientCore::start(Lease lease, error_code failed, ClientCall::Completion completion) {
  ClientCall& call = *lease.release();
  call.completion_ = std::move(completion);
  call.core_ = shared_from_this();
  if (!any_thread() || executor_.running_in_this_thread()) return begin(call, failed);
  call.failed_ = failed;
  const auto give_up = [&call] {
    call.core_->active_.push_front(call);
    call.finish(BaseError::cancelled, nullptr);
  };
  boost::asio::post(
      executor_, boost::asio::bind_allocator(PostAllocator<void>(call.post_memory_),
                                             RunOrElse([&call] { call.core_->begin(call, call.failed_); }, give_up)));
}

void ClientCore::begin(ClientCall& call, error_code failed) {
  active_.push_front(call);
  if (!failed && closed_) failed = BaseError::cancelled;
  if (failed) {
    const auto finish = [&call, failed] { call.finish(failed, nullptr); };
    boost::asio::post(executor_, RunOrElse(finish, finish));
    return;
  }
  if (any_thread()) call.set_xid(requester_.next_xid());
  call.submitted_ = true;
  call.counted_ = call.procedure_ != nullptr ? &counted(*call.procedure_) : nullptr;
  call.statistics = call.counted_;
  requester_.submit(call);
}

/// Finds or makes the statistics of `procedure`. Moves their entry to the front, because the next call is likely to be
/// of the same procedure.
ProcedureStatistics& ClientCore::counted(const ProcedureInfo& procedure) {
  if (!procedures_.empty() && procedures_.front().first == &procedure) return *procedures_.front().second;
  auto same = std::ranges::find(procedures_, &procedure, [](const auto& entry) { return entry.first; });
  if (same == procedures_.end()) {
    auto made = std::make_unique<ProcedureStatistics>();
    made->procedure = {procedure.program, procedure.version, procedure.number, procedure.name};
    same = procedures_.insert(same, {&procedure, std::move(made)});
  }
  std::swap(*same, procedures_.front());
  return *procedures_.front().second;
}

std::vector<ProcedureReport> ClientCore::procedures() const {
  std::vector<ProcedureReport> out;
  for (const auto& [info, statistics] : procedures_)
    out.push_back({info->program, info->version, info->number, info->name, statistics.get()});
  std::ranges::sort(out, {},
                    [](const ProcedureReport& one) { return std::tuple(one.program, one.version, one.number); });
  return out;
}

void ClientCore::Canceller::operator()(boost::asio::cancellation_type) const {
  const std::shared_ptr<ClientCore> core_now = core.lock();
  if (!core_now) return;
  boost::asio::post(core_now->executor_, [core_now, call = call, use = use] {
    if (call->uses_ == use) core_now->cancel(*call);
  });
}

void ClientCore::cancel(ClientCall& call) noexcept {
  if (call.submitted_ && !closed_) requester_.cancel(call);
}

void ClientCore::close() noexcept {
  if (closed_) return;
  for (ClientCall& call : active_) cancel(call);
  closed_ = true;
}

void ClientCore::when_idle(UniqueFunction<void()> handler) {
  if (active_.empty()) return handler();
  idle_ = std::move(handler);
}

}  // namespace rpcrdma::rpc
