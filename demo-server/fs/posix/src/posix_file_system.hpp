// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "acting.hpp"
#include "descriptor_cache.hpp"
#include "directory_stream.hpp"
#include "late_close.hpp"
#include "locator.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"
#include "system.hpp"
#include "write_backs.hpp"

namespace rpcrdma::nfsd {

class PosixFileSystem final : public FileSystem {
 public:
  PosixFileSystem(Fd root, Fd readable_root, const NodeStat& stat, const PosixOptions& options, Log log);
  /// Chooses between the two locators.
  Status start(const PosixOptions& options);

  bool blocking() const noexcept override { return true; }
  NodeKey root() const override { return root_key_; }
  Limits limits() const noexcept override { return limits_; }
  Verifier write_verifier() const noexcept override;
  void tidy() override;

  AttributesResult attributes(const NodeKey& node) override;
  AccessResult access(const Caller& caller, const NodeKey& node, std::uint32_t wanted) override;
  ChangeResult set_attributes(const Caller& caller, const NodeKey& node, const SetAttributes& changes,
                              const std::optional<Time>& guard) override;
  NodeResult lookup(const Caller& caller, const NodeKey& directory, std::string_view name) override;
  ReadlinkResult read_link(const NodeKey& node) override;
  ReadResult read(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                  std::span<const BufferRef> into) override;
  std::optional<ReadResult> read_at_once(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                                         std::span<const BufferRef> into) override;
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
  /// An open directory, before a change to it.
  struct Directory {
    Fd fd;
    NodeStat before;
  };

  /// An object changed after its directory was; perhaps none.
  struct Unsettled {
    Fd fd;
    FileType type = FileType::regular;
  };

  /// A file before a change, and how often write-back of it had failed.
  struct Watched {
    std::shared_ptr<WriteBack> file;
    std::uint64_t failures = 0;
  };

  /// What is known of an object that is about to lose a name; without a key nothing.
  struct Victim {
    Fd fd;  ///< of one with several names
    NodeStat stat;
    NodeKey key;
  };

