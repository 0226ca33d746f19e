// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

ReadResult MemoryFileSystem::read_pages(const Caller& caller, const NodeKey& key, std::uint64_t offset,
                                        std::uint32_t count, PageRun& out) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  ReadResult result;
  result.status = find_file(key, node);
  if (node != nullptr) result.attributes = node->attributes();
  if (result.status == Status::ok) result.status = check_data(caller, *node, access::kMayRead);
  if (result.status != Status::ok) return result;
  const std::uint64_t size = node->data.size();
  if (offset < size) result.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, size - offset));
  result.eof = offset >= size || offset + result.count == size;
  node->data.share(offset, result.count, out);
  return result;
}

Status MemoryFileSystem::prepare_write(const Caller& caller, const NodeKey& key, std::uint64_t offset,
                                       std::uint32_t count, PageRun& out) {
  {
    const std::lock_guard lock(mutex_);
    MemoryNode* node = nullptr;
    if (const Status s = find_file(key, node); s != Status::ok) return s;
    if (const Status s = check_data(caller, *node, access::kMayWrite); s != Status::ok) return s;
    if (offset > kMaxFileSize || count > kMaxFileSize - offset) return Status::fbig;
    if (!has_room(*node, offset, count)) return Status::nospc;
    if (count != 0) strip_after_write(caller, *node);
  }
  const std::uint64_t first = offset / kPageSize;
  const std::uint64_t last = count == 0 ? first : (offset + count + kPageSize - 1) / kPageSize;
  const std::size_t before = out.size();
  if (!pages_.allocate(static_cast<std::size_t>(last - first), out)) return Status::nospc;
  for (std::size_t i = before; i < out.size(); ++i) {
    out[i].offset = static_cast<std::uint32_t>(offset % kPageSize);
    out[i].length = std::min(count, kPageSize - out[i].offset);
    offset += out[i].length;
    count -= out[i].length;
  }
  return Status::ok;
}

WriteResult MemoryFileSystem::commit_write(const NodeKey& key, std::uint64_t offset, PageRun& run, Stable stable) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  WriteResult result;
  result.status = find_file(key, node);
  if (node != nullptr) result.wcc.before = wcc_of(node->attributes());
  if (result.status == Status::ok) {
    for (const PagePart& part : run) result.count += part.length;
    // Again: others may have written since the room was found.
    if (!has_room(*node, offset, result.count)) {
      result.status = Status::nospc;
      result.count = 0;
    }
    if (result.count != 0) {
      node->data.replace(offset, run);
      touch(*node);
    }
    result.committed = stable;
  }
  if (node != nullptr) result.wcc.after = node->attributes();
  return result;
}

ReadResult MemoryFileSystem::read(const Caller& caller, const NodeKey& key, std::uint64_t offset,
                                  std::span<const BufferRef> into) {
  ReadResult result;
  for (const BufferRef& buffer : into) {
    PageRun run;
    ReadResult part = read_pages(caller, key, offset, buffer.size, run);
    std::byte* to = buffer.data;
    for (const PagePart& from : run) {
      std::memcpy(to, from.octets().data(), from.length);
      to += from.length;
    }
    offset += part.count;
    part.count += result.count;
    result = part;
    if (result.status != Status::ok || result.eof) break;
  }
  return result;
}

WriteResult MemoryFileSystem::write(const Caller& caller, const NodeKey& key, std::uint64_t offset,
                                    std::span<const BufferRef> from, Stable stable) {
  WriteResult result;
  std::uint32_t count = 0;
  for (const BufferRef& buffer : from) count += buffer.size;
  PageRun run;
  result.status = prepare_write(caller, key, offset, count, run);
  if (result.status != Status::ok) {
    result.wcc.after = attributes(key).attributes;
    return result;
  }
  std::span<const std::byte> rest;
  for (const PagePart& part : run) {
    for (std::span<std::byte> to = part.octets(); !to.empty();) {
      while (rest.empty()) {
        rest = from.front().octets();
        from = from.subspan(1);
      }
      const std::size_t step = std::min(rest.size(), to.size());
      std::memcpy(to.data(), rest.data(), step);
      rest = rest.subspan(step);
      to = to.subspan(step);
    }
  }
  return commit_write(key, offset, run, stable);
}

ChangeResult MemoryFileSystem::commit(const Caller& caller, const NodeKey& key, std::uint64_t, std::uint32_t) {
  const std::lock_guard lock(mutex_);
  MemoryNode* node = nullptr;
  ChangeResult result;
  result.status = find_file(key, node);
  if (node == nullptr) return result;
  if (result.status == Status::ok) result.status = check_data(caller, *node, access::kMayWrite);
  result.wcc.before = wcc_of(node->attributes());
  result.wcc.after = node->attributes();
  return result;
}

}  // namespace rpcrdma::nfsd
