// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "file_data.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// The names in one directory of the memory file system. A name keeps its cookie while it exists, and cookies are never
/// reused, so that a listing neither omits nor repeats a name that exists all the time.
class MemoryDirectory {
 public:
  struct Entry {
    std::string name;
    std::uint64_t number = 0;
  };

  std::optional<std::uint64_t> find(std::string_view name) const;
  void add(std::string_view name, std::uint64_t number);
  void erase(std::string_view name);
  /// Makes an existing name refer to another object.
  void replace(std::string_view name, std::uint64_t number);
  bool empty() const noexcept { return by_cookie_.empty(); }
  std::size_t size() const noexcept { return by_cookie_.size(); }
  const std::map<std::uint64_t, Entry>& by_cookie() const noexcept { return by_cookie_; }

  static constexpr std::uint64_t kDot = 1;  ///< cookies of "." and ".."
  static constexpr std::uint64_t kDotDot = 2;
  std::uint64_t parent = 0;

 private:
  std::map<std::uint64_t, Entry> by_cookie_;
  std::unordered_map<std::string_view, std::uint64_t> by_name_;  // views of the names in by_cookie_
  std::uint64_t next_cookie_ = kDotDot + 1;
};

/// One object of the memory file system.
struct MemoryNode {
  MemoryNode(PageStore& store, std::uint64_t& total) noexcept : data(store, total) {}

  Attributes fixed;  ///< all attributes except size and used
  FileData data;
  MemoryDirectory directory;
  std::string target;

  bool is_directory() const noexcept { return fixed.type == FileType::directory; }
  Attributes attributes() const noexcept;
};

}  // namespace rpcrdma::nfsd