  /// Serializes changes of one object by this server, so that "before" and "after" enclose one change.
  std::mutex& lock_of(const NodeKey& node) noexcept;
  Status open_directory(const NodeKey& key, Directory& out);
  bool is_top(const Directory& directory) const noexcept { return same_object(directory.before, root_stat_); }
  Status refresh(Directory& directory) { return stat_fd(directory.fd.get(), directory.before); }
  Wcc wcc_after(const Directory& directory, bool changed) const;
  void touch_inode(int fd, NodeStat& stat) const;
  /// Whom the thread acts as for a caller; null when this process cannot, and serves all as itself.
  const Identity* user(const Caller& caller) const noexcept { return acts_ ? &caller : nullptr; }
  /// Who owns cached descriptors: all callers have them in common when all are served as the server.
  const Identity& owner_of_descriptors(const Caller& caller) const noexcept { return acts_ ? caller : itself_; }
  bool is_root(const Caller& caller) const noexcept { return (acts_ ? caller.uid : itself_.uid) == 0; }
  /// Runs a system call as the caller; its error, or 0.
  template <class Call>
  int as_caller(const Caller& caller, Call call) const {
    const ActingAs acting(user(caller));
    if (!acting) return EACCES;
    return call() >= 0 ? 0 : errno;
  }
  /// Permission bits (rwx) of the caller.
  Status rights(const Caller& caller, int fd, const NodeStat& stat, std::uint32_t& out) const;
  Status open_data(const Caller& caller, const NodeKey& key, Use use, std::shared_ptr<const OpenFile>& out);
  Status open_to_read(const Caller& caller, int fd, const NodeStat& stat, Fd& out) const;
  Status open_to_write(const Caller& caller, int fd, Fd& out, bool& readable) const;
  Status open_as(const Caller& caller, int fd, const NodeStat& stat, Use use, OpenFile& out);
  Status open_own(int fd, int flags, Fd& out);
  bool still_granted(const OpenFile& file, const Attributes& now) const noexcept;
  /// For a server without privilege: holds on to the descriptor of a new file, against its mode.
  void keep_open(const Caller& caller, const NodeKey& key, Fd fd);
  /// Reads the attributes of an open file, which is opened anew if its permissions have changed since.
  Status check_open(const Caller& caller, const NodeKey& key, Use use, std::shared_ptr<const OpenFile>& file,
                    NodeStat& stat);
  Status truncate(const Caller& caller, const NodeKey& key, std::uint64_t size);
  /// Changes all but the size.
  Status apply(const Caller& caller, int fd, const NodeStat& stat, const SetAttributes& changes);
  Status set_times(const Caller& caller, int fd, const NodeStat& stat, const SetAttributes& changes);
  /// All names and attributes, and perhaps all data with them.
  Status flush_all();
  Watched watch(const NodeStat& stat);
  Status flush(int fd, FileType type, Watched watched);
  /// Brings a changed directory, and what was changed in it, to the disk, unless the export is asynchronous.
  Status settle(const Caller& caller, const Directory& directory, const Unsettled& unsettled);
  /// Fills the result for the object that is now `name` in `directory`.
  void found(const Directory& directory, std::string_view name, int fd, NodeResult& out);
  NodeResult finish_new(const Caller& caller, const Directory& directory, std::string_view name,
                        const SetAttributes& attributes, Unsettled& unsettled);
  Status open_existing(const Caller& caller, const Directory& directory, std::string_view name, const CreateHow& how,
                       NodeResult& out, Unsettled& unsettled);
  /// Whether the name is free, as far as the caller may see (Status::exist, Status::acces): which goes before all else
  /// that keeps a new object from being made, as with open(2) and mkdir(2).
  Status check_free(const Caller& caller, const Directory& directory, std::string_view name) const;
  Status check_new_file(const CreateHow& how) const noexcept;
  struct VerifierTimes;
  Status create_whole(const Caller& caller, const Directory& directory, std::string_view name,
                      const VerifierTimes& times, bool& done, Unsettled& unsettled);
  Status create_file(const Caller& caller, const Directory& directory, std::string_view name, const CreateHow& how,
                     NodeResult& out, Unsettled& unsettled);
  template <class Make>
  NodeResult make_entry(const Caller& caller, const NodeKey& directory, std::string_view name,
                        const SetAttributes& attributes, Make make);
  ChangeResult unlink(const Caller& caller, const NodeKey& directory, std::string_view name, int flags);
  Status move(const Caller& caller, const Directory& source, std::string_view from, const Directory& target,
              std::string_view to);
  void moved_folder(const Directory& target, std::string_view name, Unsettled& unsettled) const;
  void forget(const Directory& directory, std::string_view name, const Victim& victim);
  void before_unlink(const Directory& directory, std::string_view name, Victim& out);
  void fill_node(const Directory& directory, DirectoryEntry& entry);
  Status open_parent(const Caller& caller, const Directory& directory, Fd& out) const;
  void fill_dot_dot(const Caller& caller, const Directory& directory, DirectoryEntry& entry, bool want_node);

  Log log_;
  Fd root_;
  Fd readable_root_;
  NodeStat root_stat_;
  NodeKey root_key_;
  Limits limits_;
  std::unique_ptr<Locator> locator_;
  LateClose late_close_;
  std::atomic<std::uint64_t> verifier_;
  WriteBacks write_backs_;
  DescriptorCache descriptors_;
  DirectoryStreams streams_{64};
  std::array<std::mutex, 64> locks_;
  std::mutex modes_mutex_;                 // changes of modes, by a server without privilege; the innermost lock
  std::atomic<bool> reads_at_once_{true};  // until the file system says that it cannot tell (tmpfs)
  const bool commits_in_order_;
  const bool forgets_inodes_;
  const bool acts_;  // on behalf of others
  Identity itself_;
};

}  // namespace rpcrdma::nfsd
