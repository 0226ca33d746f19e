// SPDX-License-Identifier: BSD-3-Clause
#include "memory_file_system.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::size_t kKeySize = 16;  // number, instance
constexpr std::uint32_t kRootMode = 01777;

Verifier fresh_instance() {
  Verifier instance;
  if (::getrandom(instance.data(), instance.size(), 0) != static_cast<ssize_t>(instance.size())) {
    const auto value = std::chrono::system_clock::now().time_since_epoch().count();
    std::memcpy(instance.data(), &value, instance.size());
  }
  return instance;
}

}  // namespace

std::unique_ptr<FileSystem> make_memory_file_system(PageStore& pages, const MemoryOptions& options) {
  return std::make_unique<MemoryFileSystem>(pages, options);
}

MemoryFileSystem::MemoryFileSystem(PageStore& pages, const MemoryOptions& options)
    : pages_(pages), options_(options), instance_(fresh_instance()) {
  Caller server;
  server.uid = ::geteuid();
  server.gid = ::getegid();
  SetAttributes attributes;
  attributes.mode = kRootMode;
  add_node(FileType::directory, server, nullptr, attributes).directory.parent = kRoot;
}

Limits MemoryFileSystem::limits() const noexcept { return {kMaxFileSize, kMaxLinks, kMaxName, {0, 1}}; }

NodeKey MemoryFileSystem::key_of(std::uint64_t number) const {
  std::array<std::byte, kKeySize> octets{};
  Writer writer(octets);
  writer.u64(number);
  writer.octets(instance_);
  return NodeKey(octets);
}

Status MemoryFileSystem::find(const NodeKey& key, MemoryNode*& out) {
  if (key.octets().size() != kKeySize) return Status::badhandle;
  Reader reader(key.octets());
  const std::uint64_t number = reader.u64();
  // A handle from before a restart names something that is gone for good.
  if (std::memcmp(reader.rest().data(), instance_.data(), instance_.size()) != 0) return Status::stale;
  const auto at = nodes_.find(number);
  if (at == nodes_.end()) return Status::stale;
  out = at->second.get();
  return Status::ok;
}

Status MemoryFileSystem::find_directory(const NodeKey& key, MemoryNode*& out) {
  const Status s = find(key, out);
  return s != Status::ok || out->is_directory() ? s : Status::notdir;
}

Status MemoryFileSystem::find_file(const NodeKey& key, MemoryNode*& out) {
  const Status s = find(key, out);
  if (s != Status::ok || out->fixed.type == FileType::regular) return s;
  return out->is_directory() ? Status::isdir : Status::inval;
}

Time MemoryFileSystem::now() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  Time time{static_cast<std::uint32_t>(t.tv_sec), static_cast<std::uint32_t>(t.tv_nsec)};
  if (time <= last_) {
    time = last_;
    if (++time.nanoseconds == 1'000'000'000u) time = {time.seconds + 1, 0};
  }
  last_ = time;
  return time;
}

void MemoryFileSystem::touch(MemoryNode& node) { node.fixed.mtime = node.fixed.ctime = now(); }
void MemoryFileSystem::touch_metadata(MemoryNode& node) { node.fixed.ctime = now(); }

bool MemoryFileSystem::has_room(const MemoryNode& node, std::uint64_t offset, std::uint32_t count) const {
  return (used_pages_ + node.data.missing(offset, count)) * kPageSize <= options_.max_octets;
}

Status MemoryFileSystem::check_room(std::size_t text) const {
  return nodes_.size() < options_.max_nodes && text <= options_.max_text - text_ ? Status::ok : Status::nospc;
}

MemoryNode& MemoryFileSystem::add_node(FileType type, const Caller& caller, const MemoryNode* parent,
                                       const SetAttributes& attributes) {
  const std::uint64_t number = next_number_++;
  MemoryNode& node = *nodes_.emplace(number, std::make_unique<MemoryNode>(pages_, used_pages_)).first->second;
  Attributes& a = node.fixed;
  a.type = type;
  a.fileid = number;
  a.links = type == FileType::directory ? 2 : 1;
  // As mkdir(2) does: the set-id bits of a directory are not asked for, but inherited.
  a.mode = attributes.mode.value_or(type == FileType::directory ? 0755 : 0644) &
           (type == FileType::directory ? 01777u : 07777u);
  if (type == FileType::symlink) a.mode = 0777;
  const bool inherits = parent != nullptr && (parent->fixed.mode & 02000u) != 0;
  a.uid = caller.uid;
  a.gid = inherits ? parent->fixed.gid : caller.gid;
  // As open(2) does: a program gets its directory's group from members only.
  if (inherits && type != FileType::directory && (a.mode & mode::kGroupExecute) != 0) strip_group(caller, a);
  // Only root gives files away; others ask for what they get anyway.
  if (caller.uid == 0 && (attributes.uid || attributes.gid)) {
    if (type != FileType::directory) strip_set_ids(caller, a);
    a.uid = attributes.uid.value_or(a.uid);
    a.gid = attributes.gid.value_or(a.gid);
  }
  if (inherits && type == FileType::directory) a.mode |= 02000u;
  a.atime = a.mtime = a.ctime = now();
  return node;
}

