// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/nfs/types.hpp"

namespace rpcrdma::nfs {

struct TcpMountRequest {
  boost::asio::ip::tcp::endpoint server;
  std::string path;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> gids;
  std::chrono::milliseconds timeout{60000};
};

/// MNT of MOUNT version 3 over TCP by libtirpc (RFC 8267 section 5.1: every server has it there). Blocks; any
/// thread. Errors: nfs::Status, system errors of the connection, BaseError::deadline_exceeded.
Result<FileHandle> mount_over_tcp(const TcpMountRequest& request);

}  // namespace rpcrdma::nfs
