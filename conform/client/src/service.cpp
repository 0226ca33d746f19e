// SPDX-License-Identifier: BSD-3-Clause
#include "service.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace rpcrdma::conform::client {
namespace {

constexpr std::size_t kLongestHandle = 64;
constexpr std::uint32_t kMountNotFound = 2;
constexpr std::size_t kLongestPath = 1024;

}  // namespace

/// Decodes the handle in the arguments. Returns null if no file has this handle.
Node* Service::object(In& in) { return files_.find(in.opaque(kLongestHandle)); }

FileAttributes Service::attributes_of(const Node& node) {
  FileAttributes out{.type = node.type, .mode = node.mode, .uid = getuid(), .gid = getgid(), .fileid = node.id};
  out.size = out.used = node.size();
  out.atime = out.mtime = out.ctime = node.mtime;
  hooks_.attributes(out);
  return out;
}

void Service::post_op(Out& out, const Node* node) {
  bool present = node != nullptr;
  hooks_.optional_attributes(present);
  present = present && node;
  out.u32(present ? 1 : 0);
  if (present) encode(out, attributes_of(*node));
}

Answer Service::serve(const RpcCall& call) {
  static constexpr std::array<Method, 22> kNfs{
      &Service::null,     &Service::getattr, &Service::setattr,     &Service::lookup, &Service::access,
      &Service::readlink, &Service::read,    &Service::write,       &Service::create, &Service::mkdir,
      &Service::symlink,  &Service::mknod,   &Service::remove,      &Service::rmdir,  &Service::rename,
      &Service::link,     &Service::readdir, &Service::readdirplus, &Service::fsstat, &Service::fsinfo,
      &Service::pathconf, &Service::commit};
  static constexpr std::array<Method, 6> kMount{&Service::null, &Service::mnt,  &Service::mount_dump,
                                                &Service::null, &Service::null, &Service::mount_export};
  const bool is_mount = call.program == nfs::kMountProgram;
  if (!is_mount && call.program != nfs::kProgram) return {kProgUnavail};
  if (call.version != 3) return {kProgMismatch};
  if (call.procedure >= (is_mount ? kMount.size() : kNfs.size())) return {kProcUnavail};
  try {
    return finish(call, is_mount ? kMount[call.procedure] : kNfs[call.procedure]);
  } catch (const DecodeError&) {
    return {kGarbageArgs};
  }
}

/// Returns the number of bytes that follow the status in the results of a failed call. These bytes are post_op_attr and
/// wcc_data values without attributes. The failed results of GETATTR have none.
static std::size_t size_of_failure(std::uint32_t procedure) {
  switch (procedure) {
    case nfs::kGetattr: return 0;
    case nfs::kRename: return 16;
    case nfs::kLink: return 12;
    case nfs::kSetattr:
    case nfs::kWrite:
    case nfs::kCreate:
    case nfs::kMkdir:
    case nfs::kSymlink:
    case nfs::kMknod:
    case nfs::kRemove:
    case nfs::kRmdir:
    case nfs::kCommit: return 8;
    default: return 4;
  }
}

Answer Service::finish(const RpcCall& call, Method method) {
  if (call.program == nfs::kProgram && call.procedure != nfs::kNull && hooks_.status) {
    if (const std::uint32_t status = hooks_.status(call.procedure)) {
      hooks_.status_used = true;
      return {.results = Out().u32(status).zeros(size_of_failure(call.procedure)).bytes()};
    }
  }
  In in(call.arguments);
  Out out;
  item_.reset();
  (this->*method)(in, out);
  return {.results = std::move(out).bytes(), .item = item_};
}

void Service::getattr(In& in, Out& out) {
  const Node* const node = object(in);
  if (!node) return void(out.u32(nfs::kStale));
  encode(out.u32(nfs::kOk), attributes_of(*node));
}

void Service::lookup(In& in, Out& out) {
  const Node* const directory = object(in);
  const std::string name = in.text(kLongestPath);
  const Node* const node = directory ? files_.child(*directory, name) : nullptr;
  if (!node) return post_op(out.u32(directory ? nfs::kNoent : nfs::kStale), directory);
  nfs::Handle handle = Export::handle_of(node->id);
  hooks_.handle(handle);
  out.u32(nfs::kOk).opaque(handle);
  post_op(out, node);
  post_op(out, directory);
}

void Service::access(In& in, Out& out) {
  const Node* const node = object(in);
  post_op(out.u32(node ? nfs::kOk : nfs::kStale), node);
  if (node) out.u32(in.u32());
}

void Service::readlink(In& in, Out& out) {
  const Node* const node = object(in);
  const bool good = node && node->type == nfs::kSymbolicLink;
  post_op(out.u32(good ? nfs::kOk : node ? nfs::kInval : nfs::kStale), node);
  if (!good) return;
  std::string target = node->target;
  hooks_.readlink(target);
  item_ = Item{out.size() + 4, target.size()};
  out.text(target);
}

void Service::read(In& in, Out& out) {
  const Node* const node = object(in);
  ReadResult result;
  result.offset = in.u64();
  result.asked = in.u32();
  const bool good = node && node->type == nfs::kRegular;
  post_op(out.u32(good ? nfs::kOk : node ? nfs::kIsdir : nfs::kStale), node);
  if (!good) return;
  const std::uint64_t begin = std::min<std::uint64_t>(result.offset, node->data.size());
  result.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(result.asked, node->data.size() - begin));
  const View part = View(node->data).subspan(begin, result.count);
  result.data.assign(part.begin(), part.end());
  result.eof = begin + result.count == node->data.size();
  hooks_.read(result);
  out.u32(result.count).u32(result.eof ? 1 : 0);
  item_ = Item{out.size() + 4, result.data.size()};
  out.opaque(result.data);
}

void Service::fsstat(In& in, Out& out) {
  const Node* const node = object(in);
  post_op(out.u32(node ? nfs::kOk : nfs::kStale), node);
  if (!node) return;
  for (int i = 0; i < 3; ++i) out.u64(Export::kMostBytes);
  for (int i = 0; i < 3; ++i) out.u64(Export::kMostNodes);
  out.u32(0);
}

void Service::fsinfo(In& in, Out& out) {
  const Node* const node = object(in);
  post_op(out.u32(node ? nfs::kOk : nfs::kStale), node);
  if (!node) return;
  Fsinfo info;
  hooks_.fsinfo(info);
  out.words({info.rtmax, info.rtpref, info.rtmult, info.wtmax, info.wtpref, info.wtmult, info.dtpref});
  out.u64(info.longest_file).words({0, 1, 0x1b});
}

void Service::pathconf(In& in, Out& out) {
  const Node* const node = object(in);
  post_op(out.u32(node ? nfs::kOk : nfs::kStale), node);
  if (node) out.words({32000, 255, 1, 1, 0, 1});
}

void Service::mnt(In& in, Out& out) {
  std::uint32_t status = in.text(kLongestPath) == export_path_ ? nfs::kOk : kMountNotFound;
  nfs::Handle root = Export::handle_of(Export::kRoot);
  std::vector<std::uint32_t> flavors{kAuthSys};
  hooks_.mount(status, root, flavors);
  out.u32(status);
  if (status != nfs::kOk) return;
  out.opaque(root).u32(static_cast<std::uint32_t>(flavors.size()));
  for (const std::uint32_t each : flavors) out.u32(each);
}

void Service::mount_export(In&, Out& out) { out.u32(1).text(export_path_).u32(0).u32(0); }

}  // namespace rpcrdma::conform::client
