// SPDX-License-Identifier: BSD-3-Clause
// Operation. libtirpc polls xp_fd and asks for calls one by one: it calls receive(), the dispatch function, and
// status(). The event loop runs within receive() and status(), until a call has arrived, no event is left, or
// kMostEvents events have been handled. It also runs while a long argument or result is transferred.
// Ownership. The call that is being dispatched belongs to the Service from receive() to its reply.
// Errors. A call that a dispatch function leaves unanswered is answered by the status() or receive() that follows:
// otherwise the client would lose a credit for ever. A call whose header cannot be decoded is answered by RDMA_ERROR; a
// call of another RPC version is answered by RPC_MISMATCH.
#include "service.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <cstring>
#include <type_traits>

#include "descriptor.hpp"
#include "log.hpp"
#include "outgoing_call.hpp"

namespace rpcrdma::tirpc {
namespace {

/// After kMostCalls calls or kMostEvents events in succession, Service::status() returns XPRT_IDLE even if more are
/// ready, so that libtirpc can serve the other transports of the process.
constexpr unsigned kMostCalls = 64;
constexpr unsigned kMostEvents = 1024;
constexpr unsigned kLongestMessage = 64u << 20;
constexpr std::size_t kSmallMemory = std::size_t{64} << 20;

bool_t receive_op(SVCXPRT* xprt, rpc_msg* message) { return Service::of(xprt).receive(message); }
xprt_stat status_op(SVCXPRT* xprt) { return Service::of(xprt).status(); }
bool_t args_op(SVCXPRT* xprt, xdrproc_t routine, void* args) { return Service::of(xprt).get_args(routine, args); }
bool_t reply_op(SVCXPRT* xprt, rpc_msg* message) { return Service::of(xprt).reply(message); }
bool_t free_op(SVCXPRT*, xdrproc_t routine, void* args) {
  XDR xdrs{};
  xdrs.x_op = XDR_FREE;
  return routine(&xdrs, args);
}
void destroy_op(SVCXPRT* xprt) { delete &Service::of(xprt); }
bool_t control_op(SVCXPRT* xprt, const u_int request, void* info) { return Service::of(xprt).control(request, info); }

// decltype, because xp_ops names both a member of SVCXPRT and the member's type.
const std::remove_pointer_t<decltype(SVCXPRT::xp_ops)> kOperations{receive_op, status_op, args_op,
                                                                   reply_op,   free_op,   destroy_op};
const std::remove_pointer_t<decltype(SVCXPRT::xp_ops2)> kMoreOperations{control_op};

/// The transports made by rpcrdma_svc_add(). Used by the thread that owns libtirpc's tables.
std::vector<Service*> shared_services;
/// How the service loop, which serves all transports, polls: the option `poll` of the transport that was created last.
/// Used by the thread that owns libtirpc's tables.
Polling loop_polling;

[[noreturn]] void fail(error_code why) { throw boost::system::system_error(why); }
[[noreturn]] void fail_errno() { fail({errno, boost::system::system_category()}); }

void watch(const Fd& epoll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) fail_errno();
}

/// Makes `out` the unreduced form of `message`: pieces without items, with each item at its position and followed by
/// its pad. Copies no data, so `out` refers to the memory of `message`.
void flatten(const Payload& message, Payload& out) {
  static std::byte zeros[4]{};
  out.clear();
  out.length = message.length;
  const auto add = [&out](std::uint32_t position, BufferRef bytes) {
    if (bytes.size != 0) out.pieces.push_back({position, bytes});
  };
  auto piece = message.pieces.begin();
  for (const PayloadItem& item : message.items) {
    for (; piece != message.pieces.end() && piece->position < item.position; ++piece)
      add(piece->position, piece->octets);
    std::uint32_t position = item.position;
    for (const BufferRef& part : item.parts) {
      const BufferRef used = part.slice(0, std::min(part.size, item.position + item.length - position));
      add(position, used);
      position += used.size;
    }
    add(position, {zeros, pad4(position) - position, 0});
  }
  for (; piece != message.pieces.end(); ++piece) add(piece->position, piece->octets);
}

/// Avoids copies of long opaques in the results of a call. While the results are encoded, the encoder offers opaques to
/// borrow(). borrow() writes a long opaque from the program's memory, after the bytes encoded before it, to the
/// client's Reply chunk, and returns when this transfer has ended. If borrow() returns false, it has written nothing,
/// and the encoder copies the opaque.
class WrittenAhead final : public xdr::Borrowing {
 public:
  WrittenAhead(transport::IncomingCall& call, Runner& runner) noexcept : call_(call), runner_(runner) {}

