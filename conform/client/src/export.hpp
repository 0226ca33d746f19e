// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The files that the tester exports, in memory.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "rpcrdma/conform/codec/nfs.hpp"

namespace rpcrdma::conform::client {

struct Time {
  std::uint32_t seconds = 1700000000, nanoseconds = 0;
};

struct Node {
  std::uint64_t id = 0, parent = 0;
  std::uint32_t type = nfs::kRegular, mode = 0644;
  Time mtime{};
  Bytes data{};                                    ///< contents of a regular file
  std::string target{};                            ///< target of a symbolic link
  std::map<std::string, std::uint64_t> entries{};  ///< names in a directory, with their ids
  std::uint64_t size() const noexcept { return type == nfs::kRegular ? data.size() : 4096; }
};

class Export {
 public:
  static constexpr std::uint64_t kRoot = 1;
  static constexpr std::size_t kMostNodes = 10000, kLongestFile = 8u << 20, kMostBytes = 64u << 20;

  /// Makes the files that exist at the start of each run. Their names are `empty`, `short`, `odd` (10,003 bytes),
  /// `long` (100,000 bytes), `folder/nested` and `link`.
  Export();

  static nfs::Handle handle_of(std::uint64_t id);
  /// Null if no file has this handle.
  Node* find(View handle);
  Node* find(std::uint64_t id);
  Node* child(const Node& directory, const std::string& name);
  /// Null if there are too many files.
  Node* make(Node& directory, const std::string& name, std::uint32_t type);
  void remove(Node& directory, const std::string& name);
  /// False if the file, or all files together, would be too large.
  bool resize(Node& file, std::uint64_t size);

  /// All files by path, in the form of Tree (workplace.hpp).
  std::map<std::string, std::string> tree() const;

 private:
  void list(const Node& directory, const std::string& prefix, std::map<std::string, std::string>& out) const;
  Node& add(std::uint64_t parent, const std::string& name, std::uint32_t type);

  std::map<std::uint64_t, Node> nodes_;
  std::uint64_t next_ = kRoot;
  std::size_t bytes_ = 0;
};

}  // namespace rpcrdma::conform::client
