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
  /// Where places of files are remembered if the kernel gives no file handles; empty: in memory only.
  std::filesystem::path hint_file;
  std::size_t max_hints = std::size_t{1} << 20;
  std::size_t max_descriptors = 512;  ///< files kept open for data
  bool kernel_handles = true;         ///< false: never use name_to_handle_at
};

/// A directory of this machine as a file system. Nothing above `root`, behind a symbolic link or on another
/// mount is reachable. What is done is done as the caller (serves_as_callers()), and is on the disk when it is
/// reported, unless Caller::sync is false. New objects get the mode asked for less the process's umask, which is 0 in
/// the program.
/// Its methods change the identity of the thread they run on for a while: never a thread that posts work requests.
/// Fails with a system error if `root` is not a directory that this process can open.
Result<std::unique_ptr<FileSystem>> make_posix_file_system(const PosixOptions& options, Log log);

/// Whether this process can take its callers' identities: it is root, with the rights to change user and groups. If
/// not, it does everything as itself, whoever asks.
bool serves_as_callers();

}  // namespace rpcrdma::nfsd
