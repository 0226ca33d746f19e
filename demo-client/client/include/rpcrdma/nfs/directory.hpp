// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Reads a directory to its end, with bounds against a hostile or broken server.
#include <optional>

#include "rpcrdma/nfs/client.hpp"

namespace rpcrdma::nfs {

/// Detects a cycle in a sequence in constant memory (Brent's algorithm): compares each value with a saved value, which
/// is replaced by the current one after 1, 2, 4, ... values.
template <class T>
class CycleDetector {
 public:
  /// Takes the next value; true if it equals the saved value. Eventually true for a sequence that cycles.
  bool repeats(const T& value) {
    const bool seen = kept_ == value;
    if (++age_ >= lifetime_) {
      kept_ = value;
      lifetime_ *= 2;
      age_ = 0;
    }
    return seen;
  }

 private:
  std::optional<T> kept_;
  std::uint64_t age_ = 0;
  std::uint64_t lifetime_ = 1;
};

/// Reads the pages of one directory in order. The client must outlive it.
class DirectoryReader {
 public:
  /// A listing with more entries counts as endless; no RFC sets this limit.
  static constexpr std::uint64_t kMaxEntries = std::uint64_t{4} << 20;

  DirectoryReader(Client& client, FileHandle directory, bool attributes, std::uint64_t max_entries = kMaxEntries)
      : client_(client), directory_(directory), attributes_(attributes), max_entries_(max_entries) {}

  /// Returns the next page. Do not call next() after a page whose `end` is set. Fails with ClientError::endless_listing
  /// if the cookies repeat, if more than two pages in a row are empty, or if this object has read more than
  /// `max_entries` entries.
  Task<Client::Page> next();
  /// Makes next() start again with the first page. The limit `max_entries` applies to all entries that this object has
  /// read, including those before rewind().
  void rewind() noexcept;

 private:
  Client& client_;
  FileHandle directory_;
  bool attributes_;
  std::uint64_t max_entries_;
  std::uint64_t entries_ = 0;
  unsigned empty_pages_ = 0;  // number of consecutive empty pages
  Client::Position position_;
  CycleDetector<std::uint64_t> cookies_;
};

}  // namespace rpcrdma::nfs
