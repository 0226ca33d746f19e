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

/// Hears of what goes on. Called on the client's thread.
class CopyObserver {
 public:
  virtual void on_found(std::uint64_t octets) = 0;  ///< a file of this size is going to be copied
  virtual void on_moved(std::uint64_t octets) = 0;
  virtual void on_file_done() = 0;
  /// `path` (relative to the tree's root) was not copied; the rest is.
  virtual void on_problem(std::string_view path, const error_code& why) = 0;

 protected:
  ~CopyObserver() = default;
};

struct CopyOptions {
  std::size_t window = 8;    ///< pieces of one file in flight
  std::size_t buffers = 24;  ///< pieces of all files in flight
  std::size_t files = 16;    ///< files of a tree in flight
  std::size_t walkers = 8;   ///< directories of a tree read at once
};

class Copier {
 public:
  Copier(Client& client, CopyObserver& observer, Limits limits, CopyOptions options = {});

  /// Fills the file `to` from a local one; both begin at 0, and `size` is what is known of the length. Large
  /// files are written UNSTABLE and committed; what a restarting server lost is written again.
  Task<void> upload(const Descriptor& from, std::uint64_t size, FileHandle to);
  Task<void> download(FileHandle from, std::uint64_t size, const Descriptor& to);
  /// Writes a file to a pipe or terminal, in order.
  Task<void> stream(FileHandle from, std::uint64_t size, int to);

  /// Copies the directory `from` to the directory `name` of `to`, made if it is not there; without a name
  /// what is in `from` into `to` itself. Files that are there already are overwritten, directories merged.
  /// Permission bits are kept, symbolic links copied as such; other kinds of files are problems. An error in
  /// the end means that the server was lost.
  Task<void> upload_tree(LocalDirectory from, FileHandle to, std::string name);
  /// The other direction. Times are kept too, set-id bits are not. Never leaves `to`, whatever the server says.
  Task<void> download_tree(Node from, LocalDirectory to, std::string name);

  /// Removes all that is in `directory`. The first failure ends it.
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
