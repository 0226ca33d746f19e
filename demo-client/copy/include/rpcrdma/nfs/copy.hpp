// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Copies files and directory trees between the local machine and the server. A file is copied in pieces. Several READs
// or WRITEs are in flight at a time, and each of them uses a registered buffer. In a tree, several files are copied at
// a time.
//
// Threads: operations run on the client's thread, except work that may block for long. Large reads and writes of local
// files, writes to streams, and checks of streams and large files for write errors run on threads that the Copier owns.
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
  /// This copy skips `bytes` of the bytes that on_found() announced, because an earlier transfer has copied them.
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
  std::size_t window = 8;    ///< the maximum number of pieces of one file in flight
  std::size_t buffers = 24;  ///< the maximum number of pieces of all files in flight; each piece needs a buffer
  std::size_t files = 16;    ///< the maximum number of files of a tree in flight
  std::size_t walkers = 8;   ///< the maximum number of concurrent walks of subdirectories, besides the one from the top
  /// If true, the copy of a large file is marked while it is incomplete, and a marked copy that an earlier transfer has
  /// left behind is continued. In a tree, a file is skipped if its copy exists and has the same size and mtime and, in
  /// an upload, the same mode.
  bool resume = false;
  /// A resumed transfer starts at a multiple of this number of bytes. No byte at or after such a multiple is
  /// transferred until all bytes before the multiple have been written and, in an upload, committed.
  std::uint64_t stride = std::uint64_t{64} << 20;
};

class Copier {
 public:
  Copier(Client& client, CopyObserver& observer, Limits limits, CopyOptions options = {});

  /// Copies the data of the local file `from` to the file `to`, beginning at the offset `start` of both files. `size`
  /// is an earlier size of `from`; the copy ends where reading `from` finds its end. A file larger than one WRITE is
  /// written UNSTABLE and committed. Data that a restarting server has lost is written again.
  Task<void> upload(const Fd& from, std::uint64_t size, FileHandle to, std::uint64_t start = 0);
  Task<void> download(FileHandle from, std::uint64_t size, const Fd& to, std::uint64_t start = 0);

  /// Makes the file `to` a copy of `from`, whose attributes are `source`. Then sets the attributes `final` of `to`.
  /// With CopyOptions::resume, a large file is marked while it is being copied, and an interrupted copy of the same
  /// file is continued from the last multiple of CopyOptions::stride that it had passed.
  Task<void> upload_file(const Fd& from, Attributes source, Node to, SetAttributes final);
  Task<void> download_file(Node from, const Fd& to, SetAttributes final);
  /// To be called before download_file() overwrites `to`. If `to` is a regular file with data, reads one byte of `from`
  /// and returns the error if the READ fails. The caller must then keep the data of `to`.
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

  /// Removes everything in `directory`, but not `directory` itself. Ends at the first failure. An entry or a directory
  /// that no longer exists is no failure. The function therefore also succeeds if the whole export is gone. In this
  /// case the caller's own removal of `directory` fails.
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
