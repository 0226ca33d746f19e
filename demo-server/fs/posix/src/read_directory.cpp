// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>

#include "posix_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {
namespace {

/// Cookies are the file system's own positions and outlive this process, so the verifier is constant.
constexpr Verifier kCookieVerifier{std::byte{'r'}, std::byte{'d'}, std::byte{'1'}};

}  // namespace

/// Attributes and key of an entry as they are now; left out if the entry has gone or is a mount point.
void PosixFileSystem::fill_node(const Directory& directory, DirectoryEntry& entry) {
  Fd fd;
  NodeResult now;
  if (open_component(directory.fd.get(), entry.name, fd) != Status::ok) return;
  found(directory, entry.name, fd.get(), now);
  if (now.status != Status::ok) return;
  entry.attributes = now.attributes;
  entry.node = now.node;
  entry.fileid = now.attributes->fileid;
}

void PosixFileSystem::fill_dot_dot(const Caller& caller, const Directory& directory, DirectoryEntry& entry,
                                   bool want_node) {
  if (is_top(directory)) entry.fileid = directory.before.attributes.fileid;
  if (!want_node) return;
  NodeResult parent;
  Fd fd;
  if (open_parent(caller, directory, fd) != Status::ok) return;
  found(directory, {}, fd.get(), parent);
  if (parent.status != Status::ok) return;
  entry.attributes = parent.attributes;
  entry.node = parent.node;
  entry.fileid = parent.attributes->fileid;
}

DirectoryResult PosixFileSystem::read_directory(const Caller& caller, const NodeKey& key,
                                                const DirectoryRequest& request, EntrySink sink) {
  DirectoryResult result;
  Directory directory;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  result.attributes = directory.before.attributes;
  result.verifier = kCookieVerifier;
  if (request.cookie != 0 && request.verifier != kCookieVerifier) {
    result.status = Status::bad_cookie;
    return result;
  }
  // Asked each time: the stream may have been opened for somebody else, or before a change of the mode.
  std::uint32_t may = 0;
  result.status = rights(caller, directory.fd.get(), directory.before, may);
  if (result.status == Status::ok && (may & access::kMayRead) == 0) result.status = Status::acces;
  if (result.status != Status::ok) return result;
  // Without the right to search, a name is all that there is to learn of an entry.
  const bool want_nodes = request.want_nodes && (may & access::kMayExecute) != 0;
  std::unique_ptr<DirectoryStream> stream;
  if (request.cookie != 0) stream = streams_.take(key, request.cookie);
  if (stream == nullptr) result.status = DirectoryStream::open(directory.fd.get(), request.cookie, stream);
  while (result.status == Status::ok) {
    DirectoryStream::Entry found_entry;
    result.status = stream->peek(found_entry);
    if (result.status != Status::ok) break;
    if (found_entry.name.empty()) {
      result.eof = true;
      break;
    }
    DirectoryEntry entry;
    entry.fileid = found_entry.number;
    entry.name = found_entry.name;
    entry.cookie = found_entry.next;
    if (is_dot_dot(entry.name)) {
      fill_dot_dot(caller, directory, entry, want_nodes);
    } else if (is_dot(entry.name)) {
      entry.fileid = directory.before.attributes.fileid;  // which listings of an overlay do not tell
      if (request.want_nodes) entry.attributes = directory.before.attributes;
      if (request.want_nodes) entry.node = key;
    } else if (want_nodes) {
      fill_node(directory, entry);
    }
    if (!sink(entry)) break;
    stream->next();
  }
  if (result.status == Status::ok && !result.eof && stream->position() != 0) streams_.put(key, std::move(stream));
  return result;
}

}  // namespace rpcrdma::nfsd
