// SPDX-License-Identifier: BSD-3-Clause
// Unusual and malformed RPC messages in Sends with a correct transport header (RFC 5531; RFC 8166 section 4.5.2).
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// Sends a NULL call that `change` has altered, and returns the reply.
RpcReply reply_to_changed(Session& s, const std::function<void(RpcCall&)>& change) {
  Outgoing call = s.null();
  change(call.rpc);
  s.send(call);
  RpcReply out = s.reply_to(call.xid());
  s.expect_alive();
  return out;
}

void add_numbers(ServerFamily& family) {
  for (const std::uint32_t version : {0u, 1u, 3u})
    family.robust(fmt::format("rpc-version-{}", version), "", fmt::format("a call with rpcvers {}", version),
                  "MSG_DENIED, RPC_MISMATCH 2..2", [version](Session& s) {
                    const RpcReply reply =
                        reply_to_changed(s, [version](RpcCall& call) { call.rpc_version = version; });
                    Record::expect(reply.status == kDenied && reply.reject == kRpcMismatch, describe(reply));
                    Record::expect(reply.low == 2 && reply.high == 2, describe(reply));
                  });
  family.robust("unknown-program", "", "a call of program 200,000", "PROG_UNAVAIL", [](Session& s) {
    const RpcReply reply = reply_to_changed(s, [](RpcCall& call) { call.program = 200000; });
    Record::expect(reply.status == kAccepted && reply.accept == kProgUnavail, describe(reply));
  });
  family.robust("unknown-version", "", "a call of version 99 of the program",
                "PROG_MISMATCH with a range that has the version", [](Session& s) {
                  const RpcReply reply = reply_to_changed(s, [](RpcCall& call) { call.version = 99; });
                  Record::expect(reply.status == kAccepted && reply.accept == kProgMismatch, describe(reply));
                  const std::uint32_t version = s.options().null_version;
                  Record::expect(reply.low <= version && version <= reply.high && reply.high < 99, describe(reply));
                });
  for (const std::uint32_t procedure : {1000u, 0xffffffffu})
    family.robust(fmt::format("procedure-{}", procedure), "", fmt::format("a call of procedure {}", procedure),
                  "PROC_UNAVAIL", [procedure](Session& s) {
                    const RpcReply reply =
                        reply_to_changed(s, [procedure](RpcCall& call) { call.procedure = procedure; });
                    Record::expect(reply.status == kAccepted && reply.accept == kProcUnavail, describe(reply));
                  });
}

void good_credential(ServerFamily& family, const char* name, const char* sends, Auth credential) {
  family.must(name, "8166-3.2-a", sends, "the call is executed", [credential](Session& s) {
    const RpcReply reply = reply_to_changed(s, [&](RpcCall& call) { call.credential = credential; });
    Record::expect(reply.status == kAccepted && reply.accept == kSuccess, describe(reply));
  });
}

void bad_credential(ServerFamily& family, const char* name, const char* sends, Auth credential) {
  family.robust(name, "", sends, "the call is denied or refused, or NULL is executed; the connection stays open",
                [credential](Session& s) {
                  Outgoing call = s.null();
                  call.rpc.credential = credential;
                  s.send(call);
                  s.answer_to(call.xid());
                  s.expect_alive();
                });
}

/// As bad_credential(), but sends a GETATTR instead of a NULL. The server must not execute the GETATTR.
void refused_credential(ServerFamily& family, const char* name, const char* sends, Auth credential) {
  family.robust(name, "", sends, "the call is denied or refused; the connection stays open", [credential](Session& s) {
    Outgoing call = s.nfs(nfs::kGetattr, nfs::handle_args(s.files().data));
    call.rpc.credential = credential;
    s.send(call);
    s.expect_refusal(call.xid());
    s.expect_alive();
  });
}

void add_credentials(ServerFamily& family) {
  good_credential(family, "auth-none", "NULL with AUTH_NONE", {});
  good_credential(family, "auth-sys", "NULL with AUTH_SYS", auth_sys(0, 0));
  good_credential(family, "auth-sys-16-groups", "NULL with AUTH_SYS and 16 groups",
                  auth_sys(1, 2, "conform", std::vector<std::uint32_t>(16, 7)));
  good_credential(family, "auth-sys-longest-name", "NULL with AUTH_SYS and a machine name of 255 bytes",
                  auth_sys(1, 2, std::string(255, 'm')));
  good_credential(family, "auth-sys-no-name", "NULL with AUTH_SYS and an empty machine name", auth_sys(1, 2, ""));
  bad_credential(family, "unknown-flavor", "NULL with a credential of flavor 99", {99, Bytes(8)});
  bad_credential(family, "credential-of-401-bytes", "NULL with an AUTH_NONE credential of 401 bytes",
                 {kAuthNone, Bytes(401)});
  bad_credential(family, "credential-of-800-bytes", "NULL with an AUTH_NONE credential of 800 bytes",
                 {kAuthNone, Bytes(800)});
  refused_credential(family, "getattr-unknown-flavor", "GETATTR with a credential of flavor 99", {99, Bytes(8)});
  refused_credential(family, "getattr-17-groups", "GETATTR with AUTH_SYS and 17 groups",
                     auth_sys(1, 2, "conform", std::vector<std::uint32_t>(17, 7)));
  refused_credential(family, "getattr-name-of-256-bytes", "GETATTR with AUTH_SYS and a machine name of 256 bytes",
                     auth_sys(1, 2, std::string(256, 'm')));
  refused_credential(family, "getattr-truncated-auth-sys", "GETATTR with AUTH_SYS of 8 bytes", {kAuthSys, Bytes(8)});
  refused_credential(family, "getattr-404-bytes", "GETATTR with AUTH_SYS of 404 bytes",
                     auth_sys(1, 2, std::string(384, 'm')));
  family.robust("credential-length-ffffffff", "", "a call whose credential claims 4,294,967,295 bytes",
                "the call is refused; the connection stays open", [](Session& s) {
                  const std::uint32_t xid = s.new_xid();
                  s.connection();
                  const ServerOptions& options = s.options();
                  s.send(Out()
                             .raw(encode(RdmaHeader{.xid = xid}))
                             .words({xid, 0, 2, options.null_program, options.null_version, 0, 0, 0xffffffff, 0, 0})
                             .bytes());
                  s.expect_refusal(xid);
                  s.expect_alive();
                });
}

