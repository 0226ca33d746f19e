// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fcntl.h>

#include <filesystem>

#include "locate/kept_nodes.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {

/// Whether the server keeps objects of the file system at `path` open, and answers from them.
inline bool keeps_objects(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return KeptNodes::usable(fd.get());
}

/// The usual directory of temporary files, or one on tmpfs if the objects of that one are not kept. In a container /tmp
/// may be an overlay, whose objects are not.
inline std::filesystem::path keeping_directory() {
  const std::filesystem::path usual = std::filesystem::temp_directory_path();
  return keeps_objects(usual) ? usual : "/dev/shm";
}

}  // namespace rpcrdma::nfsd
