// SPDX-License-Identifier: BSD-3-Clause
// Operation: reads the directory up to its first entries, removes all entries on that page, and starts again at the
// beginning, until no entry is left: no position in a changed directory is used.
// Ownership: each directory's frame holds its page and waits for the children that use it.
// Error handling: the first failure ends the walk. It is no failure if an entry, or a directory with its contents, is
// already gone: a retransmission to a restarted server finds that its first transmission has been executed, and other
// clients may remove the same files.
#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/nfs/directory.hpp"

namespace rpcrdma::nfs {
namespace {

constexpr std::size_t kMaxRemoveDepth = 4096;

/// The walk fails when the CycleDetector has reported this many repeated pages of one directory. Fewer repeated pages
/// are normal: a listing may be outdated, and other clients may create removed entries again.
constexpr int kMaxRepeats = 3;

/// Returns true if `error` means that an object no longer exists. A server answers NOENT for a name that has been
/// removed, and STALE for the handle of a directory that has been removed. Some servers answer NOENT for such a handle
/// too, if the directory is removed while it is listed.
bool is_gone(const error_code& error) { return error == Status::noent || error == Status::stale; }

std::vector<std::string> names_of(const Client::Page& page) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : page.entries) names.push_back(entry.name);
  return names;
}

class RemoveBelow {
 public:
  explicit RemoveBelow(Client& client) : client_(client), files_(client.executor(), 16) {}

  Task<void> run(FileHandle directory) {
    co_await contents(directory, 0);
    if (failed_) co_return failed_;
    co_return Result<void>();
  }

 private:
  boost::asio::awaitable<void> contents(FileHandle directory, std::size_t depth) {
    if (depth > kMaxRemoveDepth) co_return fail(ClientError::too_deep);
    DirectoryReader reader(client_, directory, true);
    CycleDetector<std::vector<std::string>> pages;
    int repeats = 0;
    while (!failed_) {
      const Result<Client::Page> page = co_await reader.next();
      if (!page) {
        // A directory that is gone is no failure. If the whole export is gone, the RMDIR by the caller of
        // remove_below() fails.
        if (!is_gone(page.error())) fail(page.error());
        co_return;
      }
      if (page->entries.empty()) {
        if (page->end) co_return;
        continue;
      }
      reader.rewind();
      // The next page is read from the start of the directory again. Gives up if the same names return again and again,
      // because the server may list entries although it has reported their removal.
      if (pages.repeats(names_of(*page)) && ++repeats >= kMaxRepeats) co_return fail(Status::notempty);
      Group children(client_.executor());
      for (const DirectoryEntry& entry : page->entries) {
        if (failed_) break;
        if (!is_plain_name(entry.name)) {
          fail(ClientError::unsafe_name);
        } else if (entry.attributes && entry.attributes->type != FileType::directory) {
          Permits::Permit permit = co_await files_.acquire();
          children.spawn(file(directory, entry.name, std::move(permit)));
        } else {
          co_await below(directory, entry, depth);
        }
      }
      co_await children.wait();
    }
  }

  boost::asio::awaitable<void> below(FileHandle parent, const DirectoryEntry& entry, std::size_t depth) {
    const Result<Node> node = co_await client_.lookup(parent, entry.name);
    if (!node) {
      settle(node.error());
    } else if (node->attributes.type == FileType::directory) {
      co_await contents(node->handle, depth + 1);
      if (!failed_) settle(co_await client_.rmdir(parent, entry.name));
    } else {
      settle(co_await client_.remove(parent, entry.name));
    }
  }

  boost::asio::awaitable<void> file(FileHandle parent, std::string name, Permits::Permit) {
    settle(co_await client_.remove(parent, name));
  }

  void settle(const Result<void>& removed) {
    if (!removed && !is_gone(removed.error())) fail(removed.error());
  }
  void fail(error_code why) {
    if (!failed_) failed_ = why;
  }

  Client& client_;
  Permits files_;
  error_code failed_;
};

}  // namespace

Task<void> Copier::remove_below(Client& client, FileHandle directory) {
  RemoveBelow operation(client);
  co_return co_await operation.run(directory);
}

}  // namespace rpcrdma::nfs
