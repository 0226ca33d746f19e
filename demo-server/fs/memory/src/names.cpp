// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint32_t kExclusiveMode = 0600;  // used until the client's SETATTR sets a mode

bool is_device(FileType type) noexcept { return type == FileType::block || type == FileType::character; }

/// Returns the atime and the mtime of a file that an EXCLUSIVE CREATE makes. They hold the two halves of the verifier
/// until a SETATTR of the client sets the times.
std::array<Time, 2> times_of(const Verifier& verifier) noexcept {
  const auto [atime, mtime] = std::bit_cast<std::array<std::uint32_t, 2>>(verifier);
  return {Time{atime, 0}, Time{mtime, 0}};
}

}  // namespace

Status MemoryFileSystem::check_new(const Caller& caller, const MemoryNode& directory, std::string_view name) noexcept {
  if (const Status s = check_new_name(name); s != Status::ok) return s;
  if (const Status s = check(caller, directory, access::kMayExecute); s != Status::ok) return s;
  return directory.directory.find(name) ? Status::exist : Status::ok;
}

Status MemoryFileSystem::check_make(const Caller& caller, const MemoryNode& directory, std::string_view name,
                                    const NewObject& object, const SetAttributes& attributes) const {
  if (const Status s = check_new(caller, directory, name); s != Status::ok) return s;
  if (const Status s = check_times(attributes); s != Status::ok) return s;
  if (is_device(object.type) && caller.uid != 0) return Status::perm;
  if (const Status s = check_names(caller, directory); s != Status::ok) return s;
  if (object.type == FileType::directory && directory.fixed.links >= kMaxLinks) return Status::mlink;
  if (nodes_.size() >= options_.max_nodes) return Status::nospc;
  return check_room(kObjectBytes + kNameBytes + name.size() + object.target.size());
}

StatusOr<MemoryNode*> MemoryFileSystem::make_in(const Caller& caller, MemoryNode& directory, std::string_view name,
                                                const NewObject& object, const SetAttributes& attributes) {
  if (const Status s = check_make(caller, directory, name, object, attributes); s != Status::ok) return s;
  MemoryNode& node = add_node(object.type, caller, &directory, attributes);
  node.fixed.device = object.device;
  node.target = object.target;
  node.directory.parent = directory.fixed.fileid;
  // resize() counts as a write to the file. It may therefore clear the set-user-ID and set-group-ID bits of the mode. A
  // new file is empty, so size 0 needs no resize(), and the file keeps these bits.
  if (object.type == FileType::regular && attributes.size.value_or(0) != 0) {
    if (const Status s = resize(caller, node, *attributes.size); s != Status::ok) {
      nodes_.erase(node.fixed.fileid);
      return s;
    }
  }
  SetAttributes times;
  times.atime = attributes.atime;
  times.mtime = attributes.mtime;
  apply(caller, node, times);
  metadata_ += kObjectBytes + kNameBytes + name.size() + object.target.size();
  directory.directory.add(name, node.fixed.fileid);
  if (object.type == FileType::directory) ++directory.fixed.links;
  touch(directory);
  return &node;
}

NodeResult MemoryFileSystem::make_entry(const Caller& caller, const NodeKey& key, std::string_view name,
                                        const NewObject& object, const SetAttributes& attributes) {
  const std::lock_guard lock(mutex_);
  NodeResult result;
  result.status = in_directory(key, result.directory, [&](MemoryNode& directory) {
    return fill(result, make_in(caller, directory, name, object, attributes));
  });
  return result;
}

/// Handles an UNCHECKED or EXCLUSIVE CREATE of a name that exists. UNCHECKED changes nothing but the size of the file,
/// and only if the request has a size. EXCLUSIVE succeeds only if the file is empty and its times hold the verifier of
/// the request, because an earlier transmission of the same request leaves such a file.
Status MemoryFileSystem::existing(const Caller& caller, MemoryNode& node, const CreateHow& how) {
  if (node.fixed.type != FileType::regular) return Status::exist;
  if (how.mode == CreateMode::exclusive) {
    const std::array<Time, 2> kept{node.fixed.atime, node.fixed.mtime};
    return node.data.size() == 0 && kept == times_of(how.verifier) ? Status::ok : Status::exist;
  }
  SetAttributes size;
  size.size = how.attributes.size;
  return change(caller, node, size);
}

StatusOr<MemoryNode*> MemoryFileSystem::create_in(const Caller& caller, MemoryNode& directory, std::string_view name,
                                                  const CreateHow& how) {
  if (const auto number = directory.directory.find(name); number && how.mode != CreateMode::guarded) {
    if (const Status s = check(caller, directory, access::kMayExecute); s != Status::ok) return s;
    if (const Status s = existing(caller, at(*number), how); s != Status::ok) return s;
    return &at(*number);
  }
  SetAttributes attributes = how.attributes;
  if (how.mode == CreateMode::exclusive) {
    const auto [atime, mtime] = times_of(how.verifier);
    attributes = {};
    attributes.mode = kExclusiveMode;
    attributes.atime = {SetTime::How::client, atime};
    attributes.mtime = {SetTime::How::client, mtime};
  }
  return make_in(caller, directory, name, {}, attributes);
}

