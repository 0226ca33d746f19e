// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Makes the NodeKey of an object, and opens the object that a NodeKey names. There are two kinds of locators. One uses
// the kernel's file handles: open_by_handle_at() needs CAP_DAC_READ_SEARCH and a file system that supports NFS export.
// Where this is not possible, the other kind uses inode numbers, and remembers the places of objects. A place is a
// directory and a name in it.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/base/log.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

/// Makes the keys that file handles contain, and finds the object of a key. May be used by several threads at the same
/// time. The functions may block, except key_of() if remembers() is false.
class Locator {
 public:
  virtual ~Locator() = default;

  /// An object that open() has opened.
  struct Opened {
    Fd fd;  ///< an O_PATH descriptor
    NodeStat stat;
    std::string path;  ///< at which open() has found the object in the tree; empty if it has not found one
  };
  /// Opens the object, and reads its attributes. Fails with Status::stale if the object is gone, or if it is outside
  /// the exported tree. Exception: an object that is not a directory may be opened although it is outside the tree, if
  /// it has several names or the kernel does not know its path. Fails with Status::badhandle if this locator cannot
  /// have made the key.
  virtual StatusOr<Opened> open(const NodeKey& key) = 0;
  /// Returns the key of the object to which `fd` refers. The caller has just found the object as `name` in the
  /// directory `parent`. A locator that remembers places remembers this one, unless `name` is empty.
  virtual StatusOr<NodeKey> key_of(int fd, const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// Returns the key of the object `name` in `directory` without opening the object. `stat` holds the attributes that
  /// the caller has just read by this name. Returns nothing if the locator cannot make a key in this way, or if the
  /// name now refers to an object with another inode number.
  virtual std::optional<NodeKey> key_at(int /*directory*/, std::string_view /*name*/, const NodeStat& /*stat*/) {
    return std::nullopt;
  }
  /// Whether key_at() usually returns a key.
  virtual bool finds_by_name() const noexcept { return false; }
  /// True if the locator remembers the places of objects. The caller must then call named(), unnamed(), changed() and
  /// removed(), so that the remembered places stay up to date.
  virtual bool remembers() const noexcept = 0;
  /// Reports that the object has this name, perhaps among others.
  virtual void named(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// Reports that the object has lost this name; it may have others.
  virtual void unnamed(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// Reports that a request may have changed an object. Its attributes were `before` and are `now`. On an overlay file
  /// system, the first change copies the object to the upper layer, and the copy has another birth time.
  virtual void changed(const NodeStat& before, const NodeStat& now) = 0;
  /// Reports that the object has lost its last name.
  virtual void removed(const NodeStat& stat) = 0;
  /// See FileSystem::tidy().
  virtual void tidy() {}
};

/// Makes a locator whose keys are file handles of the kernel. Returns null if this process cannot use such handles, for
/// example because the file system provides none. `root` must outlive the locator. If the mount of the export shows
/// only a part of its file system, the locator also remembers places in `file`, as make_place_locator() does.
std::unique_ptr<Locator> make_handle_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                             const Log& log);
/// Makes a locator that uses inode numbers, and remembers the places of at most `max_places` objects. It stores the
/// places in `file`, so that they survive a restart of the server. If the path of `file` is empty, it keeps the places
/// in memory only. Returns null if the attributes of `root` cannot be read.
std::unique_ptr<Locator> make_place_locator(int root, const std::filesystem::path& file, std::size_t max_places,
                                            const Log& log);

}  // namespace rpcrdma::nfsd
