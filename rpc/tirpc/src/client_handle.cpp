// SPDX-License-Identifier: BSD-3-Clause
// Operation. clnt_call() works as in the TCP transport of libtirpc: one attempt, and up to two more after AUTH_REFRESH.
// The calling thread runs the event loop of the connection until the call is over, unless the timeout is zero.
// Ownership. The handle contains the CLIENT that the program uses; clnt_destroy() deletes both.
// Errors. The loss of the connection ends a call: with RPC_CANTRECV if it may have been sent, else with RPC_CANTSEND.
// The call is not sent again on another connection.
#include "client_handle.hpp"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "early_reply.hpp"
#include "held_arguments.hpp"
#include "rpcrdma/base/random_number.hpp"

namespace rpcrdma::tirpc {
namespace {

using Clock = std::chrono::steady_clock;

/// The size of the longest reply to a call whose results are void: header, verifier, and an error.
constexpr std::uint32_t kVoidReply = 24 + MAX_AUTH_BYTES + 8;
/// The maximum number of unanswered calls of ClientHandle::post(). At this limit, the next posted call waits. Each
/// unanswered call holds a credit. The limit must be less than the number of credits that the client requests.
/// Otherwise, even if the server grants them all, posted calls could hold all credits and keep other calls waiting.
constexpr std::size_t kMostPosted = 16;
/// The longest valid timeout of a call, in seconds. The function time_not_ok() of libtirpc has the same limit.
constexpr long kLongestTimeout = 100'000'000;
constexpr std::chrono::seconds kLeastPostedLife(60);

/// The number of forks between the process that made the first handle and this process.
std::atomic<unsigned> fork_count{0};

unsigned forks_so_far() noexcept {
  static const int installed = ::pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
  static_cast<void>(installed);
  return fork_count.load(std::memory_order_relaxed);
}

bool is_valid(const timeval& time) noexcept {
  return time.tv_sec >= -1 && time.tv_sec <= kLongestTimeout && time.tv_usec >= -1 && time.tv_usec <= 1'000'000;
}

bool is_zero(const timeval& time) noexcept { return time.tv_sec == 0 && time.tv_usec == 0; }

Clock::duration duration_of(const timeval& time) noexcept {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

ClientHandle* handle_of(CLIENT* client) noexcept { return static_cast<ClientHandle*>(client->cl_private); }

clnt_stat call_op(CLIENT* client, rpcproc_t procedure, xdrproc_t encode, void* args, xdrproc_t decode, void* results,
                  timeval timeout) {
  return handle_of(client)->call(procedure, encode, args, decode, results, timeout);
}
void abort_op(CLIENT*) {}
void error_op(CLIENT* client, rpc_err* out) { *out = handle_of(client)->error(); }
bool_t free_op(CLIENT* client, xdrproc_t routine, void* results) {
  return handle_of(client)->free_results(routine, results);
}
void destroy_op(CLIENT* client) { handle_of(client)->destroy(); }
bool_t control_op(CLIENT* client, u_int request, void* info) { return handle_of(client)->control(request, info); }

// Not const, as CLIENT points to it without const.
CLIENT::clnt_ops operations{call_op, abort_op, error_op, free_op, destroy_op, control_op};

}  // namespace

ClientHandle::ClientHandle(std::unique_ptr<ClientLink> link, const fabric::Endpoint& server, rpcprog_t program,
                           rpcvers_t version, const rpcrdma_clnt_options& options)
    : forks_(forks_so_far()),
      link_(std::move(link)),
      ddp_(options.ddp, options.ddp + options.ddp_count),
      max_reply_(options.max_reply),
      stable_opaques_(options.stable_opaques != 0),
      xid_(random_number()),
      program_(program),
      version_(version) {
  std::strncpy(netid_, netid_of(server.address()), sizeof netid_ - 1);
  client_.cl_auth = ::authnone_create();
  client_.cl_ops = &operations;
  client_.cl_private = this;
  client_.cl_netid = netid_;
  client_.cl_tp = device_;
  socklen_t length = 0;
  server_ = socket_address(server, length);
  server_address_ = {sizeof server_, length, &server_};
}

bool ClientHandle::in_child() const noexcept { return forks_ != fork_count.load(std::memory_order_relaxed); }

clnt_stat ClientHandle::fail(clnt_stat status, int number) noexcept {
  error_ = {};
  error_.re_status = status;
  error_.re_errno = number;
  return status;
}

rpc_err ClientHandle::error() noexcept {
  const std::lock_guard lock(mutex_);
  return error_;
}

bool ClientHandle::free_results(xdrproc_t routine, void* results) {
  const std::lock_guard lock(mutex_);
  XDR xdrs{};
  xdrs.x_op = XDR_FREE;
  return routine(&xdrs, results) != FALSE;
}

void ClientHandle::destroy() {
  mutex_.lock();  // waits for a call in progress
  mutex_.unlock();
  // In a child process that fork() has made, the connection still belongs to the parent process. The link is therefore
  // not destroyed here.
  if (in_child()) static_cast<void>(link_.release());
  delete this;
}

const rpcrdma_ddp* ClientHandle::ddp_of(rpcproc_t procedure) const noexcept {
  for (const rpcrdma_ddp& entry : ddp_)
    if (entry.proc == procedure) return &entry;
  return nullptr;
}

clnt_stat ClientHandle::call(rpcproc_t procedure, xdrproc_t encode, void* args, xdrproc_t decode, void* results,
                             timeval timeout) {
  const std::lock_guard lock(mutex_);
  if (in_child()) return fail(RPC_CANTSEND, ECHILD);
  if (!wait_set_ && is_valid(timeout)) wait_ = timeout;
  CallArgs call{client_.cl_auth, 0,       program_, version_,       procedure, encode, args,
                decode,          results, false,    stable_opaques_};
  if (is_zero(timeout)) return post(call, decode == nullptr);
  const rpcrdma_ddp* entry = ddp_of(procedure);
  call.reduces_args = entry != nullptr && entry->reduces_args != 0;
  for (int refreshes = 2;;) {
    error_ = {};
    if (!link_->ensure_connected()) return fail(RPC_CANTSEND, ECONNREFUSED);
    call.xid = --xid_;
    WaitingCall waiting(call, link_->pool());
    memory::RegisteredBuffer memory;
    if (!provide_results(waiting, entry, memory)) return fail(RPC_CANTSEND, ENOMEM);
    const clnt_stat status = make(waiting, Clock::now() + duration_of(wait_));
    rpc_msg reply = waiting.reply();
    if (!waiting.refused() || refreshes-- == 0 || !AUTH_REFRESH(client_.cl_auth, &reply)) return status;
  }
}

/// Sets the largest size of the reply, and allocates memory for the results. If `entry` states that a result travels in
/// a Write chunk, the function allocates `memory` for this result, and returns false if the allocation fails. Otherwise
/// it allocates memory for a Reply chunk, and returns true even if the allocation fails. Void results need no memory.
bool ClientHandle::provide_results(WaitingCall& call, const rpcrdma_ddp* entry, memory::RegisteredBuffer& memory) {
  const bool no_result = is_void(call.args().decode);
  call.max_reply = no_result ? kVoidReply : max_reply_;
  if (no_result) return true;
  if (entry == nullptr || entry->max_result == 0) {
    call.keep_reply();
    return true;
  }
  auto allocated = link_->pool().allocate(entry->max_result);
  if (!allocated) return false;
  memory = std::move(*allocated);
  call.results.emplace_back().push_back(memory.ref());
  return true;
}

/// Makes the call and waits for its end. With HeldArguments, a long opaque in the arguments is sent from the program's
/// memory without a copy. If HeldArguments cannot send these arguments, the call is made without it.
clnt_stat ClientHandle::make(WaitingCall& call, Clock::time_point deadline) {
  const CallArgs& args = call.args();
  HeldArguments held;
  if (!args.stable_opaques && !args.reduces_args && call.pool().fabric().capabilities().cheap_registration &&
      held.record(args)) {
    clnt_stat status = RPC_FAILED;
    call.hold(&held);
    if (held.run(args, [&] { status = wait_for(call, deadline); })) return status;
    call.hold(nullptr);
  }
  return wait_for(call, deadline);
}

clnt_stat ClientHandle::wait_for(WaitingCall& call, Clock::time_point deadline) {
  call.deadline = deadline;
  transport::Requester& requester = link_->requester();
  requester.submit(call);
  link_->run_until([&] { return call.over() || !link_->connected() || call.arrived() >= kLongOpaque; });
  if (!call.over() && link_->connected()) decode_early(call);
  link_->run_until([&] { return call.over() || !link_->connected(); });
  if (!call.over()) {  // the connection is lost
    const bool was_sent = call.encoded();
    requester.cancel(call);
    link_->run_until([&] { return call.over(); });
    return was_sent ? fail(RPC_CANTRECV, ECONNRESET) : fail(RPC_CANTSEND, EPIPE);
  }
  if (call.unanswered()) {
    // The answer has the verifier kUnanswered: the dispatch function of the server has not replied. Over libtirpc's TCP
    // transport, the program would wait for a reply until the deadline, so this function does the same.
    const bool lost = link_->run_until([&] { return !link_->connected(); }, deadline);
    return lost ? fail(RPC_CANTRECV, ECONNRESET) : fail(RPC_TIMEDOUT);
  }
  call.conclude();
  error_ = call.error();
  return error_.re_status;
}

void ClientHandle::decode_early(WaitingCall& call) {
  EarlyReply reply(call, [&] {
    link_->run_one();
    return link_->connected();
  });
  xdr::Decoder in(reply.message());
  in.set_source(reply);
  call.decode_early(in);
}

/// Makes a call whose timeout is zero. Waits until the call is sent or the connection is lost, but does not wait for
/// the reply. `batched` is true if the program has passed no routine for the results. A batched call then returns
/// RPC_SUCCESS, and any other call returns RPC_TIMEDOUT, as with the TCP transport of libtirpc. A batched call also
/// returns RPC_SUCCESS if there is no connection and none can be made.
clnt_stat ClientHandle::post(const CallArgs& args, bool batched) {
  CallArgs call = args;
  error_ = {};
  const auto until = Clock::now() + std::max<Clock::duration>(duration_of(wait_), kLeastPostedLife);
  if (!link_->ensure_connected()) return batched ? RPC_SUCCESS : fail(RPC_CANTSEND, ECONNREFUSED);
  const auto has_room = [this] { return posted_.size() < kMostPosted || !link_->connected(); };
  if (!link_->run_until(has_room, until)) return fail(RPC_CANTSEND, ENOBUFS);
  call.xid = --xid_;
  if (!posted_.post(link_->requester(), call, until)) return fail(RPC_CANTENCODEARGS);
  link_->run_until([this] { return posted_.all_sent() || !link_->connected(); });
  link_->poll();
  return batched ? RPC_SUCCESS : fail(RPC_TIMEDOUT);
}

bool ClientHandle::control(unsigned request, void* info) {
  const std::lock_guard lock(mutex_);
  if (request == CLSET_FD_CLOSE || request == CLSET_FD_NCLOSE) return true;
  return info != nullptr && (get(request, info) || set(request, info));
}

bool ClientHandle::get(unsigned request, void* info) noexcept {
  const auto give = [info](const auto& value) {
    std::memcpy(info, &value, sizeof value);
    return true;
  };
  switch (request) {
    case CLGET_TIMEOUT: return give(wait_);
    case CLGET_SERVER_ADDR: std::memcpy(info, &server_, server_address_.len); return true;
    case CLGET_SVC_ADDR: return give(server_address_);
    case CLGET_FD: return give(link_->descriptor());
    case CLGET_XID: return give(xid_);  // XID of the previous call
    case CLGET_VERS: return give(std::uint32_t{version_});
    case CLGET_PROG: return give(std::uint32_t{program_});
    default: return false;
  }
}

bool ClientHandle::set(unsigned request, const void* info) noexcept {
  std::uint32_t word = 0;
  switch (request) {
    case CLSET_TIMEOUT: {
      timeval wait{};
      std::memcpy(&wait, info, sizeof wait);
      if (!is_valid(wait)) return false;
      wait_ = wait;
      wait_set_ = true;
      return true;
    }
    case CLSET_XID:
      std::memcpy(&word, info, sizeof word);
      xid_ = word + 1;  // the next call decrements xid_ first, and then uses `word` as its XID
      return true;
    case CLSET_VERS: std::memcpy(&version_, info, sizeof version_); return true;
    case CLSET_PROG: std::memcpy(&program_, info, sizeof program_); return true;
    default: return false;
  }
}

}  // namespace rpcrdma::tirpc
