// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include "acting.hpp"
#include "directory_stream.hpp"
#include "locate/kept_nodes.hpp"
#include "locate/locator.hpp"
#include "open_files/descriptor_cache.hpp"
#include "open_files/late_close.hpp"
#include "open_files/write_backs.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {

class PosixFileSystem final : public FileSystem {
 public:
  PosixFileSystem(Fd root, Fd readable_root, const NodeStat& stat, const PosixOptions& options, Log log);
  /// Completes the construction. Makes a locator with make_handle_locator(). If `options` forbid that kind of locator,
  /// or if make_handle_locator() returns null, makes a locator with make_place_locator(). Then finds the key of the
  /// root.
  Status start(const PosixOptions& options);

  bool blocking() const noexcept override { return true; }
  bool names_are_short() const noexcept override { return local_; }
  bool acts_as_server(const Caller& caller) const noexcept override { return !acts_ || is_server(caller); }
  NodeKey root() const override { return root_key_; }
  Limits limits() const noexcept override { return limits_; }
  Verifier write_verifier() const noexcept override;
  void tidy() override;

  AttributesResult attributes(const NodeKey& node) override;
  std::optional<AttributesResult> attributes_at_once(const NodeKey& node) override;
  AccessResult access(const Caller& caller, const NodeKey& node, std::uint32_t wanted) override;
  std::optional<AccessResult> access_at_once(const Caller& caller, const NodeKey& node, std::uint32_t wanted) override;
  ChangeResult set_attributes(const Caller& caller, const NodeKey& node, const SetAttributes& changes,
                              const std::optional<Time>& guard) override;
  NodeResult lookup(const Caller& caller, const NodeKey& directory, std::string_view name) override;
  std::optional<NodeResult> lookup_at_once(const Caller& caller, const NodeKey& directory,
                                           std::string_view name) override;
  ReadlinkResult read_link(const NodeKey& node) override;
  ReadResult read(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                  std::span<const BufferRef> into) override;
  std::optional<ReadResult> read_at_once(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                         std::span<const BufferRef> into) override;
  std::optional<ReadResult> read_to_pipe(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                         std::uint32_t count, int pipe) override;
  WriteResult write(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::span<const BufferRef> from,
                    Stable stable) override;
  ChangeResult commit(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count) override;
  NodeResult create(const Caller& caller, const NodeKey& directory, std::string_view name,
                    const CreateHow& how) override;
  NodeResult make_directory(const Caller& caller, const NodeKey& directory, std::string_view name,
                            const SetAttributes& attributes) override;
  NodeResult make_symlink(const Caller& caller, const NodeKey& directory, std::string_view name,
                          std::string_view target, const SetAttributes& attributes) override;
  NodeResult make_node(const Caller& caller, const NodeKey& directory, std::string_view name, FileType type,
                       Device device, const SetAttributes& attributes) override;
  ChangeResult remove(const Caller& caller, const NodeKey& directory, std::string_view name) override;
  ChangeResult remove_directory(const Caller& caller, const NodeKey& directory, std::string_view name) override;
  RenameResult rename(const Caller& caller, const NodeKey& from_directory, std::string_view from,
                      const NodeKey& to_directory, std::string_view to) override;
  LinkResult link(const Caller& caller, const NodeKey& node, const NodeKey& directory, std::string_view name) override;
  DirectoryResult read_directory(const Caller& caller, const NodeKey& directory, const DirectoryRequest& request,
                                 EntrySink sink) override;
  StatisticsResult statistics(const NodeKey& node) override;

