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
  /// Of what on_found() told, so much was at its place already, left there by a transfer that broke.
  virtual void on_kept([[maybe_unused]] std::uint64_t octets) {}
  /// The file whose error is told next stays as it is, to be gone on with: nobody has the right to write it.
  virtual void on_unfinished() {}
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
  /// Go on where an earlier transfer broke: files that are there as a whole (size and time) are passed over.
  bool resume = false;
  /// Of a larger file, no octet behind so many is moved before these are committed: a broken transfer goes on there.
  std::uint64_t stride = std::uint64_t{64} << 20;
};

class Copier {
 public:
  Copier(Client& client, CopyObserver& observer, Limits limits, CopyOptions options = {});

  /// Fills the file `to` from a local one, from `start` on; `size` is what is known of the length. Large
  /// files are written UNSTABLE and committed; what a restarting server lost is written again.
  Task<void> upload(const Fd& from, std::uint64_t size, FileHandle to, std::uint64_t start = 0);
  Task<void> download(FileHandle from, std::uint64_t size, const Fd& to, std::uint64_t start = 0);

  /// Makes the file `to` a copy of `from`, which has the attributes `source`: from the start, or, to resume, from
  /// where an earlier copy of the same file broke. Then it gets `final`. Large files bear a mark meanwhile.
  Task<void> upload_file(const Fd& from, Attributes source, Node to, SetAttributes final);
  Task<void> download_file(Node from, const Fd& to, SetAttributes final);
  /// Whether `from` can be read, if `to` holds something that would be lost for nothing.
  Task<void> check_source(Node from, const Fd& to);
  /// Writes a file to a pipe or terminal, in order.
  Task<void> stream(FileHandle from, std::uint64_t size, int to);

  /// Copies the directory `from` to the directory `name` of `to`, made if it is not there; without a name
  /// what is in `from` into `to` itself. Files that are there already are overwritten, directories merged.
  /// Permission bits and times are kept, set-id bits are not; symbolic links are copied as such; other kinds of files
  /// are problems. An error in the end means that the server was lost.
  Task<void> upload_tree(LocalDirectory from, FileHandle to, std::string name);
  /// The other direction. Never leaves `to`, whatever the server says.
  Task<void> download_tree(Node from, LocalDirectory to, std::string name);

  /// Removes all that is in `directory`. The first failure ends it; that something is gone already, `directory` too, is
  /// none (NFS3ERR_STALE of `directory` itself may have other reasons, which removing it shows).
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
