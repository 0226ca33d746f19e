// SPDX-License-Identifier: BSD-3-Clause
// Operation: MNT (RFC 1813 section 5.2.1) over the connection at hand, or by TCP when a port was given.
// Ownership: handles of exports are remembered by the client: a path is asked for once.
// Error handling: mountstat3 is a nfs::Status; a server without the program is ClientError::no_mount_service.
#include <boost/asio/thread_pool.hpp>

#include "client_impl.hpp"
#include "convert.hpp"
#include "mount_tcp.hpp"
#include "offload.hpp"
#include "rpcrdma/rpc/mount3.hpp"

namespace rpcrdma::nfs {
namespace {

Task<FileHandle> mount_by_rdma(Client::Impl& impl, std::string path) {
  dirpath args{};
  args.set(path);
  rpc::CallOptions options;
  options.deadline = Clock::now() + impl.options.timeout;
  const auto reply = co_await call_once<rpc::mount3::Mnt>(impl.rpc, args, options);
  if (!reply) {
    const bool absent = reply.error() == rpc::RpcError::program_unavailable ||
                        reply.error() == rpc::RpcError::program_mismatch ||
                        reply.error() == rpc::RpcError::procedure_unavailable;
    co_return absent ? make_error_code(ClientError::no_mount_service) : reply.error();
  }
  if (const error_code status = status_error(static_cast<std::uint32_t>((*reply)->fhs_status))) co_return status;
  co_return from_xdr((*reply)->mountres3_u.mountinfo.fhandle);
}

Task<FileHandle> mount_by_tcp(Client::Impl& impl, std::string path) {
  const TcpMountRequest request{
      {impl.server.address(), *impl.options.mount_port},
      path,
      impl.rpc.credential().uid,
      impl.rpc.credential().gid,
      std::vector<std::uint32_t>(impl.rpc.credential().gids().begin(), impl.rpc.credential().gids().end()),
      impl.options.timeout};
  boost::asio::thread_pool thread(1);
  co_return co_await offload(thread, [&request] { return mount_over_tcp(request); });
}

}  // namespace

Task<FileHandle> Client::mount(std::string path) {
  if (const auto known = impl_->mounts.find(path); known != impl_->mounts.end()) co_return known->second;
  Result<FileHandle> root = FileHandle{};
  if (impl_->options.mount_port) {
    root = co_await mount_by_tcp(*impl_, path);
  } else {
    root = co_await mount_by_rdma(*impl_, path);
  }
  if (root) impl_->mounts.emplace(path, *root);
  co_return root;
}

}  // namespace rpcrdma::nfs