 private:
  /// An open object, with the attributes that were read last.
  struct Node {
    NodeFd fd;
    NodeStat stat;
    /// For a directory that is kept open: DirectorySync::failures() when this Node was made. With this number,
    /// DirectorySync::sync() finds out whether an fsync has failed since then.
    std::uint64_t failures = 0;
  };
  /// The key and attributes of an object, for a reply.
  struct Found {
    NodeKey node;
    NodeStat stat;
  };
  /// An object that is new or has changed, in a changed directory. settle() writes it to the disk in addition to the
  /// directory, unless `fd` is empty or `with_directory` is true.
  struct Unsettled {
    NodeFd fd;
    FileType type = FileType::regular;
    bool for_data = false;           ///< true: fsync() accepts `fd`; false: `fd` is O_PATH and must be reopened first
    std::optional<NodeStat> stat{};  ///< if it is known
    bool with_directory = false;     ///< true: an fsync of the directory is known to write the object too
  };
  /// What flush() passes to WriteBack::sync() for a regular file. watch() sets `failures` to WriteBack::failures(), so
  /// that sync() reports only failures after that time. For an object of another type, `file` is null.
  struct Watched {
    std::shared_ptr<WriteBack> file;
    std::uint64_t failures = 0;
  };
  /// An object that is about to lose a name. before_move() returns it with `fd` open. before_unlink() returns it with
  /// `fd` open only if the object is not a directory and has other names.
  struct Victim {
    NodeFd fd;
    NodeStat stat;
  };
  using OpenFilePtr = std::shared_ptr<const OpenFile>;

  static Node node_of(KeptNodePtr kept, const NodeStat& stat) noexcept;
  /// The lock to hold while a WRITE or SETATTR changes the object `node`, or while names in the directory `node`
  /// change. Therefore no other such change by this server falls between the attributes before and after the change,
  /// which the reply contains (wcc_data of RFC 1813).
  std::mutex& lock_of(const NodeKey& node) noexcept;
  /// Opens the object that `key` names, and reads its present attributes.
  StatusOr<Node> open_node(const NodeKey& key);
  StatusOr<Node> open_directory(const NodeKey& key);
  bool is_top(const Node& directory) const noexcept { return same_object(directory.stat, root_stat_); }
  static Status refresh(Node& node);
  Wcc wcc_after(const Node& directory, bool changed) const;
  void touch_inode(int fd, NodeStat& stat) const;
  /// The identity with which a thread serves `caller`; null if this process serves all callers as itself.
  const Identity* user(const Caller& caller) const noexcept { return acts_ ? &caller : nullptr; }
  /// The owner of cached descriptors and rights: the server itself if it serves all callers as itself.
  const Identity& owner_of_descriptors(const Caller& caller) const noexcept { return acts_ ? caller : itself_; }
  bool is_root(const Caller& caller) const noexcept { return (acts_ ? caller.uid : itself_.uid) == 0; }
  /// Runs `call`, which makes a system call, with the identity of `caller`. Returns 0 if the system call succeeds, and
  /// its errno if it fails. If the thread cannot take the identity of `caller`, returns identity_error() and does
  /// not run `call`.
  template <class Call>
  int as_caller(const Caller& caller, Call call) const {
    const ActingAs acting(user(caller));
    if (!acting) return identity_error();
    return call() >= 0 ? 0 : errno;
  }
  /// As as_caller(), but the thread may keep the caller's identity afterwards. Code that then needs the server's rights
  /// must call act_as_server() first. This saves system calls if the same caller makes several changes in succession.
  template <class Call>
  int become_caller(const Caller& caller, Call call) const {
    if (!act_as(user(caller))) return identity_error();
    const int error = call() >= 0 ? 0 : errno;
    act_as_server_in_time();
    return error;
  }
  /// To be called after become_caller(), before a change is reported to the locator. A locator that remembers the
  /// places of files needs the server's rights, so the thread then takes the server's identity again.
  void prepare_to_remember() const noexcept {
    if (locator_->remembers()) act_as_server();
  }
  /// The uid of the files that `caller` owns: that of the server if this process serves all callers as itself.
  std::uint32_t owner(const Caller& caller) const noexcept { return owner_of_descriptors(caller).uid; }
  /// The permission bits (rwx) of the caller.
  StatusOr<std::uint32_t> rights(const Caller& caller, int fd, const NodeStat& stat) const;
  StatusOr<std::uint32_t> rights(const Caller& caller, const Node& node) const {
    return rights(caller, node.fd.get(), node.stat);
  }

