// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// From a NodeKey to a descriptor and back. There are two ways: the kernel's file handles where they are available
// (open_by_handle_at needs CAP_DAC_READ_SEARCH and a file system that supports NFS export), else inode numbers with
// remembered places.
#include <filesystem>
#include <memory>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/base/log.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

/// Used from any thread that may block.
class Locator {
 public:
  virtual ~Locator() = default;

  /// O_PATH descriptor of the object. Status::stale when it is gone or, for a directory, lies outside the
  /// exported tree; Status::badhandle when this locator never made such a key.
  virtual StatusOr<Fd> open(const NodeKey& key) = 0;
  /// The key of an object that has just been found as `name` in the directory `parent`. Without a name, no place is
  /// remembered.
  virtual StatusOr<NodeKey> key_of(int fd, const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// The object has this name, perhaps among others.
  virtual void named(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// The object has lost that name; it may have others.
  virtual void unnamed(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// The object has been changed, and was shown as `before`: an overlay copies it to its upper layer first, and shows
  /// another birth time then.
  virtual void changed(const NodeStat& before, const NodeStat& now) = 0;
  /// The object has lost its last name.
  virtual void removed(const NodeStat& stat) = 0;
  /// See FileSystem::tidy().
  virtual void tidy() {}
};

/// Null if the kernel or the file system does not offer handles to this process. `root` outlives the locator. For an
/// export that is a part of a file system, places are remembered as well, as below.
std::unique_ptr<Locator> make_handle_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                             const Log& log);
/// Remembers the places of at most `max_places` objects in `file` across restarts; an empty path keeps them in memory.
/// Null if the root cannot be read.
std::unique_ptr<Locator> make_place_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                            const Log& log);

}  // namespace rpcrdma::nfsd
