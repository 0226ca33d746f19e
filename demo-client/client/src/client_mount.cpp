// SPDX-License-Identifier: BSD-3-Clause
// Operation: MNT (RFC 1813 section 5.2.1) over the RDMA connection, or over TCP if a port is given: not every server
// has MOUNT on its RDMA port (RFC 8267 section 5.1).
// Ownership: the client caches handles of exports. A TCP connection lives in the frame of its call.
// Error handling: mountstat3 is an nfs::Status; a server without the program is ClientError::no_mount_service.
#include "client_impl.hpp"
#include "rpcrdma/nfs/convert.hpp"
#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/tcp_requester.hpp"

namespace rpcrdma::nfs {
namespace {

Task<FileHandle> ask(rpc::Client& rpc, std::string path, Clock::time_point deadline) {
  dirpath args{};
  args.set(path);
  rpc::CallOptions options;
  options.deadline = deadline;
  const auto reply = co_await call_once<rpc::mount3::Mnt>(rpc, args, options);
  if (!reply) {
    const bool absent = reply.error() == rpc::RpcError::program_unavailable ||
                        reply.error() == rpc::RpcError::program_mismatch ||
                        reply.error() == rpc::RpcError::procedure_unavailable;
    co_return absent ? make_error_code(ClientError::no_mount_service) : reply.error();
  }
  if (const error_code status = status_error(static_cast<std::uint32_t>((*reply)->fhs_status))) co_return status;
  co_return from_wire((*reply)->mountres3_u.mountinfo.fhandle);
}

Task<FileHandle> ask_by_tcp(Client::Impl& impl, std::string path, Clock::time_point deadline) {
  const fabric::Endpoint server(impl.server.address(), *impl.options.mount_port);
  const auto requester = rpc::TcpRequester::make(impl.context, server);
  rpc::Client rpc(*requester, impl.context.get_executor(), {impl.rpc().credential(), impl.options.timeout});
  const Result<FileHandle> root = co_await ask(rpc, path, deadline);
  // A failure of the TCP connection is a system error. PathResolver would take a system error for a refusal of this
  // path, and would ask the server for shorter paths. Therefore this function returns another error.
  if (!root && is_system_error(root.error())) co_return make_error_code(ClientError::mount_unreachable);
  co_return root;
}

}  // namespace

Task<FileHandle> Client::mount(std::string path) {
  if (const auto known = impl_->mounts.find(path); known != impl_->mounts.end()) co_return known->second;
  const Clock::time_point deadline = Clock::now() + impl_->options.timeout;
  Result<FileHandle> root = FileHandle{};
  if (impl_->options.mount_port) {
    root = co_await ask_by_tcp(*impl_, path, deadline);
  } else {
    root = co_await ask(impl_->rpc(), path, deadline);
  }
  if (root) impl_->mounts.emplace(path, *root);
  co_return root;
}

}  // namespace rpcrdma::nfs
