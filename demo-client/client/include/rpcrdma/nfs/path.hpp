// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Resolves the path of a URL to a file handle: MOUNT for the export, LOOKUP for the rest.
#include <string>
#include <vector>

#include "rpcrdma/nfs/client.hpp"

namespace rpcrdma::nfs {

/// A name in a directory; it need not exist.
struct Place {
  FileHandle directory;
  std::string name;
};

/// Resolves paths on one server. Belongs to the client's thread; outlives its operations.
class PathResolver {
 public:
  using Path = std::vector<std::string>;

  /// `root`: the handle of the export, which is then the first component of a path; MOUNT is not used.
  explicit PathResolver(Client& client, std::optional<FileHandle> root = std::nullopt)
      : client_(client), root_(std::move(root)) {}

  /// The file itself. Follows symbolic links, within the export; one at the end of the path only if `follow_last`.
  Task<Node> resolve(Path path, bool follow_last);
  /// The directory that holds the last component, and that component. errc::device_or_resource_busy when
  /// the path is an export itself.
  Task<Place> resolve_parent(Path path);

 private:
  struct Export {
    FileHandle root;
    std::size_t components = 0;  ///< of the path that name the export
  };
  Task<Export> find_export(const Path& path);
  Task<Node> walk(Export from, Path path, bool follow_last);

  Client& client_;
  std::optional<FileHandle> root_;
};

}  // namespace rpcrdma::nfs