  StatusOr<OpenFilePtr> open_data(const Caller& caller, const NodeKey& key, Use use);
  StatusOr<Fd> open_to_read(const Caller& caller, const Node& node) const;
  Status open_to_write(const Caller& caller, const Node& node, OpenFile& out) const;
  Status open_as(const Caller& caller, const Node& node, Use use, OpenFile& out);
  StatusOr<Fd> open_own(int fd, int flags);
  bool still_granted(const Caller& caller, const OpenFile& file, const Attributes& now) const noexcept;
  void keep_open(const Caller& caller, const NodeResult& made, Unsettled& created) noexcept;
  /// Returns the attributes of `file`, which is open for `use`. If the rights with which it was opened are not valid
  /// any more (still_granted()), opens it again for `caller` and replaces `file`. Fails with Status::stale if it has
  /// been removed.
  StatusOr<NodeStat> check_open(const Caller& caller, const NodeKey& key, Use use, OpenFilePtr& file);
  /// The result of a READ that has read `count` bytes of `file`, or has failed with `status`.
  ReadResult read_result(const Caller& caller, const NodeKey& node, OpenFilePtr& file, Status status,
                         std::uint64_t offset, std::size_t count);
  Status truncate(const Caller& caller, const NodeKey& key, std::uint64_t size);

  Status change(const Caller& caller, const NodeKey& key, const Node& node, const SetAttributes& changes,
                const std::optional<Time>& guard);
  /// Sets the owner, the group, the mode and the times that `changes` contains. Does not set the size.
  Status apply(const Caller& caller, int fd, const NodeStat& stat, const SetAttributes& changes) const;
  Status set_times(const Caller& caller, int fd, const NodeStat& stat, const SetAttributes& changes) const;

  /// Writes all names and attributes of the file system to the disk: by commit_changes() if that is possible, and
  /// otherwise by syncfs(2), which also writes all file data.
  Status flush_all();
  Watched watch(const NodeStat& stat);
  Status flush(const NodeFd& fd, FileType type, Watched watched, bool for_data = false);
  Status flush_directory(const Node& directory);
  /// Writes the changed `directory` to the disk, and then the object of `unsettled`, if it must be written separately.
  /// If the file system commits changes in order, then writes only the object, because the change of the directory
  /// precedes it. On an asynchronous export, writes nothing and succeeds.
  Status settle(const Caller& caller, const Node& directory, const Unsettled& unsettled);

  /// Runs `change` on the directory `key` while it holds the lock of the directory. Sets `wcc` to the attributes of the
  /// directory before and after the change. If `change` succeeds, runs settle() after it has released the lock, because
  /// settle() may wait for the disk.
  template <class Change>
  Status in_directory(const Caller& caller, const NodeKey& key, Wcc& wcc, Change change) {
    Unsettled unsettled;
    return in_directory(caller, key, wcc, unsettled, [&](const Node& node) { return change(node, unsettled); });
  }
  /// The same for a `change` that stores the object for settle() in `unsettled`, which the caller can use afterwards.
  template <class Change>
  Status in_directory(const Caller& caller, const NodeKey& key, Wcc& wcc, const Unsettled& unsettled, Change change) {
    std::unique_lock lock(lock_of(key));
    const auto directory = open_directory(key);
    if (!directory) return directory.error();
    const Status status = change(*directory);
    wcc = wcc_after(*directory, status == Status::ok);
    lock.unlock();
    return status == Status::ok ? settle(caller, *directory, unsettled) : status;
  }
  /// Returns the key and the attributes of the object to which `fd` refers. `name` is its name in `directory`, and is
  /// empty if the object is `directory` itself or its parent. If `stat` is given, it has the attributes.
  StatusOr<Found> found(const Node& directory, std::string_view name, int fd) const;
  StatusOr<Found> found(const Node& directory, std::string_view name, int fd, const NodeStat& stat) const;
  static Status fill(NodeResult& out, const StatusOr<Found>& found);
  StatusOr<Fd> open_as_caller(const Caller& caller, const Node& directory, std::string_view name) const;
  StatusOr<Fd> open_parent(const Caller& caller, const Node& directory) const;
  std::optional<StatusOr<Found>> find_at_once(const KeptNode& directory, const NodeStat& now, std::string_view name);
  StatusOr<Found> look_up(const Caller& caller, const Node& directory, std::string_view name, Time now);

