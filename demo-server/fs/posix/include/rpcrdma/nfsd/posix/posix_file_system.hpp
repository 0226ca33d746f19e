// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <filesystem>
#include <memory>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/nfsd/fs/file_system.hpp"

namespace rpcrdma::nfsd {

struct PosixOptions {
  std::filesystem::path root;
  /// The file in which the file system remembers the places of objects across restarts. A place is a directory and a
  /// name. Places are needed only where the kernel's file handles do not suffice to find an object. If the path is
  /// empty, the places are kept in memory.
  std::filesystem::path hint_file;
  std::size_t max_hints = std::size_t{1} << 20;  ///< objects whose places are kept
  std::size_t max_descriptors = 512;             ///< files kept open for data
  std::size_t max_nodes = 4096;                  ///< objects kept open to answer calls without a look-up
  bool kernel_handles = true;                    ///< false: never use name_to_handle_at
};

/// Makes a file system of a directory of this machine. Clients reach nothing above `root`, nothing through a symbolic
/// link, and nothing on another mount. Operations run with the identity of the caller if serves_as_callers() returns
/// true. Changes of names and attributes are on the disk when they are reported, unless Caller::sync is false. A new
/// object gets the requested mode without the bits in the process's umask, which the server program sets to 0.
///
/// Methods that may block change the identity of the calling thread. When they return, the thread may still have the
/// gid and the groups of the caller and, after keep_identities(), also the uid. A thread that posts work requests to a
/// verbs device must not call them, except after keep_servers_identity() and for callers for whom
/// FileSystem::acts_as_server() is true.
///
/// Fails with a system error if `root` is not a directory that this process can open.
Result<std::unique_ptr<FileSystem>> make_posix_file_system(const PosixOptions& options, Log log);

/// True if this process can take its callers' identities: it is root, and may change user and groups. Otherwise it
/// serves all callers with its own identity.
bool serves_as_callers();

/// Permits the calling thread to keep the user and groups of a caller after an operation that changes names for this
/// caller. If the thread's next such operation is for the same caller, it needs fewer system calls. Only for threads
/// that run file system operations, and do nothing else that depends on their identity.
void keep_identities() noexcept;
/// From now on, the calling thread refuses to take another identity than that of the server: operations for other
/// callers fail, most with Status::jukebox. For threads that post work requests to a verbs device.
void keep_servers_identity() noexcept;

}  // namespace rpcrdma::nfsd