  bool borrow(PayloadBuilder& out, Octets octets) override {
    fabric::Fabric& fabric = call_.pool().fabric();
    const std::uint64_t end = std::uint64_t{out.position()} + octets.size();
    if (octets.size() < kLongOpaque || end > UINT32_MAX || !fabric.capabilities().cheap_registration) return false;
    if (!out.ok() || !call_.may_write_ahead(static_cast<std::uint32_t>(end))) return false;
    // adopt() takes writable memory. The cast is safe, because the fabric only reads this memory.
    auto* const data = const_cast<std::byte*>(octets.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    const auto registered = memory::adopt(fabric, {data, octets.size()});
    if (!registered) return false;
    out.borrow(registered->ref());
    std::optional<error_code> outcome;
    call_.write_ahead([&outcome](error_code status) { outcome = status; });
    while (!outcome) runner_.run_one();  // after the transfer the program may change the memory
    if (*outcome) out.fail();
    sent_ = static_cast<std::uint32_t>(end);
    return true;
  }
  std::uint32_t sent() const noexcept override { return sent_; }

 private:
  transport::IncomingCall& call_;
  Runner& runner_;
  std::uint32_t sent_ = 0;
};

}  // namespace

/// Pulls the Read chunks of a call before the call is dispatched. Belongs to Service::pulls_ until its end.
class Service::Pull {
 public:
  Pull(Service& service, transport::IncomingCall& call) : service_(service) { arrival_.call = &call; }

  void start() {
    std::uint64_t total = 0;
    for (const PayloadItem& item : arrival_.call->payload().items) total += item.length;
    const auto bounded = static_cast<std::uint32_t>(std::min<std::uint64_t>(total, UINT32_MAX));
    arrival_.call->reserve_bulk(bounded, [this](error_code failed) { next(failed); });
  }
  /// Ends the call. The handler of the present step may still run, and then does nothing.
  void abandon() { std::exchange(arrival_.call, nullptr)->discard(); }

 private:
  void next(error_code failed) {
    if (arrival_.call == nullptr) return;
    transport::IncomingCall& call = *arrival_.call;
    const auto& items = call.payload().items;
    while (!failed && index_ < items.size() && items[index_].length == 0) ++index_;
    if (failed) return give_up();
    if (index_ == items.size()) {
      service_.ready_.push_back(std::move(arrival_));
      return end();
    }
    auto memory = call.pool().allocate(items[index_].length);
    if (!memory) return give_up();
    arrival_.arguments.push_back(std::move(*memory));
    const BufferRef destination = arrival_.arguments.back().ref();
    call.pull(index_++, {&destination, 1}, [this](error_code status) { next(status); });
  }
  void give_up() {
    arrival_.call->fail();
    end();
  }
  void end() {
    std::erase_if(service_.pulls_, [this](const auto& pull) { return pull.get() == this; });
  }

