// SPDX-License-Identifier: BSD-3-Clause
#include "mount_tcp.hpp"

#include <fcntl.h>
#include <poll.h>
#include <rpc/rpc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "local_error.hpp"
#include "rpcrdma/nfs/error.hpp"
#include "rpcrdma/nfs/local.hpp"

namespace rpcrdma::nfs {
namespace {

constexpr std::uint32_t kProgram = 100005;
constexpr std::uint32_t kVersion = 3;
constexpr std::uint32_t kMnt = 1;
constexpr u_int kMaxFlavors = 64;  // of one export: prudence, not RFC

/// mountres3
struct Reply {
  u_int status = 0;
  std::array<char, FileHandle::kMaxSize> handle{};
  u_int handle_size = 0;
};

// Routines of XDR for libtirpc's own streams.
bool_t xdr_path(XDR* xdrs, char** path) { return xdr_string(xdrs, path, 1024); }

bool_t xdr_reply(XDR* xdrs, Reply* reply) {
  if (!xdr_u_int(xdrs, &reply->status)) return FALSE;
  if (reply->status != 0) return TRUE;
  char* at = reply->handle.data();
  if (!xdr_bytes(xdrs, &at, &reply->handle_size, FileHandle::kMaxSize)) return FALSE;
  u_int flavors = 0;
  if (!xdr_u_int(xdrs, &flavors) || flavors > kMaxFlavors) return FALSE;
  for (u_int flavor = 0; flavors > 0; --flavors) {
    if (!xdr_u_int(xdrs, &flavor)) return FALSE;
  }
  return TRUE;
}

error_code system_error(int number) noexcept { return {number, boost::system::system_category()}; }

Result<Descriptor> connect_within(const boost::asio::ip::tcp::endpoint& server, std::chrono::milliseconds timeout) {
  Descriptor fd(::socket(server.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return last_system_error();
  if (::connect(fd.get(), server.data(), static_cast<socklen_t>(server.size())) != 0) {
    if (errno != EINPROGRESS) return last_system_error();
    pollfd ready{fd.get(), POLLOUT, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(timeout.count()));
    if (count == 0) return system_error(ETIMEDOUT);
    int failed = 0;
    socklen_t size = sizeof failed;
    if (count < 0 || ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size) != 0) return last_system_error();
    if (failed != 0) return system_error(failed);
  }
  if (::fcntl(fd.get(), F_SETFL, 0) != 0) return last_system_error();
  return fd;
}

error_code error_of(clnt_stat status) noexcept {
  switch (status) {
    case RPC_TIMEDOUT: return BaseError::deadline_exceeded;
    case RPC_PROGUNAVAIL:
    case RPC_PROGVERSMISMATCH: return ClientError::no_mount_service;
    case RPC_AUTHERROR: return Status::acces;
    case RPC_CANTSEND:
    case RPC_CANTRECV: return system_error(ECONNRESET);
    default: return ClientError::malformed_reply;
  }
}

struct DestroyClient {
  void operator()(CLIENT* client) const noexcept {
    if (client->cl_auth != nullptr) auth_destroy(client->cl_auth);
    clnt_destroy(client);
  }
};

}  // namespace

Result<FileHandle> mount_over_tcp(const TcpMountRequest& request) {
  const Result<Descriptor> fd = connect_within(request.server, request.timeout);
  if (!fd) return fd.error();
  auto address = request.server;
  netbuf server{static_cast<unsigned>(address.size()), static_cast<unsigned>(address.size()), address.data()};
  const std::unique_ptr<CLIENT, DestroyClient> client(clnt_vc_create(fd->get(), &server, kProgram, kVersion, 0, 0));
  if (!client) return system_error(EIO);
  std::vector<gid_t> gids(request.gids.begin(), request.gids.end());
  std::array<char, 256> machine{};
  ::gethostname(machine.data(), machine.size() - 1);
  auth_destroy(client->cl_auth);
  client->cl_auth =
      authunix_create(machine.data(), request.uid, request.gid, static_cast<int>(gids.size()), gids.data());
  if (client->cl_auth == nullptr) return system_error(ENOMEM);

  std::string path = request.path;
  char* argument = path.data();
  Reply reply;
  const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(request.timeout).count();
  const timeval wait{timeout / 1000000, timeout % 1000000};
  const clnt_stat status =
      clnt_call(client.get(), kMnt, reinterpret_cast<xdrproc_t>(xdr_path), static_cast<void*>(&argument),
                reinterpret_cast<xdrproc_t>(xdr_reply), static_cast<void*>(&reply), wait);
  if (status != RPC_SUCCESS) return error_of(status);
  if (reply.status != 0) return status_error(reply.status);
  return FileHandle(std::as_bytes(std::span(reply.handle)).first(reply.handle_size));
}

}  // namespace rpcrdma::nfs
