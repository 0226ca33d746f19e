// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The interface of a back end: methods with the semantics of the NFSv3 procedures (RFC 1813 section 3.3).
#include <memory>
#include <string>
#include <string_view>

#include "rpcrdma/base/buffer_ref.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

struct AttributesResult {
  Status status = Status::ok;
  std::optional<Attributes> attributes;
};
struct AccessResult {
  Status status = Status::ok;
  std::optional<Attributes> attributes;
  std::uint32_t granted = 0;  ///< bits that namespace access defines
};
/// Result of LOOKUP, CREATE, MKDIR, SYMLINK and MKNOD. LOOKUP does not set `directory.before`.
struct NodeResult {
  Status status = Status::ok;
  NodeKey node;
  std::optional<Attributes> attributes;
  Wcc directory;
};
struct ChangeResult {
  Status status = Status::ok;
  Wcc wcc;
};
struct RenameResult {
  Status status = Status::ok;
  Wcc from;
  Wcc to;
};
struct LinkResult {
  Status status = Status::ok;
  std::optional<Attributes> file;
  Wcc directory;
};
struct ReadlinkResult {
  Status status = Status::ok;
  std::optional<Attributes> attributes;
  std::string target;
};
struct ReadResult {
  Status status = Status::ok;
  std::optional<Attributes> attributes;
  std::uint32_t count = 0;
  bool eof = false;
};
struct WriteResult {
  Status status = Status::ok;
  Wcc wcc;
  std::uint32_t count = 0;
  Stable committed = Stable::unstable;
};

struct CreateHow {
  CreateMode mode = CreateMode::unchecked;
  SetAttributes attributes;  ///< the attributes to set; used if `mode` is unchecked or guarded
  Verifier verifier{};       ///< the client's verifier (RFC 1813 section 3.3.8); used if `mode` is exclusive
};

struct DirectoryEntry {
  std::uint64_t fileid = 0;
  std::string_view name;     ///< valid during the callback
  std::uint64_t cookie = 0;  ///< the position after this entry, where a listing can continue; never 0
  /// `attributes` and `node` are set only if DirectoryRequest::want_nodes is true, and if they are available.
  std::optional<Attributes> attributes;
  NodeKey node;
};
struct DirectoryRequest {
  std::uint64_t cookie = 0;  ///< 0: from the start
  Verifier verifier{};
  bool want_nodes = false;  ///< true for READDIRPLUS: DirectoryEntry::attributes and DirectoryEntry::node are wanted
};
struct DirectoryResult {
  Status status = Status::ok;
  std::optional<Attributes> attributes;  ///< attributes of the directory
  Verifier verifier{};
  bool eof = false;
};
/// Takes the next entry. Returns false if the entry does not fit: the listing then ends before it. Must not call the
/// file system.
using EntrySink = UniqueFunction<bool(const DirectoryEntry&)>;

struct StatisticsResult {
  Status status = Status::ok;
  std::optional<Attributes> attributes;
  Statistics statistics;
};

/// The limits do not change during the life of a file system.
struct Limits {
  std::uint64_t max_file_size = 0;
  std::uint32_t max_links = 0;
  std::uint32_t max_name = 255;
  Time time_delta{0, 1};
};

class PagedData;

