// SPDX-License-Identifier: BSD-3-Clause
// Operation: decodes the call's header, finds the procedure, checks the credential, decodes the arguments and runs the
// handler.
// Ownership: a registration owns its handler and the states of its calls; the transport owns the call.
// Error handling: a call that cannot be run is answered as RFC 5531 requires. A message that has no XID or is not a
// call is answered with ERR_CHUNK over RDMA, and not answered over TCP.
#include "rpcrdma/rpc/dispatcher.hpp"

#include <algorithm>

#include "rpcrdma/base/log_reason.hpp"

namespace rpcrdma::rpc {
namespace {

/// The NULL procedure of any program.
template <class Info>
struct NullProcedure {
  static constexpr ProcedureInfo kInfo{.name = "NULL"};
  using Args = Void;
  using Result = Void;
  static bool_t xdr_args(XDR*, Void*) { return TRUE; }
  static bool_t xdr_result(XDR*, Void*) { return TRUE; }
  static ReplyBound max_reply(const Void&) { return {kReplyHeaderSize, {}}; }
};
using AnyNull = NullProcedure<void>;

bool known(AuthFlavor flavor) noexcept { return flavor == AuthFlavor::none || flavor == AuthFlavor::sys; }

/// AuthStat::ok, or the reason why the credential is rejected.
AuthStat check(const Credential& credential, const Registration& registration) noexcept {
  if (registration.info().number == 0) return AuthStat::ok;
  if (!known(credential.flavor)) return AuthStat::rejected_credential;
  const bool weak = registration.auth == AuthRequirement::sys && credential.flavor == AuthFlavor::none;
  return weak ? AuthStat::too_weak : AuthStat::ok;
}

ReplyHeader auth_error(std::uint32_t xid, AuthStat why) noexcept {
  return {.xid = xid, .kind = ReplyHeader::Kind::auth_error, .auth = why};
}

}  // namespace

Dispatcher::Dispatcher(DispatcherOptions options) : options_(std::move(options)), log_{options_.log} {}
Dispatcher::~Dispatcher() = default;

void Dispatcher::add(std::unique_ptr<Registration> registration) {
  registration->log = &log_;
  const ProcedureInfo& info = registration->info();
  auto version = std::find_if(versions_.begin(), versions_.end(), [&info](const Version& v) {
    return v.program == info.program && v.version == info.version;
  });
  if (version == versions_.end()) {
    version = versions_.insert(versions_.end(), Version{info.program, info.version, {}});
    auto serve_null = [](ServerCall<AnyNull> call) { call.reply({}); };
    version->procedures.push_back(
        std::make_unique<TypedRegistration<AnyNull, decltype(serve_null)>>(serve_null, AuthRequirement::none));
    version->procedures.back()->log = &log_;
  }
  if (version->procedures.size() <= info.number) version->procedures.resize(info.number + std::size_t{1});
  version->procedures[info.number] = std::move(registration);
}

Registration* Dispatcher::find(const CallHeader& header, ReplyHeader& reply) const noexcept {
  reply.xid = header.xid;
  reply.accept = AcceptStat::program_unavailable;
  for (const Version& version : versions_) {
    if (version.program != header.program) continue;
    if (version.version == header.version) {
      reply.accept = AcceptStat::procedure_unavailable;
      return header.procedure < version.procedures.size() ? version.procedures[header.procedure].get() : nullptr;
    }
    const bool first = reply.accept == AcceptStat::program_unavailable;
    reply.accept = AcceptStat::program_mismatch;
    reply.low = first ? version.version : std::min(reply.low, version.version);
    reply.high = first ? version.version : std::max(reply.high, version.version);
  }
  return nullptr;
}

/// Returns the counter for the reason for which `reply` rejects a call.
std::uint64_t& Dispatcher::reason(const ReplyHeader& reply) noexcept {
  if (reply.kind == ReplyHeader::Kind::rpc_mismatch) return counters_.rpc_mismatch;
  if (reply.kind == ReplyHeader::Kind::auth_error) return counters_.bad_auth;
  switch (reply.accept) {
    case AcceptStat::program_unavailable: return counters_.program_unavailable;
    case AcceptStat::program_mismatch: return counters_.program_mismatch;
    case AcceptStat::procedure_unavailable: return counters_.procedure_unavailable;
    default: return counters_.garbage_args;
  }
}

void Dispatcher::reject(transport::IncomingCall& call, const ReplyHeader& reply) noexcept {
  ++counters_.rejected;
  ++reason(reply);
  log_.about(call, log_.rejected).debug("call rejected: {}", Reason{outcome(reply)});
  send_header(call, reply);
}

/// Takes the program, version and procedure numbers from `header`, not from info(). If Dispatcher::add() has added the
/// NULL procedure of a program by itself, the numbers in info() are 0.
void Registration::make_statistics(const CallHeader& header) {
  statistics_ = std::make_unique<ProcedureStatistics>();
  statistics_->procedure = {header.program, header.version, header.procedure, info().name};
}

std::vector<ProcedureReport> Dispatcher::procedures() const {
  std::vector<ProcedureReport> called;
  for (const Version& version : versions_)
    for (std::uint32_t number = 0; number < version.procedures.size(); ++number)
      if (const Registration* one = version.procedures[number].get(); one != nullptr && one->statistics() != nullptr)
        called.push_back({version.program, version.version, number, one->info().name, one->statistics()});
  return called;
}

void Dispatcher::on_call(transport::IncomingCall& call) noexcept {
  ++counters_.calls;
  xdr::Decoder in(call.payload());
  CallHeader header;
  switch (decode(in, header)) {
    case CallCheck::ok: break;
    case CallCheck::unreadable: ++counters_.discarded; return call.fail();
    case CallCheck::truncated: return reject(call, {.xid = header.xid, .accept = AcceptStat::garbage_args});
    case CallCheck::rpc_mismatch:
      return reject(
          call, {.xid = header.xid, .kind = ReplyHeader::Kind::rpc_mismatch, .low = kRpcVersion, .high = kRpcVersion});
    case CallCheck::bad_credential: return reject(call, auth_error(header.xid, AuthStat::bad_credential));
    case CallCheck::bad_verifier: return reject(call, auth_error(header.xid, AuthStat::bad_verifier));
  }
  ReplyHeader reply;
  Registration* registration = find(header, reply);
  if (registration == nullptr) return reject(call, reply);
  if (const AuthStat auth = check(header.credential, *registration); auth != AuthStat::ok)
    return reject(call, auth_error(header.xid, auth));
  if (registration->run(call, header, in, options_.cache, *this)) return;
  // [8166-4.5.2-b] the transport header is valid, but the arguments are not
  reply.accept = AcceptStat::garbage_args;
  reject(call, reply);
}

}  // namespace rpcrdma::rpc
