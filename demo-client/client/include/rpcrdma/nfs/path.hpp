// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Resolves the path of a URL to a file handle. MOUNT supplies the handle of the export, unless the caller has given it.
// LOOKUP resolves the other components of the path, and READLINK the symbolic links among them.
#include <string>
#include <vector>

#include "rpcrdma/nfs/client.hpp"

namespace rpcrdma::nfs {

/// A directory and a name in it. The name need not exist.
struct Place {
  FileHandle directory;
  std::string name;
};

/// Resolves paths on one server. Used on the client's thread. Must outlive the tasks that its functions return.
class PathResolver {
 public:
  using Path = std::vector<std::string>;

  /// If `root` is given, it is the handle of the export that the first component of each path names, and MOUNT is not
  /// used.
  explicit PathResolver(Client& client, std::optional<FileHandle> root = std::nullopt)
      : client_(client), root_(std::move(root)) {}

  /// Resolves a path to its file. Follows symbolic links within the export; follows a link at the end of the path only
  /// if `follow_last`.
  Task<Node> resolve(Path path, bool follow_last);
  /// Resolves a path to the directory that contains its last component, and the name of that component. The last
  /// component need not exist. Fails with errc::device_or_resource_busy if the path is empty, or if it names an export
  /// that lies below no other export.
  Task<Place> resolve_parent(Path path);

 private:
  struct Export {
    FileHandle root;
    std::size_t components = 0;  ///< number of components that name the export
  };
  Task<Export> find_export(const Path& path);
  Task<Node> walk(Export from, Path path, bool follow_last);

  Client& client_;
  std::optional<FileHandle> root_;
};

}  // namespace rpcrdma::nfs
