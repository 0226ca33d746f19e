// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Converts a NodeKey to a descriptor and back: by the kernel's file handles where possible, else by inode numbers with
// remembered places. For handles, open_by_handle_at() needs CAP_DAC_READ_SEARCH and a file system that supports NFS
// export. A place is a directory and a name in it.
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/base/log.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

/// Synchronized. Its functions may block, except key_of() of a locator that remembers no places.
class Locator {
 public:
  virtual ~Locator() = default;

  /// O_PATH descriptor of the object. Status::stale if the object is gone or outside the exported tree; exception: an
  /// object with several names may be outside the tree. Status::badhandle if this locator cannot have made the key.
  virtual StatusOr<Fd> open(const NodeKey& key) = 0;
  /// The key of an object that has just been found as `name` in the directory `parent`. Without a name, remembers no
  /// place.
  virtual StatusOr<NodeKey> key_of(int fd, const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// The key of the object `name` in `directory`, which had the attributes `stat` a moment before. Does not open it.
  /// Returns nothing if this is not possible, or if the name leads to an object with another number now.
  virtual std::optional<NodeKey> key_at(int /*directory*/, std::string_view /*name*/, const NodeStat& /*stat*/) {
    return std::nullopt;
  }
  /// Whether key_at() usually returns a key.
  virtual bool finds_by_name() const noexcept { return false; }
  /// True if the caller must report names and changes with the following functions.
  virtual bool remembers() const noexcept = 0;
  /// Reports that the object has this name, perhaps among others.
  virtual void named(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// Reports that the object has lost this name; it may have others.
  virtual void unnamed(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// Reports a change of an object whose attributes were `before` and are `now`: an overlay copies an object to its
  /// upper layer before the change, and then shows another birth time.
  virtual void changed(const NodeStat& before, const NodeStat& now) = 0;
  /// Reports that the object has lost its last name.
  virtual void removed(const NodeStat& stat) = 0;
  /// See FileSystem::tidy().
  virtual void tidy() {}
};

/// Null if the kernel or the file system provides no handles to this process. `root` must outlive the locator. If the
/// export is on a mount of a part of a file system, places are remembered as well, as by make_place_locator().
std::unique_ptr<Locator> make_handle_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                             const Log& log);
/// Remembers the places of at most `max_places` objects in `file` across restarts; an empty path keeps them in memory.
/// Null if the root cannot be read.
std::unique_ptr<Locator> make_place_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                            const Log& log);

}  // namespace rpcrdma::nfsd
