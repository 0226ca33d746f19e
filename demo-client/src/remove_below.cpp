// SPDX-License-Identifier: BSD-3-Clause
// Operation: the first page of the directory is read and all that it names removed, until nothing is left;
// so no position in a changing directory is ever used.
// Ownership: each directory's frame holds its page and waits for the children that use it.
// Error handling: the first failure ends the walk. What is gone already is no failure, nor is a directory that is gone
// with all that was in it: a resend that reaches a restarted server finds its own earlier work, and others remove, too.
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {
namespace {

constexpr std::size_t kMaxRemoveDepth = 4096;

/// Stale is the handle of a directory; some servers say "no such file" of one that goes while they list it.
bool is_gone(const error_code& error) { return error == Status::noent || error == Status::stale; }

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
    Client::Position position;
    std::vector<std::string> gone;  // what the page before named, if nothing of it was there
    while (!failed_) {
      const Result<Client::Page> page = co_await client_.read_directory(directory, position, true);
      if (!page) {
        // Whether it is gone, or all of the export out of reach, who removes it by its name gets to know.
        if (!is_gone(page.error())) fail(page.error());
        co_return;
      }
      if (page->entries.empty()) {
        if (page->end) co_return;
        position = page->next;
        continue;
      }
      position = {};
      const std::uint64_t before = removed_;
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
      std::vector<std::string> names;
      if (removed_ == before)
        for (const DirectoryEntry& entry : page->entries) names.push_back(entry.name);
      // A server that goes on to name what it says is gone would keep us here for ever.
      if (!names.empty() && names == gone) fail(Status::notempty);
      gone = std::move(names);
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
    if (removed) ++removed_;
    if (!removed && !is_gone(removed.error())) fail(removed.error());
  }
  void fail(error_code why) {
    if (!failed_) failed_ = why;
  }

  Client& client_;
  Permits files_;
  std::uint64_t removed_ = 0;
  error_code failed_;
};

}  // namespace

Task<void> Copier::remove_below(Client& client, FileHandle directory) {
  RemoveBelow operation(client);
  co_return co_await operation.run(directory);
}

}  // namespace rpcrdma::nfs
