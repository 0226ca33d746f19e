// SPDX-License-Identifier: BSD-3-Clause
// MOUNT version 3 over RDMA. RFC 8267 requires it only over TCP: these cases are skipped if MOUNT is used over TCP.
// They are also skipped if a root handle was given, as MOUNT is then not used.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

Outgoing mount_call(Session& s, std::uint32_t procedure, Bytes arguments) {
  s.files();
  if (s.options().root_handle) Record::skip("the export's handle was given");
  if (s.options().mount_port) Record::skip("MOUNT is used over TCP");
  Outgoing out = s.null();
  out.rpc.program = nfs::kMountProgram;
  out.rpc.version = nfs::kMountVersion;
  out.rpc.procedure = procedure;
  out.rpc.credential = auth_sys(s.options().uid, s.options().gid);
  out.rpc.arguments = std::move(arguments);
  return out;
}

nfs::Mount mounted(Session& s, std::string_view path) {
  return nfs::decode_mount(s.call(mount_call(s, nfs::kMountMnt, Out().text(path).bytes())));
}

}  // namespace

void add_mount(const MakeFamily& make) {
  ServerFamily family = make("mount");
  family.robust("export", "", "MNT of the export", "a handle that GETATTR accepts", [](Session& s) {
    const nfs::Mount mount = mounted(s, s.options().export_path);
    Record::expect(mount.status == nfs::kOk, fmt::format("mountstat3 {}", mount.status));
    const nfs::Getattr root = nfs::decode_getattr(s.call(s.nfs(nfs::kGetattr, nfs::handle_args(mount.handle))));
    Record::expect(root.status == nfs::kOk && root.attributes.type == nfs::kDirectory, nfs_status(root.status));
  });
  family.robust("no-such-export", "", "MNT of a path that does not exist", "an error", [](Session& s) {
    Record::expect(mounted(s, "/no-such-export-of-the-tester").status != nfs::kOk, "a handle was returned");
  });
  family.should("path-of-1025-bytes", "8166-4.5.2-b", "MNT of a path of 1,025 bytes, as a long call if need be",
                "GARBAGE_ARGS, or an error of MOUNT", [](Session& s) {
                  const Outgoing call =
                      s.long_call(mount_call(s, nfs::kMountMnt, Out().text(std::string(1025, '/')).bytes()));
                  s.send(call);
                  const RpcReply reply = s.reply_to(call.xid());
                  if (reply.accept == kSuccess)
                    Record::expect(nfs::status_of(reply.results) != nfs::kOk, "a handle was returned");
                  s.expect_alive();
                });
  family.must("reduced-path", "8166-6.1-b", "MNT whose path is in a Read chunk", "the call is refused", [](Session& s) {
    const std::string& path = s.options().export_path;
    Outgoing call = mount_call(s, nfs::kMountMnt, Out().u32(static_cast<std::uint32_t>(path.size())).bytes());
    const View bytes = view_of(path);
    call.header.lists.reads = {{call.end(), s.readable({bytes.begin(), bytes.end()}).segment()}};
    s.send(call);
    s.expect_refusal(call.xid());
    s.expect_alive();
  });
}

}  // namespace rpcrdma::conform
