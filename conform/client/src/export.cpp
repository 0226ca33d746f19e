// SPDX-License-Identifier: BSD-3-Clause
#include "export.hpp"

#include <algorithm>

namespace rpcrdma::conform::client {
namespace {

constexpr std::string_view kHandlePrefix = "conform:";

std::string text_of(const Bytes& bytes) {
  std::string out(bytes.size(), '\0');
  std::ranges::transform(bytes, out.begin(), [](std::byte byte) { return static_cast<char>(byte); });
  return out;
}

}  // namespace

Export::Export() {
  Node& root = add(kRoot, "", nfs::kDirectory);
  const auto file = [&](Node& directory, const char* name, Bytes data) {
    bytes_ += data.size();
    make(directory, name, nfs::kRegular)->data = std::move(data);
  };
  file(root, "empty", {});
  file(root, "short", pattern(10, 1));
  file(root, "odd", pattern(10003, 2));
  file(root, "long", pattern(100000, 3));
  Node& folder = *make(root, "folder", nfs::kDirectory);
  file(folder, "nested", pattern(1000, 4));
  make(root, "link", nfs::kSymbolicLink)->target = "short";
}

nfs::Handle Export::handle_of(std::uint64_t id) { return Out().raw(view_of(kHandlePrefix)).u64(id).bytes(); }

Node* Export::find(std::uint64_t id) {
  const auto at = nodes_.find(id);
  return at == nodes_.end() ? nullptr : &at->second;
}

Node* Export::find(View handle) {
  const std::size_t prefix = kHandlePrefix.size();
  if (handle.size() != prefix + 8 || !std::ranges::equal(handle.first(prefix), view_of(kHandlePrefix))) return nullptr;
  return find(In(handle.subspan(prefix)).u64());
}

Node* Export::child(const Node& directory, const std::string& name) {
  if (name == ".") return find(directory.id);
  if (name == "..") return find(directory.parent);
  const auto at = directory.entries.find(name);
  return at == directory.entries.end() ? nullptr : find(at->second);
}

Node& Export::add(std::uint64_t parent, const std::string& name, std::uint32_t type) {
  Node node{.id = next_++, .parent = parent, .type = type};
  node.mode = type == nfs::kDirectory ? 0755 : type == nfs::kSymbolicLink ? 0777 : 0644;
  if (!name.empty()) nodes_.at(parent).entries[name] = node.id;
  return nodes_.emplace(node.id, std::move(node)).first->second;
}

Node* Export::make(Node& directory, const std::string& name, std::uint32_t type) {
  return nodes_.size() < kMostNodes ? &add(directory.id, name, type) : nullptr;
}

void Export::remove(Node& directory, const std::string& name) {
  const auto at = directory.entries.find(name);
  if (at == directory.entries.end()) return;
  const std::uint64_t id = at->second;
  directory.entries.erase(at);
  const bool linked = std::ranges::any_of(nodes_, [&](const auto& node) {
    return std::ranges::any_of(node.second.entries, [&](const auto& entry) { return entry.second == id; });
  });
  if (linked) return;
  bytes_ -= nodes_.at(id).data.size();
  nodes_.erase(id);
}

bool Export::resize(Node& file, std::uint64_t size) {
  const std::size_t others = bytes_ - file.data.size();
  if (size > kLongestFile || size > kMostBytes - others) return false;
  file.data.resize(size);
  bytes_ = others + size;
  return true;
}

void Export::list(const Node& directory, const std::string& prefix, std::map<std::string, std::string>& out) const {
  for (const auto& [name, id] : directory.entries) {
    const Node& node = nodes_.at(id);
    if (node.type == nfs::kDirectory) {
      out[prefix + name] = "directory";
      list(node, prefix + name + '/', out);
    } else {
      out[prefix + name] = node.type == nfs::kSymbolicLink ? "link " + node.target : "file " + text_of(node.data);
    }
  }
}

std::map<std::string, std::string> Export::tree() const {
  std::map<std::string, std::string> out;
  list(nodes_.at(kRoot), "", out);
  return out;
}

}  // namespace rpcrdma::conform::client