  Service& service_;
  Arrival arrival_;
  std::size_t index_ = 0;
};

Service::Service(const Target& local, const rpcrdma_svc_options& options)
    : pollable_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      runner_(context_, polling_of(options.poll).value_or(Polling{})) {
  if (!pollable_ || !wake_) fail_errno();
  watch(pollable_, descriptor_of(context_));
  watch(pollable_, wake_.get());
  const auto addresses = addresses_of(local.host);
  if (addresses.empty()) fail(error_code(EADDRNOTAVAIL, boost::system::system_category()));
  const Log log = log_to(options.log, options.log_context);
  fabric::raise_locked_memory_limit();
  fabric::OpenOptions wanted;
  wanted.provider = local.provider;
  auto fabric = fabric::open(context_, addresses.front(), wanted, log);
  if (!fabric) fail(fabric.error());
  fabric_ = std::move(*fabric);
  const std::size_t longest = options.max_message != 0 ? options.max_message : kLongestMessage;
  transport::ServerOptions server;
  server.max_chunk = static_cast<std::uint32_t>(longest);
  server.first_of_long_call = LongArguments::kFirst;
  server.bulk_budget = std::max(server.bulk_budget, longest);
  if (options.credits != 0) server.connection.credits = options.credits;
  server.connection.version = version_of(options.rdma_version).value_or(server.connection.version);
  memory::PoolOptions memory;
  memory.max_octets = options.memory != 0 ? options.memory : 4 * longest + kSmallMemory;
  pool_ = std::make_unique<memory::Pool>(*fabric_, memory::within_limit(memory, fabric_->capabilities(), 1));
  server_ = transport::Server::make({{fabric_.get(), pool_.get(), this}}, server, log);
  listen({addresses.front(), local.port.value_or(0)});
  xprt_register(&xprt_);
  loop_polling = polling_of(options.poll).value_or(Polling{});
}

Polling Service::polling_of_loop() noexcept { return loop_polling; }

SVCXPRT* Service::find(std::string_view listen) noexcept {
  const auto found =
      std::ranges::find_if(shared_services, [&](const Service* one) { return one->shared_as_ == listen; });
  return found != shared_services.end() ? (*found)->xprt() : nullptr;
}

void Service::share(std::string_view listen) {
  if (!shared_as_) shared_services.push_back(this);
  shared_as_ = listen;
}

Service::~Service() {
  std::erase(shared_services, this);
  xprt_unregister(&xprt_);
  in_.reset();
  if (current_.call != nullptr) current_.call->discard();
  for (const Arrival& arrival : ready_) arrival.call->discard();
  for (const auto& pull : pulls_) pull->abandon();
  current_ = {};
  ready_.clear();
  server_.reset();
  context_.poll();  // runs deferred deletions, and handlers of pulls_, before the fabric is destroyed
  pulls_.clear();
}

void Service::listen(const fabric::Endpoint& local) {
  std::optional<Result<fabric::Endpoint>> bound;
  server_->listen(local, [&bound](Result<fabric::Endpoint> result) { bound = std::move(result); });
  while (!bound) context_.run_one();
  if (!*bound) fail(bound->error());
  describe(**bound);
}

void Service::describe(const fabric::Endpoint& local) {
  socklen_t length = 0;
  endpoint_ = local;
  local_ = socket_address(local, length);
  netid_ = netid_of(local.address());
  xprt_.xp_fd = pollable_.get();
  xprt_.xp_port = local.port();
  xprt_.xp_ops = &kOperations;
  xprt_.xp_ops2 = &kMoreOperations;
  xprt_.xp_netid = netid_.data();
  xprt_.xp_ltaddr = {sizeof local_, length, &local_};
  xprt_.xp_rtaddr = {sizeof peer_, 0, &peer_};
  xprt_.xp_verf.oa_base = verifier_;
  xprt_.xp_p1 = this;
  xprt_.xp_p3 = &extension_;
}

rpc::RpcbindResult Service::announce(rpcprog_t program, rpcvers_t version) {
  announced_.push_back(std::make_unique<rpc::RpcbindRegistration>());
  return announced_.back()->replace({{static_cast<std::uint32_t>(program), static_cast<std::uint32_t>(version), netid_,
                                      rpc::universal_address(endpoint_)}});
}

void Service::set_caller(const fabric::Endpoint& peer) noexcept {
  socklen_t length = 0;
  peer_ = socket_address(peer, length);
  xprt_.xp_rtaddr.len = length;
  xprt_.xp_addrlen = static_cast<int>(length);
  std::memcpy(&xprt_.xp_raddr, &peer_, length);
}

void Service::signal() noexcept {
  const std::uint64_t one = 1;
  if (!std::exchange(signalled_, true)) static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

void Service::clear_signal() noexcept {
  std::uint64_t count = 0;
  if (std::exchange(signalled_, false)) static_cast<void>(!::read(wake_.get(), &count, sizeof count));
}

bool Service::receive(rpc_msg* message) {
  clear_signal();
  end_unanswered();
  run_until_ready();
  if (ready_.empty()) return false;
  begin(std::move(ready_.front()));
  ready_.pop_front();
  ++burst_;
  if (xdr_callmsg(in_->xdr(), message)) {
    xid_ = message->rm_xid;
    return true;
  }
  refuse(current_.call->payload());
  return false;
}

/// Handles events until a call is ready, kMostEvents events have been handled, or no event is left. Unless polling is
/// off, this function looks for a further event for about 20 microseconds after each event that it has handled. A call
/// that arrives in several events can then become ready without another poll() of the program.
void Service::run_until_ready() {
  const std::chrono::microseconds moment(loop_polling.mode == Polling::Mode::off ? 0 : 20);
  std::optional<std::chrono::steady_clock::time_point> last;
  for (unsigned events = 0; ready_.empty() && events < kMostEvents;) {
    if (context_.poll_one() != 0) {
      last = std::chrono::steady_clock::now();
      ++events;
    } else if (!last || std::chrono::steady_clock::now() - *last > moment) {
      return;
    }
  }
}

void Service::begin(Arrival arrival) {
  current_ = std::move(arrival);
  transport::IncomingCall& call = *current_.call;
  xid_ = call.xid();
  set_caller(call.connection().peer);
  xprt_.xp_verf.oa_flavor = AUTH_NONE;
  xprt_.xp_verf.oa_length = 0;
  const bool reduced = !call.payload().items.empty();
  if (reduced) flatten(call.payload(), flat_);
  in_.emplace(reduced ? flat_ : current_.rest ? current_.rest->message() : call.payload());
  if (current_.rest) in_->set_source(*current_.rest);
}

/// Answers a message that xdr_callmsg() has rejected. If the message has another RPC version, sends a reply with
/// RPC_MISMATCH and returns true. For any other message, or if the reply cannot be sent, ends the call with RDMA_ERROR
/// and returns false.
bool Service::refuse(const Payload& message) {
  xdr::Decoder in(message);
  in.skip(8);
  if (const std::uint32_t version = in.u32(); in.ok() && version != RPC_MSG_VERSION) {
    rpc_msg answer{};
    answer.rm_direction = REPLY;
    answer.rm_reply.rp_stat = MSG_DENIED;
    answer.rjcted_rply.rj_stat = RPC_MISMATCH;
    answer.rjcted_rply.rj_vers.low = answer.rjcted_rply.rj_vers.high = RPC_MSG_VERSION;
    if (reply(&answer)) return true;
  }
  in_.reset();
  std::exchange(current_, {}).call->fail();
  return false;
}

xprt_stat Service::status() {
  end_unanswered();
  unsigned events = 0;
  // Stops as soon as a call is ready. libtirpc must dispatch that call before this loop handles further events, because
  // the rest of a long call is read from the client only while its arguments are decoded.
  while (ready_.empty() && events < kMostEvents && context_.poll_one() != 0) ++events;
  const bool pause = events == kMostEvents || burst_ >= kMostCalls;
  if (!ready_.empty() && !pause) return XPRT_MOREREQS;
  burst_ = 0;
  if (pause) signal();
  return XPRT_IDLE;
}

bool Service::get_args(xdrproc_t routine, void* args) {
  return in_ && SVCAUTH_UNWRAP(&extension_.auth, in_->xdr(), routine, static_cast<caddr_t>(args)) && in_->ok();
}

BufferRef Service::stage(std::uint32_t size) {
  auto memory = pool_->allocate(size);
  if (!memory) return {};
  staged_.push_back(std::move(*memory));
  return staged_.back().ref();
}

bool Service::reply(rpc_msg* message) {
  if (current_.call == nullptr) return false;
  transport::IncomingCall& call = *current_.call;
  staged_.clear();
  xdr::Encoder out(call.reply(), call.write_chunks().empty() ? nullptr : this);
  WrittenAhead long_opaques(call, runner_);
  out.set_borrowing(&long_opaques);
  message->rm_xid = xid_;
  bool done = false;
  if (message->rm_reply.rp_stat == MSG_ACCEPTED && message->acpted_rply.ar_stat == SUCCESS) {
    const auto results = std::exchange(message->acpted_rply.ar_results, {nullptr, no_results});
    done = xdr_replymsg(out.xdr(), message) && SVCAUTH_WRAP(&extension_.auth, out.xdr(), results.proc, results.where);
  } else {
    done = xdr_replymsg(out.xdr(), message);
  }
  if (!done || !out.ok()) return false;
  in_.reset();
  // The staged buffers must live until the send has ended.
  std::exchange(current_, {}).call->send([staged = std::move(staged_)](error_code) {});
  staged_.clear();
  return true;
}

void Service::end_unanswered() {
  if (current_.call == nullptr) return;
  char words[] = "unanswered";
  static_assert(sizeof words == sizeof kUnanswered);
  rpc_msg answer{};
  answer.rm_direction = REPLY;
  answer.rm_reply.rp_stat = MSG_ACCEPTED;
  answer.acpted_rply.ar_verf = {AUTH_NONE, words, sizeof words - 1};
  answer.acpted_rply.ar_stat = SYSTEM_ERR;
  if (reply(&answer)) return;
  in_.reset();
  std::exchange(current_, {}).call->fail();
}

bool Service::control(unsigned request, void* info) noexcept {
  switch (request) {
    case SVCGET_CONNMAXREC: std::memcpy(info, &max_record_, sizeof max_record_); return true;
    case SVCSET_CONNMAXREC: std::memcpy(&max_record_, info, sizeof max_record_); return true;
    default: return false;
  }
}

void Service::on_call(transport::IncomingCall& call) noexcept {
  const Payload& message = call.payload();
  if (!message.items.empty()) return pulls_.emplace_back(std::make_unique<Pull>(*this, call))->start();
  Arrival arrival{&call, {}, {}};
  if (message.reduced_length() != message.length) arrival.rest = std::make_shared<LongArguments>(call, runner_);
  ready_.push_back(std::move(arrival));
}

}  // namespace rpcrdma::tirpc
