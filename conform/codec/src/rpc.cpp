// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/codec/rpc.hpp"

#include <fmt/format.h>

namespace rpcrdma::conform {
namespace {

constexpr std::size_t kLongestAuth = 400;

void encode_auth(Out& out, const Auth& auth) { out.u32(auth.flavor).opaque(auth.body); }

Auth decode_auth(In& in) {
  Auth out;
  out.flavor = in.u32();
  const View body = in.opaque(kLongestAuth);
  out.body.assign(body.begin(), body.end());
  return out;
}

void decode_accepted(In& in, RpcReply& out) {
  in.u32();  // the verifier's flavor
  in.opaque(kLongestAuth);
  out.accept = in.u32();
  if (out.accept == kProgMismatch) {
    out.low = in.u32();
    out.high = in.u32();
  } else if (out.accept > kSystemErr) {
    throw DecodeError(fmt::format("accept_stat {}", out.accept));
  }
  const View rest = in.rest();
  if (out.accept != kSuccess && !rest.empty())
    throw DecodeError(fmt::format("accept_stat {} with {} more bytes", out.accept, rest.size()));
  out.results.assign(rest.begin(), rest.end());
}

void decode_denied(In& in, RpcReply& out) {
  out.reject = in.u32();
  if (out.reject == kRpcMismatch) {
    out.low = in.u32();
    out.high = in.u32();
  } else if (out.reject == kAuthError) {
    out.auth = in.u32();
  } else {
    throw DecodeError(fmt::format("reject_stat {}", out.reject));
  }
  in.end();
}

}  // namespace

Auth auth_sys(std::uint32_t uid, std::uint32_t gid, std::string_view machine, const std::vector<std::uint32_t>& gids) {
  Out body;
  body.u32(0x5eed).text(machine).u32(uid).u32(gid).u32(static_cast<std::uint32_t>(gids.size()));
  for (const std::uint32_t each : gids) body.u32(each);
  return {kAuthSys, std::move(body).bytes()};
}

Bytes encode(const RpcCall& call) {
  Out out;
  out.words({call.xid, call.type, call.rpc_version, call.program, call.version, call.procedure});
  encode_auth(out, call.credential);
  encode_auth(out, call.verifier);
  out.raw(call.arguments);
  return std::move(out).bytes();
}

RpcCall decode_call(View message) {
  In in(message);
  RpcCall out;
  out.xid = in.u32();
  out.type = in.u32();
  if (out.type != 0) throw DecodeError(fmt::format("msg_type {} in a call", out.type));
  out.rpc_version = in.u32();
  out.program = in.u32();
  out.version = in.u32();
  out.procedure = in.u32();
  out.credential = decode_auth(in);
  out.verifier = decode_auth(in);
  const View rest = in.rest();
  out.arguments.assign(rest.begin(), rest.end());
  return out;
}

Bytes encode(const RpcReply& reply) {
  Out out;
  out.words({reply.xid, 1, reply.status});
  if (reply.status == kAccepted) {
    encode_auth(out, {});
    out.u32(reply.accept);
    if (reply.accept == kProgMismatch) out.u32(reply.low).u32(reply.high);
    return out.raw(reply.results).bytes();
  }
  out.u32(reply.reject);
  if (reply.reject == kRpcMismatch) return out.u32(reply.low).u32(reply.high).bytes();
  return out.u32(reply.auth).bytes();
}

RpcReply decode_reply(View message) {
  In in(message);
  RpcReply out;
  out.xid = in.u32();
  if (const std::uint32_t type = in.u32(); type != 1) throw DecodeError(fmt::format("msg_type {} in a reply", type));
  out.status = in.u32();
  if (out.status == kAccepted)
    decode_accepted(in, out);
  else if (out.status == kDenied)
    decode_denied(in, out);
  else
    throw DecodeError(fmt::format("reply_stat {}", out.status));
  return out;
}

std::string describe(const RpcReply& reply) {
  if (reply.status == kDenied) {
    if (reply.reject == kRpcMismatch) return fmt::format("denied: RPC_MISMATCH {}..{}", reply.low, reply.high);
    return fmt::format("denied: AUTH_ERROR, auth_stat {}", reply.auth);
  }
  switch (reply.accept) {
    case kSuccess: return fmt::format("SUCCESS, {} bytes of results", reply.results.size());
    case kProgUnavail: return "PROG_UNAVAIL";
    case kProgMismatch: return fmt::format("PROG_MISMATCH {}..{}", reply.low, reply.high);
    case kProcUnavail: return "PROC_UNAVAIL";
    case kGarbageArgs: return "GARBAGE_ARGS";
    default: return "SYSTEM_ERR";
  }
}

}  // namespace rpcrdma::conform
