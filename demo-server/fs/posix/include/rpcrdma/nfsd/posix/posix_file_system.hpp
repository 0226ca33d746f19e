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
  /// Where kernel file handles do not suffice, the place (directory and name) of each object is stored in this file or,
  /// if its path is empty, in memory.
  std::filesystem::path hint_file;
  std::size_t max_hints = std::size_t{1} << 20;  ///< objects whose places are kept
  std::size_t max_descriptors = 512;             ///< files kept open for data
  std::size_t max_nodes = 4096;                  ///< objects kept open to answer calls without a look-up
  bool kernel_handles = true;                    ///< false: never use name_to_handle_at
};

/// A directory of this machine as a file system. Clients reach nothing above `root`, beyond a symbolic link or on
/// another mount. Operations run with the identity of the caller if serves_as_callers(). Changes of names and
/// attributes are on the disk when they are reported, unless Caller::sync is false. New objects get the requested mode
/// less the process's umask, which the program sets to 0. Methods that may block change the identity of their thread
/// temporarily, or for longer after keep_identities(): do not call them on a thread that posts work requests. Fails
/// with a system error if `root` is not a directory that this process can open.
Result<std::unique_ptr<FileSystem>> make_posix_file_system(const PosixOptions& options, Log log);

/// True if this process can take its callers' identities: it is root, and may change user and groups. Otherwise it
/// serves all callers with its own identity.
bool serves_as_callers();

/// From now on, the calling thread may keep the identity of its last caller after a change of names. This spares it
/// system calls if the next change is for the same caller. For threads that run operations of file systems and nothing
/// else that depends on their identity.
void keep_identities() noexcept;

}  // namespace rpcrdma::nfsd
