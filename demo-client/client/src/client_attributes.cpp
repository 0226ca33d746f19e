// SPDX-License-Identifier: BSD-3-Clause
// Operation: NULL, GETATTR, SETATTR, LOOKUP, READLINK, FSSTAT and FSINFO (RFC 1813 section 3.3). If the reply to LOOKUP
// lacks the attributes, a GETATTR fetches them.
// Ownership: arguments are held by value in the coroutine's frame, which outlives the call.
// Error handling: see client.hpp.
#include <algorithm>

#include "client_impl.hpp"
#include "rpcrdma/nfs/convert.hpp"

namespace rpcrdma::nfs {
namespace {

constexpr std::uint32_t kMaxTransfer = 1u << 20;

/// Returns the size that the server prefers for a transfer, or its maximum if it prefers none. The result does not
/// exceed the maximum of the server or that of the client, except that it is never less than 512 bytes.
std::uint32_t transfer_size(std::uint32_t preferred, std::uint32_t maximum) noexcept {
  const std::uint32_t size = preferred != 0 ? std::min(preferred, maximum) : maximum;
  return std::clamp(size, 512u, kMaxTransfer);
}

}  // namespace

Task<void> Client::null() {
  rpc::CallOptions options;
  options.deadline = Clock::now() + impl_->options.timeout;
  const auto reply = co_await call_once<rpc::nfs3::Null>(impl_->rpc(), {}, options);
  if (!reply) co_return reply.error();
  co_return Result<void>();
}

Task<Attributes> Client::getattr(FileHandle file) {
  const GETATTR3args args{to_wire(file)};
  rpc::Decoded<GETATTR3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Getattr>(*impl_, args, reply)) co_return failed;
  co_return from_wire(reply->GETATTR3res_u.resok.obj_attributes);
}

Task<void> Client::setattr(FileHandle file, SetAttributes attributes) {
  SETATTR3args args{};
  args.object = to_wire(file);
  args.new_attributes = to_wire(attributes);
  rpc::Decoded<SETATTR3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Setattr>(*impl_, args, reply)) co_return failed;
  co_return Result<void>();
}

Task<Node> Client::lookup(FileHandle directory, std::string name) {
  const LOOKUP3args args{to_wire(directory, name)};
  rpc::Decoded<LOOKUP3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Lookup>(*impl_, args, reply)) co_return failed;
  const LOOKUP3resok& found = reply->LOOKUP3res_u.resok;
  if (found.obj_attributes.attributes_follow) co_return Node{from_wire(found.object), *from_wire(found.obj_attributes)};
  const Result<Attributes> attributes = co_await getattr(from_wire(found.object));
  if (!attributes) co_return attributes.error();
  co_return Node{from_wire(found.object), *attributes};
}

Task<std::string> Client::readlink(FileHandle link) {
  const READLINK3args args{to_wire(link)};
  rpc::Decoded<READLINK3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Readlink>(*impl_, args, reply)) co_return failed;
  std::string target(reply->READLINK3res_u.resok.data.text());
  // symlink(2) accepts neither a NUL nor an empty target.
  if (target.empty() || target.find('\0') != std::string::npos) co_return make_error_code(ClientError::malformed_reply);
  co_return target;
}

Task<Limits> Client::limits(FileHandle root) {
  if (impl_->limits) co_return *impl_->limits;
  const FSINFO3args args{to_wire(root)};
  rpc::Decoded<FSINFO3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Fsinfo>(*impl_, args, reply)) co_return failed;
  const FSINFO3resok& info = reply->FSINFO3res_u.resok;
  impl_->limits = Limits{transfer_size(info.rtpref, info.rtmax), transfer_size(info.wtpref, info.wtmax)};
  co_return *impl_->limits;
}

Task<Statistics> Client::space(FileHandle root) {
  const FSSTAT3args args{to_wire(root)};
  rpc::Decoded<FSSTAT3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Fsstat>(*impl_, args, reply)) co_return failed;
  const FSSTAT3resok& stat = reply->FSSTAT3res_u.resok;
  co_return Statistics{stat.tbytes, stat.fbytes, stat.abytes, stat.tfiles, stat.ffiles, stat.afiles};
}

}  // namespace rpcrdma::nfs
