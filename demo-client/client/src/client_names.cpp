// SPDX-License-Identifier: BSD-3-Clause
// Operation: procedures that change names (RFC 1813 sections 3.3.8 to 3.3.15, without MKNOD), one call each. If the
// reply to CREATE or MKDIR lacks the handle or the attributes, a LOOKUP fetches them.
// Ownership: arguments are held by value in the coroutine's frame, which outlives the call.
// Error handling: see client.hpp.
#include "client_impl.hpp"
#include "rpcrdma/nfs/convert.hpp"

namespace rpcrdma::nfs {
namespace {

/// Returns the file or directory that CREATE or MKDIR has made. `handle` and `attributes` are from the reply. If either
/// is absent, calls LOOKUP.
Task<Node> made(Client& client, FileHandle directory, std::string name, post_op_fh3 handle, post_op_attr attributes) {
  const std::optional<FileHandle> file = from_wire(handle);
  const std::optional<Attributes> known = from_wire(attributes);
  if (file && known) co_return Node{*file, *known};
  co_return co_await client.lookup(directory, name);
}

}  // namespace

Task<Node> Client::create(FileHandle directory, std::string name, SetAttributes attributes, bool exclusive) {
  CREATE3args args{};
  args.where = to_wire(directory, name);
  args.how.mode = exclusive ? GUARDED : UNCHECKED;
  args.how.createhow3_u.obj_attributes = to_wire(attributes);
  rpc::Decoded<CREATE3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Create>(*impl_, args, reply)) co_return failed;
  const CREATE3resok& ok = reply->CREATE3res_u.resok;
  co_return co_await made(*this, directory, name, ok.obj, ok.obj_attributes);
}

Task<Node> Client::mkdir(FileHandle directory, std::string name, std::uint32_t mode) {
  MKDIR3args args{};
  args.where = to_wire(directory, name);
  args.attributes = to_wire(SetAttributes{.mode = mode});
  rpc::Decoded<MKDIR3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Mkdir>(*impl_, args, reply)) co_return failed;
  const MKDIR3resok& ok = reply->MKDIR3res_u.resok;
  co_return co_await made(*this, directory, name, ok.obj, ok.obj_attributes);
}

Task<void> Client::symlink(FileHandle directory, std::string name, std::string target) {
  SYMLINK3args args{};
  args.where = to_wire(directory, name);
  args.symlink.symlink_data.set_text(target);
  rpc::Decoded<SYMLINK3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Symlink>(*impl_, args, reply)) co_return failed;
  co_return Result<void>();
}

Task<void> Client::link(FileHandle file, FileHandle directory, std::string name) {
  const LINK3args args{to_wire(file), to_wire(directory, name)};
  rpc::Decoded<LINK3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Link>(*impl_, args, reply)) co_return failed;
  co_return Result<void>();
}

Task<void> Client::remove(FileHandle directory, std::string name) {
  const REMOVE3args args{to_wire(directory, name)};
  rpc::Decoded<REMOVE3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Remove>(*impl_, args, reply)) co_return failed;
  co_return Result<void>();
}

Task<void> Client::rmdir(FileHandle directory, std::string name) {
  const RMDIR3args args{to_wire(directory, name)};
  rpc::Decoded<RMDIR3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Rmdir>(*impl_, args, reply)) co_return failed;
  co_return Result<void>();
}

Task<void> Client::rename(FileHandle from, std::string from_name, FileHandle to, std::string to_name) {
  const RENAME3args args{to_wire(from, from_name), to_wire(to, to_name)};
  rpc::Decoded<RENAME3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Rename>(*impl_, args, reply)) co_return failed;
  co_return Result<void>();
}

}  // namespace rpcrdma::nfs
