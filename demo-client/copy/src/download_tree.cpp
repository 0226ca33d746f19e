// SPDX-License-Identifier: BSD-3-Clause
// Operation: directories are read page by page, so that memory does not grow with the directory. The files of a page
// are copied concurrently. A subdirectory is copied concurrently if a walker is free, else by its parent. An entry
// whose handle or attributes the page lacks is looked up while the files are copied, with a file's permit. If the entry
// is a directory, it is copied after the files: if it kept the permit, the files below it could wait for ever. A
// directory gets its final mode and times when everything below it is done.
// Ownership: each directory's frame holds its descriptor and its page, and waits for the children that use them.
// Error handling: see TreeWalk. The server's names are checked before they reach a system call, and no local symbolic
// link is followed.
#include "resume.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/nfs/directory.hpp"
#include "tree_walk.hpp"

namespace rpcrdma::nfs {
namespace {

class DownloadTree : TreeWalk {
 public:
  DownloadTree(Copier& copier, Copier::Shared& shared) : TreeWalk(copier, shared) {}

  Task<void> run(Node from, const LocalDirectory& to, std::string name) {
    if (name.empty()) {
      co_await contents(from.handle, to, std::string(), 0);
    } else {
      co_await directory(from, to, name, std::string(), 0);
    }
    co_return outcome();
  }

 private:
  /// A subdirectory that is to be copied: its name, and its handle and attributes on the server.
  struct Found {
    std::string name;
    Node node;
  };

  boost::asio::awaitable<void> contents(FileHandle from, const LocalDirectory& to, std::string path,
                                        std::size_t depth) {
    DirectoryReader reader(client_, from, true);
    while (!fatal_) {
      const Result<Client::Page> page = co_await reader.next();
      if (!page) co_return problem(path, page.error());
      co_await entries(page->entries, from, to, path, depth);
      if (page->end) co_return;
    }
  }

  boost::asio::awaitable<void> entries(const std::vector<DirectoryEntry>& page, FileHandle from,
                                       const LocalDirectory& to, std::string path, std::size_t depth) {
    Group children(client_.executor());
    std::vector<Found> directories;
    for (const DirectoryEntry& entry : page) {
      if (fatal_) break;
      const std::string where = below(path, entry.name);
      if (!is_plain_name(entry.name)) {
        problem(where, ClientError::unsafe_name);
      } else if (entry.handle && entry.attributes && entry.attributes->type == FileType::directory) {
        Found found{entry.name, {*entry.handle, *entry.attributes}};
        co_await walk(children, std::move(found), to, where, depth + 1);
      } else {
        Permits::Permit permit = co_await files_.acquire();
        children.spawn(leaf(from, entry, to, where, directories, std::move(permit)));
      }
    }
    co_await children.wait();
    for (const Found& found : directories) {
      if (fatal_) break;
      co_await walk(children, found, to, below(path, found.name), depth + 1);
    }
    co_await children.wait();
  }

  /// Copies a subdirectory. If walkers_ has a free permit, a child coroutine copies it concurrently. Otherwise walk()
  /// copies it before it returns.
  boost::asio::awaitable<void> walk(Group& children, Found found, const LocalDirectory& to, std::string path,
                                    std::size_t depth) {
    Permits::Permit walker = walkers_.try_acquire();
    if (walker) {
      children.spawn(child(std::move(found), to, std::move(path), depth, std::move(walker)));
    } else {
      co_await child(std::move(found), to, std::move(path), depth, Permits::Permit());
    }
  }

  boost::asio::awaitable<void> child(Found found, const LocalDirectory& to, std::string path, std::size_t depth,
                                     Permits::Permit) {
    if (fatal_) co_return;
    if (depth > kMaxDepth) co_return problem(path, ClientError::too_deep);
    co_await directory(found.node, to, found.name, path, depth);
  }

  /// Looks up the entry if the listing lacks its handle or its attributes. Copies the entry or, if it is a directory,
  /// adds it to `directories`.
  boost::asio::awaitable<void> leaf(FileHandle parent, const DirectoryEntry& entry, const LocalDirectory& to,
                                    std::string path, std::vector<Found>& directories, Permits::Permit) {
    if (fatal_) co_return;
    Node node;
    if (entry.handle && entry.attributes) {
      node = {*entry.handle, *entry.attributes};
    } else {
      const Result<Node> found = co_await client_.lookup(parent, entry.name);
      if (!found) co_return problem(path, found.error());
      node = *found;
    }
    if (node.attributes.type == FileType::directory) {
      directories.push_back({entry.name, node});
      co_return;
    }
    Result<void> done = make_error_code(boost::system::errc::not_supported);
    if (node.attributes.type == FileType::regular) {
      done = co_await file(node, to, entry.name);
    } else if (node.attributes.type == FileType::symlink) {
      done = co_await symlink(node, to, entry.name);
    }
    if (!done) co_return problem(path, done.error());
    shared_.observer.on_file_done();
  }

  boost::asio::awaitable<void> directory(Node from, const LocalDirectory& parent, std::string name, std::string path,
                                         std::size_t depth) {
    const std::uint32_t mode = from.attributes.mode & kDirectoryModes;
    const Result<LocalDirectory> to = parent.make_child(name, mode | kOwnerModes);
    if (!to) co_return problem(path, to.error());
    co_await contents(from.handle, *to, path, depth);
    if (fatal_) co_return;
    const SetAttributes final{
        .mode = mode, .atime = SetTime::to(from.attributes.atime), .mtime = SetTime::to(from.attributes.mtime)};
    const Result<void> set = set_attributes(to->descriptor(), final);
    if (!set) problem(path, set.error());
  }

  Task<void> file(Node from, const LocalDirectory& to, std::string name) {
    const std::uint32_t mode = from.attributes.mode & kFileModes;
    shared_.observer.on_found(from.attributes.size);
    const bool fresh = !to.has(name);
    const Result<Fd> target = to.create_file(name, mode | 0600, false);
    if (!target) co_return target.error();
    const SetAttributes final{
        .mode = mode, .atime = SetTime::to(from.attributes.atime), .mtime = SetTime::to(from.attributes.mtime)};
    const Result<void> done = co_await into(from, *target, final);
    if (!done && fresh) take_back(to.descriptor().get(), name, *target);
    co_return done;
  }

  Task<void> into(Node from, const Fd& target, SetAttributes final) {
    const Result<void> readable = co_await copier_.check_source(from, target);
    if (!readable) co_return readable.error();
    if (shared_.options.resume) {
      const Result<Attributes> there = local_attributes(target);
      if (there && is_copy(from.attributes, *there)) {
        shared_.observer.on_kept(from.attributes.size);
        co_return set_attributes(target, final);
      }
    }
    co_return co_await copier_.download_file(from, target, final);
  }

  Task<void> symlink(Node from, const LocalDirectory& to, std::string name) {
    const Result<std::string> target = co_await client_.readlink(from.handle);
    if (!target) co_return target.error();
    co_return to.make_link(name, *target);
  }
};

}  // namespace

Task<void> Copier::download_tree(Node from, LocalDirectory to, std::string name) {
  DownloadTree operation(*this, shared_);
  co_return co_await operation.run(from, to, std::move(name));
}

}  // namespace rpcrdma::nfs
