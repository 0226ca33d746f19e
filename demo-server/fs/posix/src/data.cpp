// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/uio.h>

#include <cerrno>
#include <limits>

#include "posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint64_t kLastOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
constexpr int kMaxVector = 128;

/// The buffers from `skip` octets on, as the kernel wants them.
int vector_of(std::span<const BufferRef> buffers, std::size_t skip, std::span<iovec, kMaxVector> out) noexcept {
  int count = 0;
  for (const BufferRef& buffer : buffers) {
    if (skip >= buffer.size) {
      skip -= buffer.size;
      continue;
    }
    if (count == kMaxVector) break;
    out[static_cast<std::size_t>(count++)] = {buffer.data + skip, buffer.size - skip};
    skip = 0;
  }
  return count;
}

std::size_t total(std::span<const BufferRef> buffers) noexcept {
  std::size_t sum = 0;
  for (const BufferRef& buffer : buffers) sum += buffer.size;
  return sum;
}

/// Runs preadv or pwritev until all is moved, the file ends or an error comes.
template <class Io>
Status transfer(std::span<const BufferRef> buffers, std::uint64_t offset, std::size_t& done, Io io) noexcept {
  const std::size_t wanted = total(buffers);
  std::array<iovec, kMaxVector> vector;
  for (done = 0; done < wanted;) {
    const int count = vector_of(buffers, done, vector);
    const ssize_t moved = io(vector.data(), count, static_cast<off_t>(offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return status_of(errno);
    if (moved == 0) break;
    done += static_cast<std::size_t>(moved);
  }
  return Status::ok;
}

}  // namespace

ReadResult PosixFileSystem::read(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                 std::span<const BufferRef> into) {
  ReadResult result;
  std::shared_ptr<const OpenFile> file;
  result.status = open_data(caller, node, Use::read, file);
  if (result.status != Status::ok) {
    result.attributes = attributes(node).attributes;
    return result;
  }
  std::size_t done = 0;
  if (offset <= kLastOffset - total(into)) {
    result.status = transfer(into, offset, done, [&](const iovec* vector, int count, off_t at) {
      return ::preadv(file->fd.get(), vector, count, at);
    });
  }
  // After the data, as the reply tells; and whoever has lost the right meanwhile gets nothing.
  NodeStat stat;
  if (const Status s = check_open(caller, node, Use::read, file, stat); s != Status::ok) result.status = s;
  if (result.status == Status::stale) return result;
  result.attributes = stat.attributes;
  if (result.status != Status::ok) return result;
  result.count = static_cast<std::uint32_t>(done);
  result.eof = offset >= stat.attributes.size || offset + done >= stat.attributes.size;
  return result;
}

std::optional<ReadResult> PosixFileSystem::read_at_once(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                                        std::span<const BufferRef> into) {
  if (!reads_at_once_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::size_t wanted = total(into);
  // The file may be removed meanwhile, and this thread be the last to let go of it.
  const LateClose::Hold hold;
  const auto file = descriptors_.find(node, owner_of_descriptors(caller), Use::read);
  if (file == nullptr || offset > kLastOffset - wanted) return std::nullopt;
  std::array<iovec, kMaxVector> vector;
  const int count = vector_of(into, 0, vector);
  const ssize_t done = ::preadv2(file->fd.get(), vector.data(), count, static_cast<off_t>(offset), RWF_NOWAIT);
  if (done < 0) {
    if (errno == EOPNOTSUPP) reads_at_once_.store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  NodeStat stat;
  if (stat_fd(file->fd.get(), stat) != Status::ok || stat.attributes.links == 0) return std::nullopt;
  const std::uint64_t end = offset + static_cast<std::uint64_t>(done);
  // Less than asked for is the end of the file, or of what is in memory.
  if (!still_granted(*file, stat.attributes) || (static_cast<std::size_t>(done) < wanted && end < stat.attributes.size))
    return std::nullopt;
  return ReadResult{Status::ok, stat.attributes, static_cast<std::uint32_t>(done), end >= stat.attributes.size};
}

WriteResult PosixFileSystem::write(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                   std::span<const BufferRef> from, Stable stable) {
  WriteResult result;
  std::shared_ptr<const OpenFile> file;
  result.status = open_data(caller, node, Use::write, file);
  if (result.status == Status::ok && offset > kLastOffset - total(from)) result.status = Status::fbig;
  if (result.status != Status::ok) {
    result.wcc.after = attributes(node).attributes;
    return result;
  }
  NodeStat before;
  NodeStat after;
  std::size_t done = 0;
  std::uint64_t failures = 0;
  {
    const std::lock_guard lock(lock_of(node));
    result.status = check_open(caller, node, Use::write, file, before);
    if (result.status != Status::ok) return result;
    failures = file->back->failures();
    // As the caller, or the set-id bits would stay and root's reserve be used up.
    if (const ActingAs acting(user(caller)); acting) {
      result.status = transfer(from, offset, done, [&](const iovec* vector, int count, off_t at) {
        return ::pwritev(file->fd.get(), vector, count, at);
      });
    } else {
      result.status = Status::acces;
    }
    result.wcc.before = wcc_of(before.attributes);
    if (stat_fd(file->fd.get(), after) == Status::ok) result.wcc.after = after.attributes;
  }
  // What was written before an error counts; the client sends the rest again and then meets the error.
  if (done != 0) result.status = Status::ok;
  if (result.status == Status::ok && stable != Stable::unstable)
    result.status = file->back->sync(file->fd.get(), stable, failures);
  if (result.status != Status::ok) return result;
  if (stable == Stable::unstable && caller.sync) file->back->wrote(file);
  result.count = static_cast<std::uint32_t>(done);
  result.committed = stable;
  return result;
}

ChangeResult PosixFileSystem::commit(const Caller& caller, const NodeKey& node, std::uint64_t, std::uint32_t) {
  ChangeResult result;
  std::shared_ptr<const OpenFile> file;
  result.status = open_data(caller, node, Use::write, file);
  if (result.status != Status::ok) {
    result.wcc.after = attributes(node).attributes;
    return result;
  }
  NodeStat before;
  NodeStat after;
  result.status = check_open(caller, node, Use::write, file, before);
  if (result.status != Status::ok) return result;
  // More than the range asked for, which is allowed; size and times must be stable as well.
  const std::uint64_t failures = file->back->failures();
  result.status = file->back->sync(file->fd.get(), Stable::file_sync, failures);
  if (stat_fd(file->fd.get(), after) == Status::ok) {
    result.wcc.before = wcc_of(before.attributes);
    result.wcc.after = after.attributes;
  }
  return result;
}

Status PosixFileSystem::truncate(const Caller& caller, const NodeKey& key, std::uint64_t size) {
  if (size > kLastOffset) return Status::fbig;
  std::shared_ptr<const OpenFile> file;
  NodeStat stat;
  if (const Status s = open_data(caller, key, Use::write, file); s != Status::ok) return s;
  if (const Status s = check_open(caller, key, Use::write, file, stat); s != Status::ok) return s;
  const ActingAs acting(user(caller));
  if (!acting) return Status::acces;
  return ::ftruncate(file->fd.get(), static_cast<off_t>(size)) == 0 ? Status::ok : status_of(errno);
}

}  // namespace rpcrdma::nfsd