  StatusOr<Found> complete_new(const Caller& caller, const Node& directory, std::string_view name, int fd,
                               NodeStat stat, const SetAttributes& rest) const;
  StatusOr<Found> finish_new(const Caller& caller, const Node& directory, std::string_view name,
                             const SetAttributes& attributes, bool exclusive, Unsettled& unsettled) const;
  /// Looks `name` up with the rights of the caller. Returns Status::ok if the name is free, Status::exist if it is
  /// taken, and otherwise the error of the lookup. A function that has another reason to refuse the new object
  /// reports it only if check_free() returns Status::ok, as open(2) and mkdir(2) do.
  Status check_free(const Caller& caller, const Node& directory, std::string_view name) const;
  Status check_new_file(const Caller& caller, const Node& directory, std::string_view name, const CreateHow& how) const;
  StatusOr<Found> open_existing(const Caller& caller, const Node& directory, std::string_view name,
                                const CreateHow& how, Unsettled& unsettled);
  StatusOr<Found> create_file(const Caller& caller, const Node& directory, std::string_view name,
                              const SetAttributes& attributes, Unsettled& unsettled);
  StatusOr<Found> create_exclusive(const Caller& caller, const Node& directory, std::string_view name,
                                   const Verifier& verifier, Unsettled& unsettled) const;
  StatusOr<Found> create_new(const Caller& caller, const Node& directory, std::string_view name, const CreateHow& how,
                             Unsettled& unsettled);
  /// Creates a file or, if `how` permits that, opens an existing one.
  StatusOr<Found> create_in(const Caller& caller, const Node& directory, std::string_view name, const CreateHow& how,
                            Unsettled& unsettled);
  template <class Make>
  NodeResult make_entry(const Caller& caller, const NodeKey& directory, std::string_view name,
                        const SetAttributes& attributes, Make make);

  ChangeResult unlink(const Caller& caller, const NodeKey& directory, std::string_view name, int flags);
  Status move(const Caller& caller, const Node& source, std::string_view from, const Node& target, std::string_view to);
  Unsettled moved_directory(const Node& target, std::string_view name) const;
  Status link_file(const Caller& caller, Node& file, const Node& directory, std::string_view name) const;
  void forget(const Node& directory, std::string_view name, const Victim& victim);
  void doubt(const Node& directory, std::string_view name);
  std::optional<Victim> before_unlink(const Node& directory, std::string_view name) const;
  std::optional<Victim> before_move(const Node& directory, std::string_view name) const;

  static void fill(DirectoryEntry& entry, const StatusOr<Found>& found);
  void fill_node(const Caller& caller, const NodeKey& key, const Node& directory, DirectoryEntry& entry);
  Status list(const Caller& caller, const NodeKey& key, const Node& directory, const DirectoryRequest& request,
              EntrySink& sink, DirectoryResult& result);

  Log log_;
  Fd root_;
  Fd readable_root_;
  NodeStat root_stat_;
  NodeKey root_key_;
  Limits limits_;
  std::unique_ptr<Locator> locator_;
  KeptNodes kept_;
  LateClose late_close_;
  std::atomic<std::uint64_t> verifier_;
  WriteBacks write_backs_;
  DescriptorCache descriptors_;
  DirectoryStreams streams_{64};
  std::array<std::mutex, 64> locks_;
  // A server without privilege locks this mutex while it changes the mode of a file. It acquires no other lock
  // meanwhile.
  mutable std::mutex modes_mutex_;
  std::atomic<bool> reads_at_once_{true};  // false once the file system has refused RWF_NOWAIT (tmpfs)
  const bool commits_in_order_;
  const bool forgets_inodes_;
  const bool local_;  // a file system whose objects can be kept; others may wait for another host or process
  const bool acts_;   // whether operations run with the identity of their caller; otherwise, with that of the server
  Identity itself_;   // the effective uid and gid of the server
};

}  // namespace rpcrdma::nfsd
