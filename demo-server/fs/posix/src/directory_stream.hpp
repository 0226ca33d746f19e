// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// An open directory, read from one position onwards.
class DirectoryStream {
 public:
  struct Entry {
    std::uint64_t number = 0;
    std::string_view name;   ///< valid until the next peek() after next()
    std::uint64_t next = 0;  ///< position behind it
  };

  /// `directory`: an O_PATH descriptor. Position 0 is the start; one that the file system does not know gives
  /// Status::bad_cookie.
  static Status open(int directory, std::uint64_t position, std::unique_ptr<DirectoryStream>& out);

  /// The entry at the position. Status::ok with an empty name at the end.
  Status peek(Entry& out);
  /// Moves behind the entry that peek() showed.
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

/// Keeps streams between the calls of one listing. A listing that goes on with the stream it began with sees
/// every entry once, even where positions shift as entries come and go (tmpfs). Bounded; synchronized.
class DirectoryStreams {
 public:
  using Clock = std::chrono::steady_clock;
  explicit DirectoryStreams(std::size_t capacity) : capacity_(capacity) {}

  /// The stream of `directory` that stands at `position`, out of the cache; null if there is none. Of several the last
  /// one put there: the others belong to listings that were given up, and know the directory as it was then.
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
