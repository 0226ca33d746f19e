// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Copies between local files and the server: files in pieces, several READs or WRITEs in flight from or into
// registered buffers; trees with several files in flight.
//
// Threads: all on the client's thread; local reads and writes of bulk data on threads of the Copier's own.
// Ownership: a Copier outlives its operations, and so do the client and the observer.
#include <boost/asio/thread_pool.hpp>
#include <string_view>

#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfs/local.hpp"

namespace rpcrdma::nfs {

/// Observes a copy. Called on the client's thread.
class CopyObserver {
 public:
  virtual void on_found(std::uint64_t bytes) = 0;  ///< a file of this size will be copied
  virtual void on_moved(std::uint64_t bytes) = 0;
  virtual void on_file_done() = 0;
  /// So much of what on_found() announced was left by an interrupted transfer.
  virtual void on_kept([[maybe_unused]] std::uint64_t bytes) {}
  /// The file of the next on_problem(), or of the result, stays marked, without write permission, to be resumed.
  virtual void on_unfinished() {}
  /// `path` (relative to the tree's root) was not copied; the others are.
  virtual void on_problem(std::string_view path, const error_code& why) = 0;

 protected:
  ~CopyObserver() = default;
};

struct CopyOptions {
  std::size_t window = 8;    ///< pieces of one file in flight
  std::size_t buffers = 24;  ///< pieces of all files in flight
  std::size_t files = 16;    ///< files of a tree in flight
  std::size_t walkers = 8;   ///< directories of a tree read at once
  /// Resume an interrupted transfer: complete files (same size and time) are skipped.
  bool resume = false;
  /// A multiple of this is where a transfer resumes: all before it is committed before any byte behind it is moved.
  std::uint64_t stride = std::uint64_t{64} << 20;
};

class Copier {
 public:
  Copier(Client& client, CopyObserver& observer, Limits limits, CopyOptions options = {});

  /// Fills the file `to` from a local one, from `start` on; `size` is the length seen before, which may be wrong. Large
  /// files are written UNSTABLE and committed; data that a restarting server lost is written again.
  Task<void> upload(const Fd& from, std::uint64_t size, FileHandle to, std::uint64_t start = 0);
  Task<void> download(FileHandle from, std::uint64_t size, const Fd& to, std::uint64_t start = 0);

  /// Makes the file `to` a copy of `from`, which has the attributes `source`: from the start or, to resume, from where
  /// an earlier copy of the same file was interrupted. Then sets `final`. Large files are marked meanwhile.
  Task<void> upload_file(const Fd& from, Attributes source, Node to, SetAttributes final);
  Task<void> download_file(Node from, const Fd& to, SetAttributes final);
  /// Checks that `from` can be read, unless `to` is empty, so that no data is lost for a source that cannot be read.
  Task<void> check_source(Node from, const Fd& to);
  /// Writes a file to a pipe or terminal in order.
  Task<void> stream(FileHandle from, std::uint64_t size, int to);

  /// Copies the directory `from` to the directory `name` of `to`, created if it does not exist; without a name copies
  /// the contents of `from` into `to`. Existing files are overwritten, directories merged. Permission bits and times
  /// are kept, set-id bits are not; symbolic links are copied as such; other kinds of files are problems. An error as
  /// the result means that the connection to the server was lost.
  Task<void> upload_tree(LocalDirectory from, FileHandle to, std::string name);
  /// The other direction. Never writes outside `to`, whatever names the server sends.
  Task<void> download_tree(Node from, LocalDirectory to, std::string name);

  /// Removes the contents of `directory`. The first failure ends it; an entry or a directory that is gone already is
  /// not a failure (NFS3ERR_STALE of `directory` itself may have other reasons, which removing it shows).
  static Task<void> remove_below(Client& client, FileHandle directory);

  // Shared by the operations, each of which is in a file of its own.
  struct Shared {
    Client& client;
    CopyObserver& observer;
    Limits limits;
    CopyOptions options;
    Permits buffers;
    boost::asio::thread_pool threads{2};
  };

 private:
  Shared shared_;
};

/// Directories nested more deeply than this are not copied: each level holds a file descriptor.
inline constexpr std::size_t kMaxDepth = 400;

}  // namespace rpcrdma::nfs
