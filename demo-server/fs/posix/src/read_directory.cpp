// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>

#include "posix_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {
namespace {

/// The cookie verifier of READDIR and READDIRPLUS. It is constant, because cookies stay valid when the server restarts:
/// they are the directory positions of the underlying file system.
constexpr Verifier kCookieVerifier{std::byte{'r'}, std::byte{'d'}, std::byte{'1'}};

}  // namespace

void PosixFileSystem::fill(DirectoryEntry& entry, const StatusOr<Found>& found) {
  if (!found) return;
  entry.attributes = found->stat.attributes;
  entry.node = found->node;
  entry.fileid = found->stat.attributes.fileid;
}

/// Looks up the object that `entry` names, and adds its attributes and its key to `entry`. Adds nothing if the object
/// cannot be opened, for example because it no longer exists or is a mount point.
void PosixFileSystem::fill_node(const Caller& caller, const NodeKey& key, const Node& directory,
                                DirectoryEntry& entry) {
  if (is_dot(entry.name)) return fill(entry, Found{key, directory.stat});
  if (is_dot_dot(entry.name)) {
    if (const auto parent = open_parent(caller, directory)) fill(entry, found(directory, {}, parent->get()));
    return;
  }
  if (locator_->finds_by_name()) {
    const auto stat = stat_at(directory.fd.get(), entry.name, 0);
    const auto node = stat ? locator_->key_at(directory.fd.get(), entry.name, *stat) : std::nullopt;
    if (node) return fill(entry, Found{*node, *stat});
  }
  if (const auto fd = open_component(directory.fd.get(), entry.name))
    fill(entry, found(directory, entry.name, fd->get()));
}

Status PosixFileSystem::list(const Caller& caller, const NodeKey& key, const Node& directory,
                             const DirectoryRequest& request, EntrySink& sink, DirectoryResult& result) {
  if (request.cookie != 0 && request.verifier != kCookieVerifier) return Status::bad_cookie;
  // Each call checks the rights of its caller. A stream that an earlier call has left in streams_ may have been opened
  // for another caller, or before a change of the mode.
  const auto may = rights(caller, directory);
  if (!may) return may.error();
  if ((*may & access::kMayRead) == 0) return Status::acces;
  // Without the right to search the directory, a caller learns only the names and fileids of its entries, and the
  // attributes of ".".
  const bool want_nodes = request.want_nodes && (*may & access::kMayExecute) != 0;
  std::unique_ptr<DirectoryStream> stream;
  if (request.cookie != 0) stream = streams_.take(key, request.cookie);
  if (stream == nullptr) {
    auto opened = DirectoryStream::open(directory.fd.get(), request.cookie);
    if (!opened) return opened.error();
    stream = std::move(*opened);
  }
  for (;; stream->next()) {
    const auto at = stream->peek();
    if (!at) return at.error();
    result.eof = at->name.empty();
    if (result.eof) return Status::ok;
    DirectoryEntry entry;
    entry.fileid = at->number;
    entry.name = at->name;
    entry.cookie = at->next;
    // Replaces two fileids by that of the directory itself. For ".", an overlay file system lists another number than
    // fstat() returns. The ".." of the root must be the root, because nothing above the root is exported.
    if (is_dot(entry.name) || (is_dot_dot(entry.name) && is_top(directory)))
      entry.fileid = directory.stat.attributes.fileid;
    if (want_nodes || (request.want_nodes && is_dot(entry.name))) fill_node(caller, key, directory, entry);
    if (!sink(entry)) break;
  }
  if (stream->position() != 0) streams_.put(key, std::move(stream));
  return Status::ok;
}

DirectoryResult PosixFileSystem::read_directory(const Caller& caller, const NodeKey& key,
                                                const DirectoryRequest& request, EntrySink sink) {
  act_as_server();
  const auto directory = open_directory(key);
  if (!directory) return {directory.error(), {}, {}, false};
  DirectoryResult result{Status::ok, directory->stat.attributes, kCookieVerifier, false};
  result.status = list(caller, key, *directory, request, sink, result);
  return result;
}

}  // namespace rpcrdma::nfsd