void garbage(ServerFamily& family, const char* name, const char* sends, std::uint32_t procedure,
             std::function<Bytes(Session&)> arguments) {
  family.should(name, "8166-4.5.2-b", sends, "GARBAGE_ARGS, or an error of NFS; the connection stays open",
                [procedure, arguments = std::move(arguments)](Session& s) {
                  const Outgoing call = s.nfs(procedure, arguments(s));
                  s.send(call);
                  const RpcReply reply = s.reply_to(call.xid());
                  Record::expect(reply.status == kAccepted, describe(reply));
                  if (reply.accept == kSuccess)
                    Record::expect(nfs::status_of(reply.results) != nfs::kOk, "the call was executed");
                  else
                    Record::expect(reply.accept == kGarbageArgs, describe(reply));
                  s.expect_alive();
                });
}

void add_arguments(ServerFamily& family) {
  garbage(family, "no-arguments", "GETATTR without arguments", nfs::kGetattr, [](Session&) { return Bytes(); });
  garbage(family, "handle-cut-short", "GETATTR with a handle that claims 32 bytes and has 8", nfs::kGetattr,
          [](Session&) { return Out().u32(32).zeros(8).bytes(); });
  garbage(family, "handle-of-65-bytes", "GETATTR with a handle of 65 bytes", nfs::kGetattr,
          [](Session&) { return Out().opaque(Bytes(65)).bytes(); });
  garbage(family, "handle-of-ffffffff-bytes", "GETATTR with a handle that claims 4,294,967,295 bytes", nfs::kGetattr,
          [](Session&) { return Out().u32(0xffffffff).zeros(64).bytes(); });
  garbage(family, "handle-of-no-bytes", "GETATTR with an empty handle", nfs::kGetattr,
          [](Session&) { return Out().u32(0).bytes(); });
  garbage(family, "name-cut-short", "LOOKUP with a name that claims 200 bytes and has 8", nfs::kLookup,
          [](Session& s) { return Out().opaque(s.files().directory).u32(200).zeros(8).bytes(); });
  garbage(family, "name-of-ffffffff-bytes", "LOOKUP with a name that claims 4,294,967,295 bytes", nfs::kLookup,
          [](Session& s) { return Out().opaque(s.files().directory).u32(0xffffffff).zeros(64).bytes(); });
  garbage(family, "create-mode-9", "CREATE with a createmode3 of 9", nfs::kCreate,
          [](Session& s) { return nfs::create_args(s.files().directory, "mode-9", 9); });
  garbage(family, "made-up-handle", "GETATTR with a handle of 32 bytes that the server never issued", nfs::kGetattr,
          [](Session&) { return Out().opaque(pattern(32, 99)).bytes(); });
  family.should("every-procedure-without-arguments", "8166-4.5.2-b", "procedures 1 to 21, each without arguments",
                "GARBAGE_ARGS each time; the connection stays open", [](Session& s) {
                  for (std::uint32_t procedure = nfs::kGetattr; procedure <= nfs::kCommit; ++procedure) {
                    const Outgoing call = s.nfs(procedure, {});
                    s.send(call);
                    const RpcReply reply = s.reply_to(call.xid());
                    Record::expect(reply.status == kAccepted && reply.accept == kGarbageArgs,
                                   fmt::format("procedure {}: {}", procedure, describe(reply)));
                  }
                  s.expect_alive();
                });
}

}  // namespace

void add_rpc(const MakeFamily& make) {
  ServerFamily family = make("rpc");
  add_numbers(family);
  add_credentials(family);
  add_arguments(family);
  family.robust("truncated-call-header", "8166-4.5.2-b", "a NULL call cut short after each word that follows the XID",
                "an error each time; the connection stays open", [](Session& s) {
                  s.connection();
                  for (std::size_t size = 8; size < 40; size += 4) {
                    const Outgoing call = s.null();
                    s.send(View(call.bytes()).first(kFixedHeader + size));
                    s.expect_refusal(call.xid());
                  }
                  s.expect_alive();
                });
}

}  // namespace rpcrdma::conform
