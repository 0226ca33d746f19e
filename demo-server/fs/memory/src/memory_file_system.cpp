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

constexpr std::size_t kKeySize = 16;  // bytes of a NodeKey: object number 8, instance_ of the file system 8
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
  add_node(FileType::directory, server, nullptr, attributes).directory.parent = kRoot;  // not counted in metadata_
}

Limits MemoryFileSystem::limits() const noexcept { return {kMaxFileSize, kMaxLinks, kMaxName, {0, 1}}; }

NodeKey MemoryFileSystem::key_of(std::uint64_t number) const {
  std::array<std::byte, kKeySize> octets{};
  Writer writer(octets);
  writer.u64(number);
  writer.octets(instance_);
  return NodeKey(octets);
}

StatusOr<MemoryNode*> MemoryFileSystem::find(const NodeKey& key) {
  if (key.octets().size() != kKeySize) return Status::badhandle;
  Reader reader(key.octets());
  const std::uint64_t number = reader.u64();
  // A handle from before a restart names an object that no longer exists.
  if (std::memcmp(reader.rest().data(), instance_.data(), instance_.size()) != 0) return Status::stale;
  const auto at = nodes_.find(number);
  if (at == nodes_.end()) return Status::stale;
  return at->second.get();
}

StatusOr<MemoryNode*> MemoryFileSystem::find_directory(const NodeKey& key) {
  const auto node = find(key);
  if (node && !(*node)->is_directory()) return Status::notdir;
  return node;
}

StatusOr<MemoryNode*> MemoryFileSystem::find_file(const NodeKey& key) {
  const auto node = find(key);
  if (!node || (*node)->fixed.type == FileType::regular) return node;
  return (*node)->is_directory() ? Status::isdir : Status::inval;
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
  return used() + node.data.missing(offset, count) * kPageSize <= options_.max_octets;
}

Status MemoryFileSystem::check_room(std::uint64_t metadata) const {
  const bool fits = metadata_ + metadata <= options_.max_metadata && used() + metadata <= options_.max_octets;
  return fits ? Status::ok : Status::nospc;
}