Status MemoryFileSystem::resize(const Caller& caller, MemoryNode& node, std::uint64_t size) {
  if (size > kMaxFileSize) return Status::fbig;
  if (!node.data.resize(size)) return Status::nospc;
  strip_after_write(caller, node);
  touch(node);
  return Status::ok;
}

/// All but the size.
void MemoryFileSystem::apply(const Caller& caller, MemoryNode& node, const SetAttributes& changes) {
  Attributes& a = node.fixed;
  if (changes.uid || changes.gid) {
    // As chown(2) does: a new owner did not ask for the set-id bits.
    if (a.type != FileType::directory) strip_set_ids(caller, a);
    a.uid = changes.uid.value_or(a.uid);
    a.gid = changes.gid.value_or(a.gid);
  }
  if (changes.mode) {
    a.mode = mode_beside_owner(*changes.mode, changes, a.type);
    strip_group(caller, a);
  }
  touch_metadata(node);
  if (changes.atime.how == SetTime::How::server) a.atime = a.ctime;
  if (changes.atime.how == SetTime::How::client) a.atime = changes.atime.value;
  if (changes.mtime.how == SetTime::How::server) a.mtime = a.ctime;
  if (changes.mtime.how == SetTime::How::client) a.mtime = changes.mtime.value;
}

/// The size first, and for itself, as on a disk: it stays changed if the rest is not the caller's to change.
Status MemoryFileSystem::change(const Caller& caller, MemoryNode& node, const SetAttributes& changes) {
  if (const Status s = check_changes(changes, node.fixed.type); s != Status::ok) return s;
  if (changes.size) {
    Status s = check_data(caller, node, access::kMayWrite);
    if (s == Status::ok) s = resize(caller, node, *changes.size);
    if (s != Status::ok) return s;
  }
  SetAttributes rest = without_moot(changes, node.fixed.type);
  rest.size.reset();
  if (!changes_anything(rest)) return Status::ok;
  const Status s = check_rights(caller, node, rest);
  if (s == Status::ok) apply(caller, node, rest);
  return s;
}

AttributesResult MemoryFileSystem::attributes(const NodeKey& key) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  AttributesResult result;
  result.status = find(key, node);
  if (result.status == Status::ok) result.attributes = node->attributes();
  return result;
}

AccessResult MemoryFileSystem::access(const Caller& caller, const NodeKey& key, std::uint32_t wanted) {
  const AttributesResult found = attributes(key);
  AccessResult result{found.status, found.attributes, 0};
  if (found.attributes) result.granted = granted_access(*found.attributes, caller, wanted);
  return result;
}

ChangeResult MemoryFileSystem::set_attributes(const Caller& caller, const NodeKey& key, const SetAttributes& changes,
                                              const std::optional<Time>& guard) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  ChangeResult result;
  result.status = find(key, node);
  if (result.status != Status::ok) return result;
  result.wcc.before = wcc_of(node->attributes());
  result.status = guard && *guard != node->fixed.ctime ? Status::not_sync : change(caller, *node, changes);
  result.wcc.after = node->attributes();
  return result;
}

NodeResult MemoryFileSystem::lookup(const Caller& caller, const NodeKey& key, std::string_view name) {
  const std::lock_guard lock(mutex_);
  MemoryNode* directory = nullptr;
  NodeResult result;
  result.status = find_directory(key, directory);
  if (result.status != Status::ok) return result;
  result.directory.after = directory->attributes();
  result.status = check_component(name);
  if (result.status == Status::ok) result.status = check(caller, *directory, access::kMayExecute);
  if (result.status != Status::ok) return result;
  std::optional<std::uint64_t> number = directory->directory.find(name);
  if (is_dot(name)) number = directory->fixed.fileid;
  if (is_dot_dot(name)) number = directory->directory.parent;
  if (number)
    fill(result, at(*number));
  else
    result.status = Status::noent;
  return result;
}

void MemoryFileSystem::fill(NodeResult& out, const MemoryNode& node) {
  out.node = key_of(node.fixed.fileid);
  out.attributes = node.attributes();
}

ReadlinkResult MemoryFileSystem::read_link(const NodeKey& key) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  ReadlinkResult result;
  result.status = find(key, node);
  if (result.status != Status::ok) return result;
  result.attributes = node->attributes();
  if (node->fixed.type != FileType::symlink)
    result.status = Status::inval;
  else
    result.target = node->target;
  return result;
}

StatisticsResult MemoryFileSystem::statistics(const NodeKey& key) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  StatisticsResult result;
  result.status = find(key, node);
  if (result.status != Status::ok) return result;
  result.attributes = node->attributes();
  const std::uint64_t held = used_pages_ * kPageSize;
  const std::uint64_t total_octets = std::min<std::uint64_t>(options_.max_octets, pages_.capacity());
  const std::uint64_t free_octets =
      std::min<std::uint64_t>(total_octets - std::min(total_octets, held), pages_.capacity() - pages_.in_use());
  const std::size_t free_nodes = options_.max_nodes - nodes_.size();
  result.statistics = {total_octets, free_octets, free_octets, options_.max_nodes, free_nodes, free_nodes};
  return result;
}

}  // namespace rpcrdma::nfsd
