// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"
#include "rpcrdma/nfsd/fs/changes.hpp"

namespace rpcrdma::nfsd {

NodeResult MemoryFileSystem::make_entry(const Caller& caller, const NodeKey& key, std::string_view name, FileType type,
                                        std::string_view target, Device device, const SetAttributes& attributes) {
  MemoryNode* directory = nullptr;
  NodeResult result;
  result.status = find_directory(key, directory);
  if (result.status != Status::ok) return result;
  result.directory.before = wcc_of(directory->attributes());
  result.status = check_new_name(name);
  if (result.status == Status::ok) result.status = check(caller, *directory, access::kMayExecute);
  if (result.status == Status::ok && directory->directory.find(name)) result.status = Status::exist;
  if (result.status == Status::ok) result.status = check_times(attributes);
  const bool is_device = type == FileType::block || type == FileType::character;
  if (result.status == Status::ok && is_device && caller.uid != 0) result.status = Status::perm;
  if (result.status == Status::ok) result.status = check_names(caller, *directory);
  if (result.status == Status::ok && type == FileType::directory && directory->fixed.links >= kMaxLinks)
    result.status = Status::mlink;
  if (result.status == Status::ok) result.status = check_room(name.size() + target.size());
  if (result.status == Status::ok) {
    MemoryNode& node = add_node(type, caller, directory, attributes);
    SetAttributes times;
    times.atime = attributes.atime;
    times.mtime = attributes.mtime;
    node.fixed.device = device;
    node.target = target;
    node.directory.parent = directory->fixed.fileid;
    // A size that changes nothing is no writing, which would take the set-id bits.
    if (type == FileType::regular && attributes.size.value_or(0) != 0)
      result.status = resize(caller, node, *attributes.size);
    apply(caller, node, times);
    if (result.status != Status::ok) {
      nodes_.erase(node.fixed.fileid);
    } else {
      text_ += name.size() + target.size();
      directory->directory.add(name, node.fixed.fileid);
      if (type == FileType::directory) ++directory->fixed.links;
      touch(*directory);
      fill(result, node);
    }
  }
  result.directory.after = directory->attributes();
  return result;
}

/// As for files on a disk: UNCHECKED applies a size only, EXCLUSIVE compares the verifier kept in the times.
Status MemoryFileSystem::existing(const Caller& caller, MemoryNode& node, const CreateHow& how) {
  if (node.fixed.type != FileType::regular) return Status::exist;
  if (how.mode == CreateMode::exclusive) {
    const auto [atime, mtime] = std::bit_cast<std::array<std::uint32_t, 2>>(how.verifier);
    const bool same = node.data.size() == 0 && node.fixed.atime == Time{atime, 0} && node.fixed.mtime == Time{mtime, 0};
    return same ? Status::ok : Status::exist;
  }
  SetAttributes size;
  size.size = how.attributes.size;
  return change(caller, node, size);
}

NodeResult MemoryFileSystem::create(const Caller& caller, const NodeKey& key, std::string_view name,
                                    const CreateHow& how) {
  const std::lock_guard lock(mutex_);
  MemoryNode* directory = nullptr;
  if (how.mode != CreateMode::guarded && find_directory(key, directory) == Status::ok) {
    if (const auto number = directory->directory.find(name)) {
      NodeResult result;
      result.directory.before = wcc_of(directory->attributes());
      result.directory.after = directory->attributes();
      result.status = check(caller, *directory, access::kMayExecute);
      if (result.status == Status::ok) result.status = existing(caller, at(*number), how);
      if (result.status == Status::ok) fill(result, at(*number));
      return result;
    }
  }
  SetAttributes attributes = how.attributes;
  if (how.mode == CreateMode::exclusive) {
    const auto [atime, mtime] = std::bit_cast<std::array<std::uint32_t, 2>>(how.verifier);
    attributes = {};
    attributes.mode = 0600;  // until the client has said what it is to be
    attributes.atime = {SetTime::How::client, {atime, 0}};
    attributes.mtime = {SetTime::How::client, {mtime, 0}};
  }
  return make_entry(caller, key, name, FileType::regular, {}, {}, attributes);
}

NodeResult MemoryFileSystem::make_directory(const Caller& caller, const NodeKey& directory, std::string_view name,
                                            const SetAttributes& attributes) {
  const std::lock_guard lock(mutex_);
  return make_entry(caller, directory, name, FileType::directory, {}, {}, attributes);
}

NodeResult MemoryFileSystem::make_symlink(const Caller& caller, const NodeKey& directory, std::string_view name,
                                          std::string_view target, const SetAttributes& attributes) {
  const std::lock_guard lock(mutex_);
  if (const Status bad = check_target(target); bad != Status::ok) {
    NodeResult result;
    result.status = bad;
    return result;
  }
  return make_entry(caller, directory, name, FileType::symlink, target, {}, attributes);
}

NodeResult MemoryFileSystem::make_node(const Caller& caller, const NodeKey& directory, std::string_view name,
                                       FileType type, Device device, const SetAttributes& attributes) {
  const std::lock_guard lock(mutex_);
  const bool is_device = type == FileType::block || type == FileType::character;
  return make_entry(caller, directory, name, type, {}, is_device ? device : Device{}, attributes);
}

/// Takes one name away, and the object with its last one.
void MemoryFileSystem::unlink(MemoryNode& directory, std::string_view name, MemoryNode& node) {
  text_ -= name.size();
  directory.directory.erase(name);
  if (node.is_directory()) --directory.fixed.links;
  touch(directory);
  if (node.is_directory() || --node.fixed.links == 0) {
    text_ -= node.target.size();
    nodes_.erase(node.fixed.fileid);
  } else {
    touch_metadata(node);
  }
}

ChangeResult MemoryFileSystem::remove(const Caller& caller, const NodeKey& key, std::string_view name) {
  const std::lock_guard lock(mutex_);
  MemoryNode* directory = nullptr;
  ChangeResult result;
  result.status = find_directory(key, directory);
  if (result.status != Status::ok) return result;
  result.wcc.before = wcc_of(directory->attributes());
  result.status = check_old_name(name);
  const auto number = directory->directory.find(name);
  if (result.status == Status::ok) result.status = check(caller, *directory, access::kMayExecute);
  if (result.status == Status::ok && !number) result.status = Status::noent;
  if (result.status == Status::ok) result.status = check_removal(caller, *directory, at(*number));
  if (result.status == Status::ok && at(*number).is_directory()) result.status = Status::isdir;
  if (result.status == Status::ok) unlink(*directory, name, at(*number));
  result.wcc.after = directory->attributes();
  return result;
}

ChangeResult MemoryFileSystem::remove_directory(const Caller& caller, const NodeKey& key, std::string_view name) {
  const std::lock_guard lock(mutex_);
  MemoryNode* directory = nullptr;
  ChangeResult result;
  result.status = find_directory(key, directory);
  if (result.status != Status::ok) return result;
  result.wcc.before = wcc_of(directory->attributes());
  result.status = check_rmdir_name(name);
  const auto number = directory->directory.find(name);
  if (result.status == Status::ok) result.status = check(caller, *directory, access::kMayExecute);
  if (result.status == Status::ok && !number) result.status = Status::noent;
  if (result.status == Status::ok) result.status = check_removal(caller, *directory, at(*number));
  if (result.status == Status::ok && !at(*number).is_directory()) result.status = Status::notdir;
  if (result.status == Status::ok && !at(*number).directory.empty()) result.status = Status::notempty;
  if (result.status == Status::ok) unlink(*directory, name, at(*number));
  result.wcc.after = directory->attributes();
  return result;
}

LinkResult MemoryFileSystem::link(const Caller& caller, const NodeKey& key, const NodeKey& directory_key,
                                  std::string_view name) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  MemoryNode* directory = nullptr;
  LinkResult result;
  result.status = find(key, node);
  if (result.status == Status::ok) result.file = node->attributes();
  if (result.status == Status::ok) result.status = find_directory(directory_key, directory);
  if (result.status != Status::ok) return result;
  result.directory.before = wcc_of(directory->attributes());
  result.status = check_new_name(name);
  if (result.status == Status::ok && node->is_directory()) result.status = Status::isdir;
  if (result.status == Status::ok) result.status = check(caller, *directory, access::kMayExecute);
  if (result.status == Status::ok && directory->directory.find(name)) result.status = Status::exist;
  if (result.status == Status::ok) result.status = check_names(caller, *directory);
  if (result.status == Status::ok && node->fixed.links >= kMaxLinks) result.status = Status::mlink;
  if (result.status == Status::ok) result.status = check_room(name.size());
  if (result.status == Status::ok) {
    text_ += name.size();
    directory->directory.add(name, node->fixed.fileid);
    ++node->fixed.links;
    touch_metadata(*node);
    touch(*directory);
  }
  result.file = node->attributes();
  result.directory.after = directory->attributes();
  return result;
}

}  // namespace rpcrdma::nfsd
