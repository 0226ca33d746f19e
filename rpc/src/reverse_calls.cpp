// SPDX-License-Identifier: BSD-3-Clause
// Operation: a call is encoded on the caller's thread and started on the connection's thread, which assigns the XID.
// Ownership: a running call references its ReverseCalls, so that the requester outlives its calls. The last reference
// may be dropped on another thread, or inside a completion; the ReverseCalls is therefore destroyed from the
// io_context, unless that is being destroyed or no longer exists.
// Error handling: a call that cannot be encoded, or for which there is no requester, completes later, like any other
// call.
#include "rpcrdma/rpc/reverse_calls.hpp"

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <numeric>

#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/rpc/client.hpp"

namespace rpcrdma::rpc {
namespace {

/// Ends the reverse calls of its io_context when the io_context is destroyed.
class ReverseRegistryService final : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;
  explicit ReverseRegistryService(boost::asio::execution_context& context) : service(context) {}
  const std::shared_ptr<ReverseRegistry>& registry() const noexcept { return registry_; }

 private:
  void shutdown() override {
    std::vector<std::shared_ptr<ReverseCalls>> alive;
    {
      const std::lock_guard lock(registry_->mutex);
      registry_->over = true;
      for (ReverseCalls* calls : registry_->all)
        if (auto shared = calls->weak_from_this().lock()) alive.push_back(std::move(shared));
    }
    for (const auto& calls : alive) calls->abandon();
  }

  const std::shared_ptr<ReverseRegistry> registry_ = std::make_shared<ReverseRegistry>();
};
boost::asio::execution_context::id ReverseRegistryService::id;

}  // namespace

ReverseCalls::ReverseCalls(transport::IncomingCall& call, ReverseOptions options)
    : executor_(call.context().get_executor()),
      registry_(boost::asio::use_service<ReverseRegistryService>(call.context()).registry()),
      options_(std::move(options)),
      requester_(call.reverse()) {
  {
    const std::lock_guard lock(registry_->mutex);
    registry_->all.insert(this);
  }
  if (requester_) {
    requester_->allow();  // [8167-6-a] the client has announced that it accepts calls
    core_ = std::make_shared<ClientCore>(*requester_, executor_, nullptr);
  } else {
    dead_ = call.over_tcp() ? transport::TransportError::reverse_disabled : transport::TransportError::connection_lost;
  }
}

ReverseCalls::~ReverseCalls() {
  const std::lock_guard lock(registry_->mutex);
  registry_->all.erase(this);
}

void ReverseCalls::abandon() noexcept {
  dead_ = transport::TransportError::connection_lost;
  core_.reset();
  requester_.reset();
}

std::shared_ptr<ReverseCalls> ReverseCalls::make(transport::IncomingCall& call, ReverseOptions options) {
  return {new ReverseCalls(call, std::move(options)), &ReverseCalls::release};
}

/// Destroys `state` on the thread of the io_context. Once the destruction of the io_context has begun, destroys `state`
/// at once instead, on the calling thread.
void ReverseCalls::release(ReverseCalls* state) {
  std::unique_ptr<ReverseCalls> owned(state);
  const std::shared_ptr<ReverseRegistry> registry = state->registry_;
  std::unique_lock lock(registry->mutex);
  if (!registry->over) return boost::asio::post(state->executor_, [owned = std::move(owned)] {});
  lock.unlock();
}

ReverseCalls::Prepared ReverseCalls::prepare(const ProcedureInfo& info, const ReplyBound& bound,
                                             const CallOptions& options, Encode encode_args, const void* args) const {
  Prepared out;
  const std::uint64_t max_reply = std::accumulate(bound.bulk.begin(), bound.bulk.end(), std::uint64_t{bound.fixed});
  out.max_reply = static_cast<std::uint32_t>(std::min<std::uint64_t>(max_reply, UINT32_MAX));
  out.deadline = options.deadline ? *options.deadline : std::chrono::steady_clock::now() + options_.timeout;
  BlockMemory memory;
  PayloadBuilder message;
  memory.start(message);
  xdr::Encoder encoder(message);
  encode(encoder, CallHeader{0, kRpcVersion, info.program, info.version, info.number,
                             options.credential ? *options.credential : options_.credential});
  if (!options.results.empty())
    out.failed = BaseError::invalid_argument;
  else if (!encode_args(encoder, args) || !encoder.ok())
    out.failed = RpcError::unencodable;
  else
    out.message = flatten(message.payload());
  return out;
}

void ReverseCalls::start(Prepared call, ClientCall::Completion completion) {
  // [8167-4.1-a] The requester queues a call for which it has no credit. max_calls bounds the number of calls that have
  // started and not completed, queued calls included.
  if (calls_.fetch_add(1, std::memory_order_relaxed) >= options_.max_calls && !call.failed)
    call.failed = BaseError::out_of_memory;
  if (executor_.running_in_this_thread()) return begin(std::move(call), std::move(completion));
  boost::asio::post(executor_,
                    [self = shared_from_this(), call = std::move(call), completion = std::move(completion)]() mutable {
                      self->begin(std::move(call), std::move(completion));
                    });
}

void ReverseCalls::begin(Prepared call, ClientCall::Completion completion) {
  auto over = [self = shared_from_this(), ticket = call.ticket, completion = std::move(completion)](
                  error_code status, xdr::Decoder* in) mutable {
    if (ticket) ticket->call = nullptr;
    self->calls_.fetch_sub(1, std::memory_order_relaxed);
    completion(status, in);
  };
  error_code failed = call.failed ? call.failed : dead_;
  if (!failed && call.ticket && call.ticket->cancelled) failed = BaseError::cancelled;
  if (failed)
    return boost::asio::post(executor_, [over = std::move(over), failed]() mutable { over(failed, nullptr); });
  ClientCore::Lease lease = core_->lease();
  lease->xid = requester_->next_xid();
  Writer(call.message).u32(lease->xid);
  lease->prepare(call.message);
  lease->max_reply = call.max_reply;
  lease->deadline = call.deadline;
  lease->results.clear();
  if (call.ticket) call.ticket->call = lease.get();
  core_->start(std::move(lease), {}, std::move(over));
}

void ReverseCalls::cancel(const std::shared_ptr<Ticket>& ticket) {
  boost::asio::dispatch(executor_, [self = shared_from_this(), ticket] {
    ticket->cancelled = true;
    if (ticket->call != nullptr) self->core_->cancel(*ticket->call);
  });
}

}  // namespace rpcrdma::rpc
