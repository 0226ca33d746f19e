// SPDX-License-Identifier: BSD-3-Clause
#include "memory_file_system.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {

DirectoryResult MemoryFileSystem::read_directory(const Caller& caller, const NodeKey& key,
                                                 const DirectoryRequest& request, EntrySink sink) {
  const std::lock_guard lock(mutex_);
  const auto found = find_directory(key);
  if (!found) return {found.error(), {}, {}, false};
  const MemoryNode& node = **found;
  DirectoryResult result{Status::ok, node.attributes(), instance_, false};
  result.status =
      request.cookie != 0 && request.verifier != instance_ ? Status::bad_cookie : check(caller, node, access::kMayRead);
  if (result.status != Status::ok) return result;
  // Without the right to search the directory, a caller learns only the names and fileids of its entries.
  const bool want_nodes = request.want_nodes && check(caller, node, access::kMayExecute) == Status::ok;
  const auto offer = [&](std::uint64_t number, std::string_view name, std::uint64_t cookie) {
    DirectoryEntry entry;
    entry.fileid = number;
    entry.name = name;
    entry.cookie = cookie;
    if (want_nodes) {
      entry.attributes = at(number).attributes();
      entry.node = key_of(number);
    }
    return sink(entry);
  };
  const MemoryDirectory& directory = node.directory;
  if (request.cookie < MemoryDirectory::kDot && !offer(node.fixed.fileid, ".", MemoryDirectory::kDot)) return result;
  if (request.cookie < MemoryDirectory::kDotDot && !offer(directory.parent, "..", MemoryDirectory::kDotDot))
    return result;
  const auto& entries = directory.by_cookie();
  for (auto at = entries.upper_bound(request.cookie); at != entries.end(); ++at)
    if (!offer(at->second.number, at->second.name, at->first)) return result;
  result.eof = true;
  return result;
}

}  // namespace rpcrdma::nfsd
