// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Copies between local files and the server: files in pieces, with several READs or WRITEs in flight that use
// registered buffers; trees with several files in flight.
//
// Threads: everything runs on the client's thread, with exceptions. Large reads and writes of local files, writes to
// streams, and checks of streams and large files for write errors run on threads that the Copier owns.
// Ownership: the Copier, the client and the observer must outlive the Copier's operations.
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
  /// An earlier transfer copied `bytes` of the bytes that on_found() announced.
  virtual void on_kept([[maybe_unused]] std::uint64_t bytes) {}
  /// Called after a failure if the incomplete copy stays marked and write-protected, usually because it can be resumed.
  /// The failure is reported afterwards, by on_problem() or as the result.
  virtual void on_unfinished() {}
  /// `path` (relative to the tree's root) was not copied, or only in part; the copy continues.
  virtual void on_problem(std::string_view path, const error_code& why) = 0;

 protected:
  ~CopyObserver() = default;
};

struct CopyOptions {
  std::size_t window = 8;    ///< pieces of one file in flight
  std::size_t buffers = 24;  ///< pieces of all files in flight
  std::size_t files = 16;    ///< files of a tree in flight
  std::size_t walkers = 8;   ///< walks of subdirectories in flight, besides the walk that starts at the top
  /// Marks large files while they are copied, so that an interrupted copy can be resumed; resumes such copies. In a
  /// tree, skips a file whose copy has the same size and mtime and, in an upload, the same mode.
  bool resume = false;
  /// A transfer resumes at a multiple of this: all bytes before a multiple are written and, in an upload, committed
  /// before any byte after it is transferred.
  std::uint64_t stride = std::uint64_t{64} << 20;
};

class Copier {
 public:
  Copier(Client& client, CopyObserver& observer, Limits limits, CopyOptions options = {});

  /// Fills the file `to` from a local one, from `start` on. `size` is the length seen before; it may have changed. A
  /// file larger than one WRITE is written UNSTABLE and committed; data that a restarting server lost is written again.
  Task<void> upload(const Fd& from, std::uint64_t size, FileHandle to, std::uint64_t start = 0);
  Task<void> download(FileHandle from, std::uint64_t size, const Fd& to, std::uint64_t start = 0);

  /// Makes the file `to` a copy of `from`, which has the attributes `source`: from the start or, to resume, from the
  /// position where an earlier copy of the same file was interrupted. Then sets the attributes `final`. With
  /// CopyOptions::resume, a large file is marked while it is being copied.
  Task<void> upload_file(const Fd& from, Attributes source, Node to, SetAttributes final);
  Task<void> download_file(Node from, const Fd& to, SetAttributes final);
  /// If `to` is a regular file with data, checks that `from` can be read: a copy that must fail must not overwrite
  /// data.
  Task<void> check_source(Node from, const Fd& to);
  /// Writes a file from its first byte to its last to the descriptor `to`, such as a pipe or a terminal.
  Task<void> stream(FileHandle from, std::uint64_t size, int to);

  /// Copies the directory `from` to `name` in `to`; creates the directory `name` if it does not exist. If `name` is
  /// empty, copies the contents of `from` into `to`. Overwrites existing files and merges directories. Keeps permission
  /// bits and times, but not set-id bits; copies symbolic links as links; reports other kinds of files as problems. The
  /// result is an error only if it prevents the copy of all further files, such as a lost connection.
  Task<void> upload_tree(LocalDirectory from, FileHandle to, std::string name);
  /// As upload_tree(), from the server. Never writes outside `to`, whatever names the server sends.
  Task<void> download_tree(Node from, LocalDirectory to, std::string name);

  /// Removes the contents of `directory`, until the first failure. It is no failure if an entry or a directory no
  /// longer exists. Also succeeds if the whole export is gone; the caller then fails to remove the name of `directory`.
  static Task<void> remove_below(Client& client, FileHandle directory);

  // State shared by the operations, which are implemented in separate source files.
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
