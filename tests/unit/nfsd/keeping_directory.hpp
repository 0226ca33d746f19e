// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fcntl.h>

#include <filesystem>

#include "locate/kept_nodes.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {

/// Returns whether the server keeps objects of the file system at `path` open, to answer from them.
inline bool keeps_objects(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return KeptNodes::usable(fd.get());
}

/// The usual directory of temporary files if the server keeps its objects open, else a tmpfs. In a container, /tmp may
/// be on an overlay.
inline std::filesystem::path keeping_directory() {
  const std::filesystem::path usual = std::filesystem::temp_directory_path();
  return keeps_objects(usual) ? usual : "/dev/shm";
}

}  // namespace rpcrdma::nfsd
