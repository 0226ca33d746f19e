// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/message.hpp"

#include <algorithm>

namespace rpcrdma::rpc {
namespace {

constexpr std::uint32_t kAcceptedReply = 0;
constexpr std::uint32_t kDeniedReply = 1;
constexpr std::uint32_t kRpcMismatch = 0;
constexpr std::uint32_t kAuthError = 1;

/// The size of the longest header: a call with the longest credential and an empty verifier.
constexpr std::size_t kMaxHeader = 6 * 4 + 8 + kMaxAuthBody + 8;
static_assert(20 + pad4(kMaxMachineName) + 4 * kMaxGids <= kMaxAuthBody);

void encode_empty_auth(Writer& out) noexcept {
  out.u32(static_cast<std::uint32_t>(AuthFlavor::none));
  out.u32(0);
}

void encode_auth_sys(Writer& out, const Credential& credential) noexcept {
  const auto machine = static_cast<std::uint32_t>(credential.machine().size());
  const auto gids = static_cast<std::uint32_t>(credential.gids().size());
  out.u32(static_cast<std::uint32_t>(AuthFlavor::sys));
  out.u32(20 + pad4(machine) + 4 * gids);
  out.u32(credential.stamp);
  out.u32(machine);
  out.octets(std::as_bytes(std::span(credential.machine())));
  out.zeros(pad4(machine) - machine);
  out.u32(credential.uid);
  out.u32(credential.gid);
  out.u32(gids);
  for (const std::uint32_t gid : credential.gids()) out.u32(gid);
}

bool decode_auth_sys(Octets body, Credential& credential) noexcept {
  Reader in(body);
  credential.stamp = in.u32();
  const std::uint32_t length = in.u32();
  if (length > kMaxMachineName) return false;
  const Octets machine = in.octets(length);
  in.skip(pad4(length) - length);
  credential.uid = in.u32();
  credential.gid = in.u32();
  const std::uint32_t count = in.u32();
  if (count > kMaxGids) return false;
  std::array<std::uint32_t, kMaxGids> gids{};
  for (std::uint32_t i = 0; i < count; ++i) gids[i] = in.u32();
  if (!in.ok()) return false;
  credential.set_machine({reinterpret_cast<const char*>(machine.data()), machine.size()});
  credential.set_gids(std::span(gids).first(count));
  return true;
}

bool decode_credential(xdr::Decoder& in, Credential& credential) noexcept {
  credential.flavor = static_cast<AuthFlavor>(in.u32());
  const std::uint32_t length = in.u32();
  if (length > kMaxAuthBody || pad4(length) > in.remaining()) return false;
  std::array<std::byte, kMaxAuthBody> body;
  if (!in.copy(MutableOctets(body).first(length))) return false;
  in.skip(pad4(length) - length);
  return credential.flavor != AuthFlavor::sys || decode_auth_sys(Octets(body).first(length), credential);
}

bool skip_auth(xdr::Decoder& in) noexcept {
  in.u32();
  const std::uint32_t length = in.u32();
  if (length > kMaxAuthBody) return false;
  in.skip(pad4(length));
  return in.ok();
}

/// Whether the reply states the lowest and the highest version that the server supports (RFC 5531 section 9).
bool has_versions(const ReplyHeader& header) noexcept {
  return header.kind == ReplyHeader::Kind::rpc_mismatch ||
         (header.kind == ReplyHeader::Kind::accepted && header.accept == AcceptStat::program_mismatch);
}

error_code outcome(AuthStat stat) noexcept {
  switch (stat) {
    case AuthStat::bad_credential: return RpcError::auth_bad_credential;
    case AuthStat::rejected_credential: return RpcError::auth_rejected;
    case AuthStat::bad_verifier:
    case AuthStat::rejected_verifier: return RpcError::auth_bad_verifier;
    case AuthStat::too_weak: return RpcError::auth_too_weak;
    default: return RpcError::auth_failed;
  }
}

bool decode_denied(xdr::Decoder& in, ReplyHeader& header) noexcept {
  switch (in.u32()) {
    case kRpcMismatch:
      header.kind = ReplyHeader::Kind::rpc_mismatch;
      header.low = in.u32();
      header.high = in.u32();
      return in.ok();
    case kAuthError:
      header.kind = ReplyHeader::Kind::auth_error;
      header.auth = static_cast<AuthStat>(in.u32());
      return in.ok();
    default: return false;
  }
}

}  // namespace

void encode(xdr::Encoder& to, const CallHeader& header) noexcept {
  std::array<std::byte, kMaxHeader> octets;
  Writer out(octets);
  out.u32(header.xid);
  out.u32(static_cast<std::uint32_t>(MessageType::call));
  out.u32(header.rpc_version);
  out.u32(header.program);
  out.u32(header.version);
  out.u32(header.procedure);
  if (header.credential.flavor == AuthFlavor::sys) {
    encode_auth_sys(out, header.credential);
  } else {
    encode_empty_auth(out);
  }
  encode_empty_auth(out);
  to.out().octets(out.written());
}

CallCheck decode(xdr::Decoder& in, CallHeader& header) noexcept {
  header.xid = in.u32();
  const std::uint32_t type = in.u32();
  if (!in.ok() || type != static_cast<std::uint32_t>(MessageType::call)) return CallCheck::unreadable;
  header.rpc_version = in.u32();
  if (!in.ok()) return CallCheck::truncated;
  if (header.rpc_version != kRpcVersion) return CallCheck::rpc_mismatch;
  header.program = in.u32();
  header.version = in.u32();
  header.procedure = in.u32();
  if (!in.ok()) return CallCheck::truncated;
  if (!decode_credential(in, header.credential)) return CallCheck::bad_credential;
  return skip_auth(in) ? CallCheck::ok : CallCheck::bad_verifier;
}

void encode(xdr::Encoder& to, const ReplyHeader& header) noexcept {
  std::array<std::byte, kMaxHeader> octets;
  Writer out(octets);
  out.u32(header.xid);
  out.u32(static_cast<std::uint32_t>(MessageType::reply));
  switch (header.kind) {
    case ReplyHeader::Kind::accepted:
      out.u32(kAcceptedReply);
      encode_empty_auth(out);
      out.u32(static_cast<std::uint32_t>(header.accept));
      break;
    case ReplyHeader::Kind::rpc_mismatch:
      out.u32(kDeniedReply);
      out.u32(kRpcMismatch);
      break;
    case ReplyHeader::Kind::auth_error:
      out.u32(kDeniedReply);
      out.u32(kAuthError);
      out.u32(static_cast<std::uint32_t>(header.auth));
      break;
  }
  if (has_versions(header)) {
    out.u32(header.low);
    out.u32(header.high);
  }
  to.out().octets(out.written());
}

bool decode(xdr::Decoder& in, ReplyHeader& header) noexcept {
  header.xid = in.u32();
  if (in.u32() != static_cast<std::uint32_t>(MessageType::reply)) return false;
  const std::uint32_t stat = in.u32();
  if (stat == kDeniedReply) return decode_denied(in, header);
  if (stat != kAcceptedReply || !skip_auth(in)) return false;
  header.kind = ReplyHeader::Kind::accepted;
  const std::uint32_t accept = in.u32();
  if (accept > static_cast<std::uint32_t>(AcceptStat::system_err)) return false;
  header.accept = static_cast<AcceptStat>(accept);
  if (header.accept == AcceptStat::program_mismatch) {
    header.low = in.u32();
    header.high = in.u32();
  }
  return in.ok();
}

error_code outcome(const ReplyHeader& header) noexcept {
  if (header.kind == ReplyHeader::Kind::rpc_mismatch) return RpcError::rpc_mismatch;
  if (header.kind == ReplyHeader::Kind::auth_error) return outcome(header.auth);
  switch (header.accept) {
    case AcceptStat::success: return {};
    case AcceptStat::program_unavailable: return RpcError::program_unavailable;
    case AcceptStat::program_mismatch: return RpcError::program_mismatch;
    case AcceptStat::procedure_unavailable: return RpcError::procedure_unavailable;
    case AcceptStat::garbage_args: return RpcError::garbage_args;
    case AcceptStat::system_err: return RpcError::system_err;
  }
  return RpcError::bad_reply;
}

}  // namespace rpcrdma::rpc
