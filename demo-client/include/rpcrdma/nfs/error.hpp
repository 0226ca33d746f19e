// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::nfs {

/// nfsstat3 (RFC 1813 section 2.6), which covers mountstat3 (section 5.1.4) too. As an error_code its message
/// is what strerror says of the same thing, and it compares equal to the matching boost::system::errc.
enum class Status : std::uint32_t {
  ok = 0,
  perm = 1,
  noent = 2,
  io = 5,
  nxio = 6,
  acces = 13,
  exist = 17,
  xdev = 18,
  nodev = 19,
  notdir = 20,
  isdir = 21,
  inval = 22,
  fbig = 27,
  nospc = 28,
  rofs = 30,
  mlink = 31,
  nametoolong = 63,
  notempty = 66,
  dquot = 69,
  stale = 70,
  remote = 71,
  badhandle = 10001,
  not_sync = 10002,
  bad_cookie = 10003,
  notsupp = 10004,
  toosmall = 10005,
  serverfault = 10006,
  badtype = 10007,
  jukebox = 10008,
};

error_code make_error_code(Status status) noexcept;

/// A status word as it came from the server; 0 gives success.
inline error_code status_error(std::uint32_t status) noexcept { return make_error_code(static_cast<Status>(status)); }

/// What the client itself finds wrong.
enum class ClientError {
  malformed_reply = 1,  ///< the server's reply breaks the protocol
  no_mount_service,     ///< the server has no MOUNT on this connection
  mount_unreachable,    ///< nothing answers at the TCP port given for MOUNT
  unsafe_name,          ///< the server sent a file name that no file can have
  too_deep,             ///< directories nested beyond the client's bound
  keeps_restarting,     ///< the server lost unstable data again and again
};

error_code make_error_code(ClientError e) noexcept;

/// True for an error of this machine's system: errno.
bool is_system_error(const error_code& ec) noexcept;

/// True for an error of one file, after which work on others makes sense: a status from the server, a local
/// system error. False when calls do not get through.
bool is_file_error(const error_code& ec) noexcept;

}  // namespace rpcrdma::nfs

template <>
struct boost::system::is_error_code_enum<rpcrdma::nfs::Status> : std::true_type {};
template <>
struct boost::system::is_error_code_enum<rpcrdma::nfs::ClientError> : std::true_type {};
