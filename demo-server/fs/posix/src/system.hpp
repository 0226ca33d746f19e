// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Linux system calls in the terms of this server. All set errno on failure, as usual.
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// nfsstat3 of an errno value.
Status status_of(int error) noexcept;

/// What statx tells; birth time is 0 where the file system has none.
struct NodeStat {
  Attributes attributes;
  std::uint64_t birth = 0;   ///< nanoseconds since 1970
  std::uint64_t device = 0;  ///< what its number counts within: perhaps not the directory's, on one mount
};
/// Attributes of an open descriptor, O_PATH included.
Status stat_fd(int fd, NodeStat& out) noexcept;
inline bool is_directory(const NodeStat& s) noexcept { return s.attributes.type == FileType::directory; }
inline bool same_object(const NodeStat& a, const NodeStat& b) noexcept {
  return a.attributes.fileid == b.attributes.fileid && a.device == b.device;
}

/// Opens one component below `directory`, O_PATH, never following a symbolic link and never leaving the
/// mount: Status::acces for another file system.
Status open_component(int directory, std::string_view name, Fd& out);
/// Opens again what an O_PATH descriptor names, with the rights of `flags`. Only for files and directories.
Status reopen(int fd, int flags, Fd& out);
/// The kernel's name for the object behind `fd`, as a path that leads to exactly that object.
struct ProcPath {
  explicit ProcPath(int fd) noexcept;
  char text[40];
};

}  // namespace rpcrdma::nfsd
