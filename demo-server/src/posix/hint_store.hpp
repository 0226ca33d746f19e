// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "posix/fd.hpp"

namespace rpcrdma::nfsd {

/// Remembers where objects were last seen: inode number -> directory and name. Bounded; kept in an appended
/// file so that it survives a restart (a torn last record is ignored). Not synchronized.
class HintStore {
 public:
  struct Hint {
    std::uint64_t parent = 0;
    std::string name;
    bool directory = false;
  };

  /// An empty `file` keeps everything in memory.
  HintStore(std::filesystem::path file, std::size_t max_hints);

  const Hint* find(std::uint64_t number) const;
  /// Full: a hint of something that is not a directory goes, so that paths below stay known.
  void set(std::uint64_t number, std::uint64_t parent, std::string_view name, bool directory);
  void erase(std::uint64_t number);
  std::size_t size() const noexcept { return hints_.size(); }

 private:
  void load();
  void rewrite();
  void append(std::uint64_t number, const Hint* hint);
  void make_room();

  std::filesystem::path file_;
  std::size_t max_hints_;
  std::unordered_map<std::uint64_t, Hint> hints_;
  Fd log_;
  std::size_t records_ = 0;
};

}  // namespace rpcrdma::nfsd
