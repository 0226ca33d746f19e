// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/fs/status_or.hpp"

namespace rpcrdma::nfsd {

/// An open directory, read from one position onwards.
class DirectoryStream {
 public:
  struct Entry {
    std::uint64_t number = 0;
    /// Points into the buffer of the stream. A call of peek() after next() may overwrite the buffer.
    std::string_view name;
    std::uint64_t next = 0;  ///< position after the entry
  };

  /// Opens the directory to which the O_PATH descriptor `directory` refers. Reading begins at `position`, where 0 is
  /// the start of the directory. Fails with Status::bad_cookie if the file system refuses the position.
  static StatusOr<std::unique_ptr<DirectoryStream>> open(int directory, std::uint64_t position);

  /// The entry at the position; at the end, an entry with an empty name.
  StatusOr<Entry> peek();
  /// Moves past the entry that peek() returned.
  void next() noexcept;
  std::uint64_t position() const noexcept { return position_; }

 private:
  explicit DirectoryStream(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t position_ = 0;
};

/// Keeps the open directory of a listing between two calls of the client. A listing that continues with its stream sees
/// each entry that exists throughout the listing once. This also holds on a file system such as tmpfs, whose positions
/// shift when entries are added and removed. The number of kept streams is limited. Synchronized.
class DirectoryStreams {
 public:
  using Clock = std::chrono::steady_clock;
  explicit DirectoryStreams(std::size_t capacity) : capacity_(capacity) {}

  /// Removes the streams of `directory` that are at `position`. Returns the one that was put last, or null if there is
  /// none. The older streams are closed: they belong to abandoned listings, and may hold outdated entries.
  std::unique_ptr<DirectoryStream> take(const NodeKey& directory, std::uint64_t position);
  void put(const NodeKey& directory, std::unique_ptr<DirectoryStream> stream);
  void drop_idle(Clock::time_point since);

 private:
  struct Kept {
    NodeKey directory;
    std::unique_ptr<DirectoryStream> stream;
    Clock::time_point used;
  };
  std::size_t capacity_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // oldest first
};

}  // namespace rpcrdma::nfsd
