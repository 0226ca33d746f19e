// SPDX-License-Identifier: BSD-3-Clause
// Operation: creates a directory, then copies its files concurrently. A subdirectory is copied concurrently if a walker
// is free, else by its parent, so that no directory waits for a walker. A directory gets its final mode and times when
// everything below it is done, as it must be writable until then.
// Ownership: each directory's frame holds its descriptor and waits for the children that use it.
// Error handling: see TreeWalk. NFS3ERR_EXIST is no error for a directory or a symbolic link, because a call that is
// sent again to a restarted server may have been executed before. For a directory, a LOOKUP checks that the existing
// object is one; for a symbolic link, the existing object is replaced.
#include "resume.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "tree_walk.hpp"

namespace rpcrdma::nfs {
namespace {

class UploadTree : TreeWalk {
 public:
  UploadTree(Copier& copier, Copier::Shared& shared) : TreeWalk(copier, shared) {}

  Task<void> run(const LocalDirectory& from, FileHandle to, std::string name) {
    if (name.empty()) {
      co_await contents(from, to, std::string(), 0);
    } else {
      co_await directory(from, to, name, std::string(), 0);
    }
    co_return outcome();
  }

 private:
  boost::asio::awaitable<void> contents(const LocalDirectory& from, FileHandle to, std::string path,
                                        std::size_t depth) {
    const Result<std::vector<LocalEntry>> entries = from.list();
    if (!entries) co_return problem(path, entries.error());
    for (const LocalEntry& entry : *entries) {
      if (entry.attributes.type == FileType::regular) shared_.observer.on_found(entry.attributes.size);
    }
    Group children(client_.executor());
    for (const LocalEntry& entry : *entries) {
      if (fatal_) break;
      if (entry.attributes.type == FileType::directory) {
        Permits::Permit walker = walkers_.try_acquire();
        if (walker) {
          children.spawn(child(from, entry, to, below(path, entry.name), depth + 1, std::move(walker)));
        } else {
          co_await child(from, entry, to, below(path, entry.name), depth + 1, Permits::Permit());
        }
      } else {
        Permits::Permit permit = co_await files_.acquire();
        children.spawn(leaf(from, entry, to, below(path, entry.name), std::move(permit)));
      }
    }
    co_await children.wait();
  }

  boost::asio::awaitable<void> child(const LocalDirectory& parent, const LocalEntry& entry, FileHandle to,
                                     std::string path, std::size_t depth, Permits::Permit) {
    const Result<LocalDirectory> from = parent.open_child(entry.name);
    if (!from || depth > kMaxDepth) {
      problem(path, from ? make_error_code(ClientError::too_deep) : from.error());
    } else {
      co_await directory(*from, to, entry.name, path, depth);
    }
  }

  boost::asio::awaitable<void> directory(const LocalDirectory& from, FileHandle to, std::string name, std::string path,
                                         std::size_t depth) {
    const Result<Attributes> attributes = local_attributes(from.descriptor());
    if (!attributes) co_return problem(path, attributes.error());
    const std::uint32_t mode = attributes->mode & kDirectoryModes;
    const Result<Node> made = co_await make_directory(to, name, mode | kOwnerModes);
    if (!made) co_return problem(path, made.error());
    co_await contents(from, made->handle, path, depth);
    if (fatal_) co_return;
    const SetAttributes final{
        .mode = mode, .atime = SetTime::to(attributes->atime), .mtime = SetTime::to(attributes->mtime)};
    const Result<void> set = co_await client_.setattr(made->handle, final);
    if (!set) problem(path, set.error());
  }

  Task<Node> make_directory(FileHandle parent, std::string name, std::uint32_t mode) {
    Result<Node> made = co_await client_.mkdir(parent, name, mode);
    if (made || made.error() != Status::exist) co_return made;
    Result<Node> there = co_await client_.lookup(parent, name);
    if (there && there->attributes.type != FileType::directory) co_return make_error_code(Status::notdir);
    co_return there;
  }

  boost::asio::awaitable<void> leaf(const LocalDirectory& from, const LocalEntry& entry, FileHandle to,
                                    std::string path, Permits::Permit) {
    if (fatal_) co_return;
    Result<void> done = make_error_code(boost::system::errc::not_supported);
    if (entry.attributes.type == FileType::regular) {
      done = co_await file(from, entry, to);
    } else if (entry.attributes.type == FileType::symlink) {
      done = co_await symlink(from, entry, to);
    }
    if (!done) {
      problem(path, done.error());
    } else {
      shared_.observer.on_file_done();
    }
  }

  Task<void> file(const LocalDirectory& from, const LocalEntry& entry, FileHandle to) {
    const Result<Fd> source = from.open_file(entry.name);
    if (!source) co_return source.error();
    // Uses the attributes of the open file, not those in `entry`, because the file may have changed since the directory
    // was read.
    const Result<Attributes> opened = local_attributes(*source);
    if (!opened) co_return opened.error();
    const Attributes& here = *opened;
    const std::uint32_t mode = here.mode & kFileModes;
    const SetAttributes final{.mode = mode, .atime = SetTime::to(here.atime), .mtime = SetTime::to(here.mtime)};
    // WRITE changes the times, so those of a file with data are set after its last WRITE.
    SetAttributes attributes = final;
    if (here.size != 0) attributes.atime = attributes.mtime = {};
    // CREATE with a size truncates an existing file, which a resumed copy must keep.
    const bool resume = shared_.options.resume;
    if (!resume) attributes.size = 0;
    const Result<Node> made = co_await client_.create(to, entry.name, attributes, false);
    if (!made) co_return made.error();
    if (made->attributes.type != FileType::regular) co_return make_error_code(Status::exist);
    if (resume && is_copy(here, made->attributes) && (made->attributes.mode & kFileModes) == mode) {
      shared_.observer.on_kept(here.size);
      co_return Result<void>();
    }
    co_return co_await copier_.upload_file(*source, here, *made, final);
  }

  Task<void> symlink(const LocalDirectory& from, const LocalEntry& entry, FileHandle to) {
    const Result<std::string> target = from.read_link(entry.name);
    if (!target) co_return target.error();
    const Result<void> made = co_await client_.symlink(to, entry.name, *target);
    if (made || made.error() != Status::exist) co_return made;
    const Result<void> removed = co_await client_.remove(to, entry.name);
    if (!removed) co_return removed.error();
    co_return co_await client_.symlink(to, entry.name, *target);
  }
};

}  // namespace

Task<void> Copier::upload_tree(LocalDirectory from, FileHandle to, std::string name) {
  UploadTree operation(*this, shared_);
  co_return co_await operation.run(from, to, std::move(name));
}

}  // namespace rpcrdma::nfs
