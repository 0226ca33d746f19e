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

/// Stores the addresses and sizes of `buffers` in `out`, except for the first `skip` bytes of `buffers`. Stops when
/// `out` is full. Returns the number of elements stored.
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

struct Transferred {
  Status status = Status::ok;
  std::size_t bytes = 0;  ///< bytes transferred, also if an error follows
};

/// Runs preadv or pwritev until all bytes are transferred, the file ends or an error occurs.
template <class Io>
Transferred transfer(std::span<const BufferRef> buffers, std::uint64_t offset, Io io) noexcept {
  const std::size_t wanted = total(buffers);
  std::array<iovec, kMaxVector> vector;
  std::size_t done = 0;
  while (done < wanted) {
    const int count = vector_of(buffers, done, vector);
    const ssize_t moved = io(vector.data(), count, static_cast<off_t>(offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return {status_of(errno), done};
    if (moved == 0) break;
    done += static_cast<std::size_t>(moved);
  }
  return {Status::ok, done};
}

}  // namespace

ReadResult PosixFileSystem::read(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                 std::span<const BufferRef> into) {
  act_as_server();
  auto file = open_data(caller, node, Use::read);
  if (!file) return {file.error(), attributes(node).attributes, 0, false};
  Transferred done;
  if (offset <= kLastOffset - total(into)) {
    done = transfer(into, offset, [&](const iovec* vector, int count, off_t at) {
      return ::preadv((*file)->fd.get(), vector, count, at);
    });
  }
  return read_result(caller, node, *file, done.status, offset, done.bytes);
}

ReadResult PosixFileSystem::read_result(const Caller& caller, const NodeKey& node, OpenFilePtr& file, Status status,
                                        std::uint64_t offset, std::size_t count) {
  // The reply needs the attributes after the read, and a caller that has lost the right to read must not get the data.
  const auto stat = check_open(caller, node, Use::read, file);
  if (!stat) return {stat.error(), attributes(node).attributes, 0, false};
  if (status != Status::ok) return {status, stat->attributes, 0, false};
  const std::uint64_t size = stat->attributes.size;
  const bool eof = offset >= size || offset + count >= size;
  return {Status::ok, stat->attributes, static_cast<std::uint32_t>(count), eof};
}

std::optional<ReadResult> PosixFileSystem::read_to_pipe(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                                        std::uint32_t count, int pipe) {
  act_as_server();
  auto file = open_data(caller, node, Use::read);
  if (!file) return ReadResult{file.error(), attributes(node).attributes, 0, false};
  std::uint32_t done = 0;
  off_t at = static_cast<off_t>(offset);
  while (offset <= kLastOffset - count && done < count) {
    const ssize_t moved = ::splice((*file)->fd.get(), &at, pipe, nullptr, count - done, 0);
    if (moved < 0 && errno == EINTR) continue;
    // EAGAIN: the pipe is full. EINVAL: the file cannot be read in this way. read() reports other errors.
    if (moved < 0) return std::nullopt;
    if (moved == 0) break;
    done += static_cast<std::uint32_t>(moved);
  }
  return read_result(caller, node, *file, Status::ok, offset, done);
}

std::optional<ReadResult> PosixFileSystem::read_at_once(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                                        std::span<const BufferRef> into) {
  if (!reads_at_once_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::size_t wanted = total(into);
  // Defers the close if this thread releases the last reference to the file: closing a removed file may block.
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
  const auto stat = stat_fd(file->fd.get());
  if (!stat || stat->attributes.links == 0) return std::nullopt;
  const Attributes& attributes = stat->attributes;
  const std::uint64_t end = offset + static_cast<std::uint64_t>(done);
  // A short read has reached either the end of the file, or the end of the data that is in the page cache. In the
  // second case this function returns nothing, and the caller reads on a thread that may block.
  if (!still_granted(caller, *file, attributes) || (static_cast<std::size_t>(done) < wanted && end < attributes.size))
    return std::nullopt;
  return ReadResult{Status::ok, attributes, static_cast<std::uint32_t>(done), end >= attributes.size};
}

WriteResult PosixFileSystem::write(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                   std::span<const BufferRef> from, Stable stable) {
  act_as_server();
  WriteResult result;
  auto opened = open_data(caller, node, Use::write);
  if (!opened || offset > kLastOffset - total(from)) {
    result.status = opened ? Status::fbig : opened.error();
    result.wcc.after = attributes(node).attributes;
    return result;
  }
  OpenFilePtr& file = *opened;
  Transferred done{Status::acces, 0};
  std::uint64_t failures = 0;
  {
    const std::lock_guard lock(lock_of(node));
    const auto before = check_open(caller, node, Use::write, file);
    if (!before) {
      result.status = before.error();
      return result;
    }
    failures = file->back->failures();
    // Writes as the caller: if root wrote, the kernel would keep the set-id bits and use the space reserved for root.
    if (const ActingAs acting(user(caller)); acting) {
      done = transfer(from, offset, [&](const iovec* vector, int count, off_t at) {
        return ::pwritev(file->fd.get(), vector, count, at);
      });
    }
    result.wcc.before = wcc_of(before->attributes);
    if (const auto after = stat_fd(file->fd.get())) result.wcc.after = after->attributes;
  }
  // Reports bytes written before an error; the client sends the rest again and gets the error then.
  result.status = done.bytes != 0 ? Status::ok : done.status;
  if (result.status == Status::ok && stable != Stable::unstable)
    result.status = file->back->sync(file->fd.get(), stable, failures);
  if (result.status != Status::ok) return result;
  if (stable == Stable::unstable && caller.sync) file->back->wrote(file);
  result.count = static_cast<std::uint32_t>(done.bytes);
  result.committed = stable;
  return result;
}

ChangeResult PosixFileSystem::commit(const Caller& caller, const NodeKey& node, std::uint64_t, std::uint32_t) {
  act_as_server();
  auto file = open_data(caller, node, Use::write);
  if (!file) return {file.error(), {{}, attributes(node).attributes}};
  const auto before = check_open(caller, node, Use::write, *file);
  if (!before) return {before.error(), {}};
  // Synchronizes the whole file, not only the requested range, because size and times must be stable as well.
  WriteBack& back = *(*file)->back;
  ChangeResult result{back.sync((*file)->fd.get(), Stable::file_sync, back.failures()), {}};
  if (const auto after = stat_fd((*file)->fd.get())) result.wcc = {wcc_of(before->attributes), after->attributes};
  return result;
}

Status PosixFileSystem::truncate(const Caller& caller, const NodeKey& key, std::uint64_t size) {
  if (size > kLastOffset) return Status::fbig;
  auto file = open_data(caller, key, Use::write);
  if (!file) return file.error();
  if (const auto stat = check_open(caller, key, Use::write, *file); !stat) return stat.error();
  return status_of(as_caller(caller, [&] { return ::ftruncate((*file)->fd.get(), static_cast<off_t>(size)); }));
}

}  // namespace rpcrdma::nfsd
