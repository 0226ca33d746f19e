// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::nfs {

/// nfsstat3 (RFC 1813 section 2.6), which includes mountstat3 (section 5.1.5). The error_code of a status equals the
/// matching boost::system::errc, if there is one. Its message is that of strerror(3), except for bad_cookie and
/// serverfault.
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

/// The error_code of a status word from a peer; 0 gives success.
inline error_code status_error(std::uint32_t status) noexcept { return make_error_code(static_cast<Status>(status)); }

/// True for an error_code made from a Status.
bool is_status(const error_code& ec) noexcept;

}  // namespace rpcrdma::nfs

template <>
struct boost::system::is_error_code_enum<rpcrdma::nfs::Status> : std::true_type {};
