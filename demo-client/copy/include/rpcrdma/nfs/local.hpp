// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The local side of a copy. Trees are accessed by descriptor: a symbolic link that appears in a tree during the copy
// does not lead out of the tree.
//
// Threads: any thread may use an object, but only one at a time. Errors are those of the system.
#include <sys/stat.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfs/node.hpp"

namespace rpcrdma::nfs {

/// The attributes of a local file in NFS's types. The fileid is the inode number.
Attributes attributes_of(const struct stat& status) noexcept;

/// Opens a file for reading; follows symbolic links.
Result<Fd> open_to_read(const std::string& path);
/// Opens a file for writing; follows symbolic links. If the file does not exist, creates it with `mode` less the umask.
/// If the file exists and `cut` is true, truncates it to zero bytes.
Result<Fd> open_to_write(const std::string& path, std::uint32_t mode, bool cut = true);
Result<Attributes> local_attributes(const std::string& path, bool follow);
Result<Attributes> local_attributes(const Fd& file);

/// Reads until `into` is full or the file ends; returns the number of bytes read.
Result<std::size_t> read_at(const Fd& file, std::uint64_t offset, std::span<std::byte> into);
Result<void> write_at(const Fd& file, std::uint64_t offset, std::span<const std::byte> from);
/// Writes to a pipe or terminal, or to a file at its current position.
Result<void> write_out(int fd, std::span<const std::byte> from);
/// Returns an error that the file system did not report when data was written through `fd`. For example, a network file
/// system may report a failed write only at close(2). This function keeps `fd` open, but may block as long as close(2).
Result<void> check_written(int fd);
/// Sets the mode, the atime and the mtime of an open file or directory, as far as `attributes` contains them.
Result<void> set_attributes(const Fd& file, const SetAttributes& attributes);

/// Removes the file `made`, which a failed copy has created as `name`. Removes nothing if the file is not empty, or if
/// `name` now refers to another file. `directory` is an open directory or, if `name` is a path, AT_FDCWD.
void take_back(int directory, const std::string& name, const Fd& made) noexcept;

/// An entry of a local directory.
struct LocalEntry {
  std::string name;
  Attributes attributes;
};

/// An open directory. Refuses names for which is_plain_name() is false, except in has(). Follows no symbolic links,
/// except in open().
class LocalDirectory {
 public:
  /// Follows symbolic links in `path`.
  static Result<LocalDirectory> open(const std::string& path);

  Result<LocalDirectory> open_child(const std::string& name) const;
  /// Opens a directory, and creates it with `mode` (less the umask) if it does not exist.
  Result<LocalDirectory> make_child(const std::string& name, std::uint32_t mode) const;
  /// All entries, sorted by name.
  Result<std::vector<LocalEntry>> list() const;
  /// Opens a regular file for reading.
  Result<Fd> open_file(const std::string& name) const;
  /// Opens a regular file for writing. If the file does not exist, creates it. If the file exists and `cut` is true,
  /// truncates it to zero bytes. If `name` is a symbolic link, replaces the link by a new file.
  Result<Fd> create_file(const std::string& name, std::uint32_t mode, bool cut = true) const;
  /// False only if no entry of that name exists; true also if the check fails.
  bool has(const std::string& name) const noexcept;
  Result<std::string> read_link(const std::string& name) const;
  /// Creates a symbolic link; replaces an entry of that name unless it is a directory.
  Result<void> make_link(const std::string& name, const std::string& target) const;
  const Fd& descriptor() const noexcept { return fd_; }

 private:
  explicit LocalDirectory(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace rpcrdma::nfs