/// A tree of files. Several threads may call the methods concurrently. If blocking() returns true, a method that
/// implements an NFS procedure may block the calling thread. Methods whose name ends with _at_once never block. An
/// implementation checks that each name it receives is a single path component. It treats "." and ".." as RFC 1813
/// requires for the respective procedure.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual bool blocking() const noexcept = 0;
  /// Whether an operation on names or attributes that need not be on the disk usually takes no longer than it takes to
  /// pass the call to another thread, as on a local file system.
  virtual bool names_are_short() const noexcept { return false; }
  /// Whether operations for `caller` leave the identity of the calling thread as it is, unless the thread has acted for
  /// another caller.
  virtual bool acts_as_server(const Caller& /*caller*/) const noexcept { return true; }
  virtual NodeKey root() const = 0;
  virtual Limits limits() const noexcept = 0;
  /// Changes whenever data of UNSTABLE writes may have been lost, and at each start.
  virtual Verifier write_verifier() const noexcept = 0;
  /// The interface through which READ and WRITE access file data in pages that a fabric can register. Null if the file
  /// system does not keep its data in such pages.
  virtual PagedData* paged() noexcept { return nullptr; }
  /// Closes descriptors that have been kept for reuse for long enough, and writes old UNSTABLE data to the disk. Call
  /// it every few seconds on a thread that may block.
  virtual void tidy() {}

  // A method named NAME_at_once gives the same answer as NAME, but never blocks: it returns nothing if it needs data
  // that is not in memory. If blocking() returns true, a thread that must not block calls only NAME_at_once.

  virtual AttributesResult attributes(const NodeKey& node) = 0;
  virtual std::optional<AttributesResult> attributes_at_once(const NodeKey&) { return std::nullopt; }
  /// Grants `caller` a subset of `wanted`.
  virtual AccessResult access(const Caller& caller, const NodeKey& node, std::uint32_t wanted) = 0;
  virtual std::optional<AccessResult> access_at_once(const Caller&, const NodeKey&, std::uint32_t) {
    return std::nullopt;
  }
  /// If `guard` is set and differs from the ctime of the node, fails with Status::not_sync.
  virtual ChangeResult set_attributes(const Caller& caller, const NodeKey& node, const SetAttributes& changes,
                                      const std::optional<Time>& guard) = 0;
  virtual NodeResult lookup(const Caller& caller, const NodeKey& directory, std::string_view name) = 0;
  virtual std::optional<NodeResult> lookup_at_once(const Caller&, const NodeKey&, std::string_view) {
    return std::nullopt;
  }
  virtual ReadlinkResult read_link(const NodeKey& node) = 0;
  /// Fills `into` with the bytes from `offset` on, up to the end of the file.
  virtual ReadResult read(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                          std::span<const BufferRef> into) = 0;
  /// As read(), but never blocks. Returns nothing if the data cannot be read without blocking, for example because the
  /// file is not open or its data is not in memory. The caller then calls read() instead.
  virtual std::optional<ReadResult> read_at_once(const Caller&, const NodeKey&, std::uint64_t,
                                                 std::span<const BufferRef>) {
    return std::nullopt;
  }
  /// As read(), for `count` bytes, but puts them into a pipe, without a copy: they stay those of the file until they
  /// are read from the pipe, so that a change of the file changes them too. `pipe` is the write end of an empty pipe
  /// with O_NONBLOCK. Returns nothing if the file system cannot do this, or if the pipe has too little room. Whatever
  /// the result, the pipe may contain bytes. Only the first ReadResult::count bytes are valid, if the status is ok.
  virtual std::optional<ReadResult> read_to_pipe(const Caller&, const NodeKey&, std::uint64_t /*offset*/,
                                                 std::uint32_t /*count*/, int /*pipe*/) {
    return std::nullopt;
  }
  virtual WriteResult write(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                            std::span<const BufferRef> from, Stable stable) = 0;
  virtual ChangeResult commit(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count) = 0;
  virtual NodeResult create(const Caller& caller, const NodeKey& directory, std::string_view name,
                            const CreateHow& how) = 0;
  virtual NodeResult make_directory(const Caller& caller, const NodeKey& directory, std::string_view name,
                                    const SetAttributes& attributes) = 0;
  virtual NodeResult make_symlink(const Caller& caller, const NodeKey& directory, std::string_view name,
                                  std::string_view target, const SetAttributes& attributes) = 0;
  /// `type` must be character, block, socket or fifo.
  virtual NodeResult make_node(const Caller& caller, const NodeKey& directory, std::string_view name, FileType type,
                               Device device, const SetAttributes& attributes) = 0;
  virtual ChangeResult remove(const Caller& caller, const NodeKey& directory, std::string_view name) = 0;
  virtual ChangeResult remove_directory(const Caller& caller, const NodeKey& directory, std::string_view name) = 0;
  virtual RenameResult rename(const Caller& caller, const NodeKey& from_directory, std::string_view from,
                              const NodeKey& to_directory, std::string_view to) = 0;
  virtual LinkResult link(const Caller& caller, const NodeKey& node, const NodeKey& directory,
                          std::string_view name) = 0;
  virtual DirectoryResult read_directory(const Caller& caller, const NodeKey& directory,
                                         const DirectoryRequest& request, EntrySink sink) = 0;
  virtual StatisticsResult statistics(const NodeKey& node) = 0;
};

}  // namespace rpcrdma::nfsd