MemoryNode& MemoryFileSystem::add_node(FileType type, const Caller& caller, const MemoryNode* parent,
                                       const SetAttributes& attributes) {
  const std::uint64_t number = next_number_++;
  MemoryNode& node = *nodes_.emplace(number, std::make_unique<MemoryNode>(pages_, used_pages_)).first->second;
  Attributes& a = node.fixed;
  a.type = type;
  a.fileid = number;
  a.links = type == FileType::directory ? 2 : 1;
  // As in mkdir(2): a request cannot set the set-id bits of a directory, which inherits its parent's set-group-id bit.
  a.mode = attributes.mode.value_or(type == FileType::directory ? 0755 : 0644) &
           (type == FileType::directory ? 01777u : 07777u);
  if (type == FileType::symlink) a.mode = 0777;
  const bool inherits = parent != nullptr && (parent->fixed.mode & 02000u) != 0;
  a.uid = caller.uid;
  a.gid = inherits ? parent->fixed.gid : caller.gid;
  // As in open(2): a new program with an inherited group keeps the set-group-id bit only if the caller is root or a
  // member of that group.
  if (inherits && type != FileType::directory && (a.mode & mode::kGroupExecute) != 0) strip_group(caller, a);
  // Only root may choose owner and group; they are ignored in requests of other callers.
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

/// Applies `changes`, except that of the size.
void MemoryFileSystem::apply(const Caller& caller, MemoryNode& node, const SetAttributes& changes) {
  Attributes& a = node.fixed;
  if (changes.uid || changes.gid) {
    // As in chown(2), a change of owner or group clears the set-id bits, which the old owner set.
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

/// Makes the changes of a SETATTR. Changes the size first, as disk file systems do. If the caller has no right to make
/// the other changes, the function fails, but the new size remains.
Status MemoryFileSystem::change(const Caller& caller, MemoryNode& node, const SetAttributes& changes) {
  if (const Status s = check_changes(changes, node.fixed.type); s != Status::ok) return s;
  if (changes.size) {
    if (const Status s = check_data(caller, node, access::kMayWrite); s != Status::ok) return s;
    if (const Status s = resize(caller, node, *changes.size); s != Status::ok) return s;
  }
  SetAttributes rest = without_moot(changes, node.fixed.type);
  rest.size.reset();
  if (!changes_anything(rest)) return Status::ok;
  if (const Status s = check_rights(caller, node, rest); s != Status::ok) return s;
  apply(caller, node, rest);
  return Status::ok;
}

std::optional<Attributes> MemoryFileSystem::attributes_of(const NodeKey& key) {
  const auto node = find(key);
  return node ? std::optional((*node)->attributes()) : std::nullopt;
}

AttributesResult MemoryFileSystem::attributes(const NodeKey& key) {
  const std::lock_guard lock(mutex_);
  const auto node = find(key);
  if (!node) return {node.error(), {}};
  return {Status::ok, (*node)->attributes()};
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
  const auto found = find(key);
  if (!found) return {found.error(), {}};
  MemoryNode& node = **found;
  ChangeResult result;
  result.wcc.before = wcc_of(node.attributes());
  result.status = guard && *guard != node.fixed.ctime ? Status::not_sync : change(caller, node, changes);
  result.wcc.after = node.attributes();
  return result;
}

StatusOr<MemoryNode*> MemoryFileSystem::named(const Caller& caller, const MemoryNode& directory,
                                              std::string_view name) {
  if (const Status s = check(caller, directory, access::kMayExecute); s != Status::ok) return s;
  std::optional<std::uint64_t> number = directory.directory.find(name);
  if (is_dot(name)) number = directory.fixed.fileid;
  if (is_dot_dot(name)) number = directory.directory.parent;
  if (!number) return Status::noent;
  return &at(*number);
}

NodeResult MemoryFileSystem::lookup(const Caller& caller, const NodeKey& key, std::string_view name) {
  const std::lock_guard lock(mutex_);
  NodeResult result;
  const auto directory = find_directory(key);
  if (!directory) {
    result.status = directory.error();
    return result;
  }
  result.directory.after = (*directory)->attributes();
  result.status = check_component(name);
  if (result.status == Status::ok) result.status = fill(result, named(caller, **directory, name));
  return result;
}

void MemoryFileSystem::fill(NodeResult& out, const MemoryNode& node) {
  out.node = key_of(node.fixed.fileid);
  out.attributes = node.attributes();
}

Status MemoryFileSystem::fill(NodeResult& out, const StatusOr<MemoryNode*>& node) {
  if (!node) return node.error();
  fill(out, **node);
  return Status::ok;
}

ReadlinkResult MemoryFileSystem::read_link(const NodeKey& key) {
  const std::lock_guard lock(mutex_);
  const auto node = find(key);
  if (!node) return {node.error(), {}, {}};
  if ((*node)->fixed.type != FileType::symlink) return {Status::inval, (*node)->attributes(), {}};
  return {Status::ok, (*node)->attributes(), (*node)->target};
}

StatisticsResult MemoryFileSystem::statistics(const NodeKey& key) {
  const std::lock_guard lock(mutex_);
  const auto node = find(key);
  if (!node) return {node.error(), {}, {}};
  const std::uint64_t held = used();
  const std::uint64_t total_octets = std::min<std::uint64_t>(options_.max_octets, pages_.capacity());
  const std::uint64_t free_octets =
      std::min<std::uint64_t>(total_octets - std::min(total_octets, held), pages_.capacity() - pages_.in_use());
  const std::size_t free_nodes = options_.max_nodes - nodes_.size();
  return {Status::ok,
          (*node)->attributes(),
          {total_octets, free_octets, free_octets, options_.max_nodes, free_nodes, free_nodes}};
}

}  // namespace rpcrdma::nfsd