NodeResult MemoryFileSystem::create(const Caller& caller, const NodeKey& key, std::string_view name,
                                    const CreateHow& how) {
  const std::lock_guard lock(mutex_);
  NodeResult result;
  result.status = in_directory(key, result.directory, [&](MemoryNode& directory) {
    return fill(result, create_in(caller, directory, name, how));
  });
  return result;
}

NodeResult MemoryFileSystem::make_directory(const Caller& caller, const NodeKey& directory, std::string_view name,
                                            const SetAttributes& attributes) {
  return make_entry(caller, directory, name, {FileType::directory, {}, {}}, attributes);
}

NodeResult MemoryFileSystem::make_symlink(const Caller& caller, const NodeKey& directory, std::string_view name,
                                          std::string_view target, const SetAttributes& attributes) {
  if (const Status bad = check_target(target); bad != Status::ok) {
    NodeResult result;
    result.status = bad;
    return result;
  }
  return make_entry(caller, directory, name, {FileType::symlink, target, {}}, attributes);
}

NodeResult MemoryFileSystem::make_node(const Caller& caller, const NodeKey& directory, std::string_view name,
                                       FileType type, Device device, const SetAttributes& attributes) {
  return make_entry(caller, directory, name, {type, {}, is_device(type) ? device : Device{}}, attributes);
}

/// Removes one name, and the object if that was its last name.
void MemoryFileSystem::unlink(MemoryNode& directory, std::string_view name, MemoryNode& node) {
  metadata_ -= kNameBytes + name.size();
  directory.directory.erase(name);
  if (node.is_directory()) --directory.fixed.links;
  touch(directory);
  if (node.is_directory() || --node.fixed.links == 0) {
    metadata_ -= kObjectBytes + node.target.size();
    nodes_.erase(node.fixed.fileid);
  } else {
    touch_metadata(node);
  }
}

ChangeResult MemoryFileSystem::remove(const Caller& caller, const NodeKey& key, std::string_view name) {
  const std::lock_guard lock(mutex_);
  ChangeResult result;
  result.status = in_directory(key, result.wcc, [&](MemoryNode& directory) {
    if (const Status s = check_old_name(name); s != Status::ok) return s;
    const auto node = named(caller, directory, name);
    if (!node) return node.error();
    if (const Status s = check_removal(caller, directory, **node); s != Status::ok) return s;
    if ((*node)->is_directory()) return Status::isdir;
    unlink(directory, name, **node);
    return Status::ok;
  });
  return result;
}

ChangeResult MemoryFileSystem::remove_directory(const Caller& caller, const NodeKey& key, std::string_view name) {
  const std::lock_guard lock(mutex_);
  ChangeResult result;
  result.status = in_directory(key, result.wcc, [&](MemoryNode& directory) {
    if (const Status s = check_rmdir_name(name); s != Status::ok) return s;
    const auto node = named(caller, directory, name);
    if (!node) return node.error();
    if (const Status s = check_removal(caller, directory, **node); s != Status::ok) return s;
    if (!(*node)->is_directory()) return Status::notdir;
    if (!(*node)->directory.empty()) return Status::notempty;
    unlink(directory, name, **node);
    return Status::ok;
  });
  return result;
}

Status MemoryFileSystem::add_link(const Caller& caller, MemoryNode& directory, std::string_view name,
                                  MemoryNode& node) {
  if (const Status s = check_new_name(name); s != Status::ok) return s;
  if (node.is_directory()) return Status::isdir;
  if (const Status s = check_new(caller, directory, name); s != Status::ok) return s;
  if (const Status s = check_names(caller, directory); s != Status::ok) return s;
  if (node.fixed.links >= kMaxLinks) return Status::mlink;
  if (const Status s = check_room(kNameBytes + name.size()); s != Status::ok) return s;
  metadata_ += kNameBytes + name.size();
  directory.directory.add(name, node.fixed.fileid);
  ++node.fixed.links;
  touch_metadata(node);
  touch(directory);
  return Status::ok;
}

LinkResult MemoryFileSystem::link(const Caller& caller, const NodeKey& key, const NodeKey& directory_key,
                                  std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto node = find(key);
  if (!node) return {node.error(), {}, {}};
  LinkResult result;
  result.status = in_directory(directory_key, result.directory,
                               [&](MemoryNode& directory) { return add_link(caller, directory, name, **node); });
  result.file = (*node)->attributes();
  return result;
}

}  // namespace rpcrdma::nfsd
