// SPDX-License-Identifier: BSD-3-Clause
// Makes and removes the tester's files. The calls are small: they fit inline at the smallest threshold.
#include "make_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "mount_over_tcp.hpp"

namespace rpcrdma::conform {
namespace {

constexpr std::size_t kSmallWrite = 512, kManyNames = 60;
constexpr std::uint32_t kSmallListing = 800;

nfs::Mount mount_over_rdma(Session& session) {
  Outgoing call = session.null();
  call.rpc.program = nfs::kMountProgram;
  call.rpc.version = nfs::kMountVersion;
  call.rpc.procedure = nfs::kMountMnt;
  call.rpc.credential = auth_sys(session.options().uid, session.options().gid);
  call.rpc.arguments = Out().text(session.options().export_path).bytes();
  session.send(call);
  const RpcReply reply = session.reply_to(call.xid());
  if (reply.status != kAccepted || reply.accept != kSuccess)
    Record::fail(fmt::format("MOUNT is not served on this connection ({}): give --mount-port", describe(reply)));
  return nfs::decode_mount(reply.results);
}

nfs::Handle mount(Session& session) {
  const ServerOptions& options = session.options();
  const nfs::Mount mounted = options.mount_port ? mount_over_tcp(options) : mount_over_rdma(session);
  Record::expect(mounted.status == nfs::kOk,
                 fmt::format("MOUNT of {} failed: mountstat3 {}", options.export_path, mounted.status));
  return mounted.handle;
}

nfs::Handle made(Session& session, std::uint32_t procedure, Bytes arguments, const nfs::Handle& parent,
                 const std::string& name) {
  const nfs::Object object = nfs::decode_made(session.call(session.nfs(procedure, std::move(arguments))));
  Record::expect(object.status == nfs::kOk, fmt::format("cannot make {}: {}", name, nfs_status(object.status)));
  if (object.handle) return *object.handle;
  const nfs::Object found = nfs::decode_lookup(session.call(session.nfs(nfs::kLookup, nfs::name_args(parent, name))));
  Record::expect(found.handle.has_value(), fmt::format("LOOKUP of {} failed: {}", name, nfs_status(found.status)));
  return *found.handle;
}

void write_inline(Session& session, const nfs::Handle& file, View contents) {
  for (std::size_t at = 0; at < contents.size(); at += kSmallWrite) {
    const View part = contents.subspan(at, std::min(kSmallWrite, contents.size() - at));
    const nfs::Write written =
        nfs::decode_write(session.call(session.nfs(nfs::kWrite, nfs::write_args(file, at, part))));
    Record::expect(written.status == nfs::kOk && written.count == part.size(),
                   fmt::format("an inline WRITE of {} bytes failed: {}", part.size(), nfs_status(written.status)));
  }
}

void fill(Session& session, Files& files) {
  files.data = made(session, nfs::kCreate, nfs::create_args(files.directory, "data", 1), files.directory, "data");
  files.contents = pattern(Files::kDataSize, 1);
  write_inline(session, files.data, files.contents);
  files.target = std::string(50, 'a') + "/" + std::string(50, 'b');
  files.link =
      made(session, nfs::kSymlink, nfs::symlink_args(files.directory, "link", files.target), files.directory, "link");
  files.many = made(session, nfs::kMkdir, nfs::mkdir_args(files.directory, "many"), files.directory, "many");
  for (std::size_t i = 0; i < kManyNames; ++i) {
    const std::string name = fmt::format("{:03}{}", i, std::string(100, 'n'));
    made(session, nfs::kCreate, nfs::create_args(files.many, name, 1), files.many, name);
  }
  files.many_names = kManyNames;
}

/// Removes the contents of a directory; each pass lists it from the start. Ends after a pass that removed nothing.
void empty_directory(Session& session, const nfs::Handle& directory, int depth) {
  for (int passes = 0; passes < 1000; ++passes) {
    const nfs::Directory listing = nfs::decode_readdir(
        session.call(session.nfs(nfs::kReaddir, nfs::readdir_args(directory, 0, Bytes(8), kSmallListing))), false);
    std::size_t removed = 0;
    for (const std::string& name : listing.names) {
      if (name == "." || name == "..") continue;
      const Bytes arguments = nfs::name_args(directory, name);
      bool gone = nfs::status_of(session.call(session.nfs(nfs::kRemove, arguments))) == nfs::kOk;
      if (!gone && depth > 0) {
        const nfs::Object below = nfs::decode_lookup(session.call(session.nfs(nfs::kLookup, arguments)));
        if (below.handle) empty_directory(session, *below.handle, depth - 1);
        gone = nfs::status_of(session.call(session.nfs(nfs::kRmdir, arguments))) == nfs::kOk;
      }
      removed += gone ? 1 : 0;
    }
    if (removed == 0) return;
  }
}

}  // namespace

void make_files(Session& session, Files& files) {
  const ServerOptions& options = session.options();
  files.root = options.root_handle ? *options.root_handle : mount(session);
  files.missing.clear();
  const nfs::Getattr root = nfs::decode_getattr(session.call(session.nfs(nfs::kGetattr, nfs::handle_args(files.root))));
  Record::expect(root.status == nfs::kOk, "GETATTR of the export failed: " + nfs_status(root.status));
  files.directory_name = fmt::format("rpcrdma-conform-{}", getpid());
  try {
    files.directory =
        made(session, nfs::kMkdir, nfs::mkdir_args(files.root, files.directory_name), files.root, files.directory_name);
    fill(session, files);
  } catch (const CaseFailed& failed) {
    files.missing = fmt::format("the tester's files could not be made: {}", failed.what());
  }
}

void remove_files(Session& session, const Files& files) {
  if (files.directory.empty()) return;
  empty_directory(session, files.directory, 2);
  session.call(session.nfs(nfs::kRmdir, nfs::name_args(files.root, files.directory_name)));
}

}  // namespace rpcrdma::conform
