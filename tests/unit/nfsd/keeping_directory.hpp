// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fcntl.h>

#include <filesystem>

#include "locate/kept_nodes.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {

/// Returns whether the server keeps recently used objects of the file system at `path` open (see KeptNodes).
inline bool keeps_objects(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return KeptNodes::usable(fd.get());
}

/// Returns a directory whose objects the server keeps open. This is the usual directory for temporary files, if
/// possible, and otherwise /dev/shm, a tmpfs. In a container, the usual directory may be on an overlay, whose objects
/// the server does not keep open.
inline std::filesystem::path keeping_directory() {
  const std::filesystem::path usual = std::filesystem::temp_directory_path();
  return keeps_objects(usual) ? usual : "/dev/shm";
}

}  // namespace rpcrdma::nfsd
