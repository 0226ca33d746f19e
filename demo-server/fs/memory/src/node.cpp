// SPDX-License-Identifier: BSD-3-Clause
#include "node.hpp"

namespace rpcrdma::nfsd {

std::optional<std::uint64_t> MemoryDirectory::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return std::nullopt;
  return by_cookie_.at(at->second).number;
}

void MemoryDirectory::add(std::string_view name, std::uint64_t number) {
  const std::uint64_t cookie = next_cookie_++;
  const Entry& entry = by_cookie_.emplace(cookie, Entry{std::string(name), number}).first->second;
  by_name_.emplace(entry.name, cookie);
}

void MemoryDirectory::erase(std::string_view name) {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return;
  const std::uint64_t cookie = at->second;
  by_name_.erase(at);
  by_cookie_.erase(cookie);
}

void MemoryDirectory::replace(std::string_view name, std::uint64_t number) {
  const auto at = by_name_.find(name);
  if (at != by_name_.end()) by_cookie_.at(at->second).number = number;
}

Attributes MemoryNode::attributes() const noexcept {
  Attributes a = fixed;
  switch (a.type) {
    case FileType::regular:
      a.size = data.size();
      a.used = data.used();
      break;
    case FileType::directory:
      a.size = 4096 + 32 * directory.size();
      a.used = a.size;
      break;
    case FileType::symlink: a.size = target.size(); break;
    default: break;
  }
  return a;
}

}  // namespace rpcrdma::nfsd
