// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

ReadResult MemoryFileSystem::read_pages(const Caller& caller, const NodeKey& key, std::uint64_t offset,
                                        std::uint32_t count, PageRun& out) {
  const std::lock_guard lock(mutex_);
  const auto found = find_file(key);
  if (!found) return {found.error(), attributes_of(key), 0, false};
  const MemoryNode& node = **found;
  ReadResult result;
  result.attributes = node.attributes();
  result.status = check_data(caller, node, access::kMayRead);
  if (result.status != Status::ok) return result;
  const std::uint64_t size = node.data.size();
  if (offset < size) result.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, size - offset));
  result.eof = offset >= size || offset + result.count == size;
  node.data.share(offset, result.count, out);
  return result;
}

Status MemoryFileSystem::prepare_write(const Caller& caller, const NodeKey& key, std::uint64_t offset,
                                       std::uint32_t count, PageRun& out) {
  {
    const std::lock_guard lock(mutex_);
    const auto node = find_file(key);
    if (!node) return node.error();
    if (const Status s = check_data(caller, **node, access::kMayWrite); s != Status::ok) return s;
    if (offset > kMaxFileSize || count > kMaxFileSize - offset) return Status::fbig;
    if (!has_room(**node, offset, count)) return Status::nospc;
    if (count != 0) strip_after_write(caller, **node);
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
  WriteResult result;
  const auto found = find_file(key);
  if (!found) {
    result.status = found.error();
    result.wcc.after = attributes_of(key);
    return result;
  }
  MemoryNode& node = **found;
  result.wcc.before = wcc_of(node.attributes());
  std::uint32_t count = 0;
  for (const PagePart& part : run) count += part.length;
  // Checked again, because other writes may have used the space since prepare_write().
  if (!has_room(node, offset, count)) {
    result.status = Status::nospc;
  } else if (count != 0) {
    node.data.replace(offset, run);
    touch(node);
    result.count = count;
  }
  result.committed = stable;
  result.wcc.after = node.attributes();
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
  const auto node = find_file(key);
  if (!node) return {node.error(), {{}, attributes_of(key)}};
  const Attributes now = (*node)->attributes();
  return {check_data(caller, **node, access::kMayWrite), {wcc_of(now), now}};
}

}  // namespace rpcrdma::nfsd
