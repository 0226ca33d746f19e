// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfs/status.hpp"

namespace rpcrdma::nfs {

/// Errors that the client itself detects.
enum class ClientError {
  malformed_reply = 1,  ///< the server's reply breaks the protocol
  no_mount_service,     ///< the server has no MOUNT on this connection
  mount_unreachable,    ///< no reply at the TCP port given for MOUNT
  unsafe_name,          ///< the server sent an invalid file name
  endless_listing,      ///< the pages of a directory form a cycle, remain empty, or exceed the client's bound
  too_deep,             ///< directories are nested beyond the client's bound
  keeps_restarting,     ///< the server lost unstable data again and again
};

error_code make_error_code(ClientError e) noexcept;

/// True for an errno of the local system.
bool is_system_error(const error_code& ec) noexcept;

/// True for an error of one file, after which work on other files can continue: a status from the server, an error of
/// the local system, or a ClientError that does not concern MOUNT. False if the server cannot be reached.
bool is_file_error(const error_code& ec) noexcept;

}  // namespace rpcrdma::nfs

template <>
struct boost::system::is_error_code_enum<rpcrdma::nfs::ClientError> : std::true_type {};
