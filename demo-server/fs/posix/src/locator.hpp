// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// From a NodeKey to a descriptor and back. Two ways: the kernel's file handles where they are to be had
// (open_by_handle_at needs CAP_DAC_READ_SEARCH and a file system that exports), else inode numbers with
// remembered places.
#include <filesystem>
#include <memory>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/base/log.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

/// Used from any thread.
class Locator {
 public:
  virtual ~Locator() = default;

  /// O_PATH descriptor of the object. Status::stale when it is gone or, for a directory, lies outside the
  /// exported tree; Status::badhandle when this locator never made such a key.
  virtual Status open(const NodeKey& key, Fd& out) = 0;
  /// The key of an object that has just been found as `name` in the directory `parent`; without a name nothing is
  /// remembered of where.
  virtual Status key_of(int fd, const NodeStat& stat, const NodeStat& parent, std::string_view name, NodeKey& out) = 0;
  /// The object has this name, perhaps among others.
  virtual void named(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// That name of the object is gone; it may have others.
  virtual void unnamed(const NodeStat& stat, const NodeStat& parent, std::string_view name) = 0;
  /// Whether objects may be shown with another number or birth time once they are changed: an overlay copies them to
  /// its upper layer first.
  virtual bool follows_changes() const noexcept = 0;
  /// What was shown as `before` is the same object as what is shown as `now`.
  virtual void changed(const NodeStat& before, const NodeStat& now) = 0;
  /// The last name of the object is gone.
  virtual void removed(const NodeStat& stat) = 0;
  /// Now and then, on a thread that may block.
  virtual void tidy() {}
};

/// Null, with errno set, if the kernel or the file system does not offer handles to this process.
/// `root` outlives the locator. Of a part of a file system places are remembered as well, as below.
std::unique_ptr<Locator> make_handle_locator(int root, const std::filesystem::path& file, std::size_t max_hints,
                                             const Log& log);
/// `file` remembers places across restarts; an empty path keeps them in memory only.
std::unique_ptr<Locator> make_hint_locator(int root, const std::filesystem::path& file, std::size_t max_hints,
                                           const Log& log);

}  // namespace rpcrdma::nfsd
