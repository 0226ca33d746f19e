// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <atomic>
#include <mutex>

#include "posix/descriptor_cache.hpp"
#include "posix/directory_stream.hpp"
#include "posix/locator.hpp"
#include "posix/system.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {

class PosixFileSystem final : public FileSystem {
 public:
  PosixFileSystem(Fd root, const NodeStat& stat, const PosixOptions& options, Log log);
  /// Chooses between the two locators.
  Status start(const PosixOptions& options);

  bool blocking() const noexcept override { return true; }
  NodeKey root() const override { return root_key_; }
  Limits limits() const noexcept override { return limits_; }
  Verifier write_verifier() const noexcept override;
  void tidy() override;

  AttributesResult attributes(const NodeKey& node) override;
  ChangeResult set_attributes(const Caller& caller, const NodeKey& node, const SetAttributes& changes,
                              const std::optional<Time>& guard) override;
  NodeResult lookup(const Caller& caller, const NodeKey& directory, std::string_view name) override;
  ReadlinkResult read_link(const NodeKey& node) override;
  ReadResult read(const Caller& caller, const NodeKey& node, std::uint64_t offset,
                  std::span<const BufferRef> into) override;
  WriteResult write(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::span<const BufferRef> from,
                    Stable stable) override;
  ChangeResult commit(const NodeKey& node, std::uint64_t offset, std::uint32_t count) override;
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
  DirectoryResult read_directory(const NodeKey& directory, const DirectoryRequest& request, EntrySink sink) override;
  StatisticsResult statistics(const NodeKey& node) override;

 private:
  /// An open directory, before a change to it.
  struct Directory {
    Fd fd;
    NodeStat before;
    std::uint64_t number() const noexcept { return before.attributes.fileid; }
  };

  /// Serializes changes of one object by this server, so that "before" and "after" enclose one change.
  std::mutex& lock_of(const NodeKey& node) noexcept;
  Status open_directory(const NodeKey& key, Directory& out);
  Status refresh(Directory& directory) { return stat_fd(directory.fd.get(), directory.before); }
  Wcc wcc_after(const Directory& directory) const;
  Status open_data(const NodeKey& key, bool writable, std::shared_ptr<const OpenFile>& out);
  Status sync(const OpenFile& file, Stable stable);
  Status truncate(const NodeKey& key, std::uint64_t size);
  Status apply(int fd, const NodeKey& key, const SetAttributes& changes, FileType type);
  Status give_to(int fd, const Directory& parent, const Caller& caller, const SetAttributes& attributes,
                 std::optional<std::uint32_t> mode);
  /// Fills the result for the object that is now `name` in `directory`.
  void found(const Directory& directory, std::string_view name, int fd, NodeResult& out);
  NodeResult finish_new(const Directory& directory, std::string_view name, const Caller& caller,
                        const SetAttributes& attributes, std::optional<std::uint32_t> mode);
  Status open_existing(const Directory& directory, std::string_view name, const CreateHow& how, NodeResult& out);
  Status create_file(const Directory& directory, std::string_view name, const Caller& caller, const CreateHow& how,
                     NodeResult& out);
  template <class Make>
  NodeResult make_entry(const Caller& caller, const NodeKey& directory, std::string_view name,
                        const SetAttributes& attributes, std::optional<std::uint32_t> mode, Make make);
  ChangeResult unlink(const NodeKey& directory, std::string_view name, int flags);
  /// Forgets descriptors of what is about to lose its last name.
  void before_unlink(const Directory& directory, std::string_view name, NodeStat& stat, NodeKey& key);
  void fill_node(const Directory& directory, DirectoryEntry& entry);
  void fill_dot_dot(const Directory& directory, DirectoryEntry& entry, bool want_node);

  Log log_;
  Fd root_;
  std::uint64_t root_number_;
  NodeKey root_key_;
  Limits limits_;
  std::unique_ptr<Locator> locator_;
  DescriptorCache descriptors_;
  DirectoryStreams streams_{64};
  std::array<std::mutex, 64> locks_;
  std::atomic<std::uint64_t> verifier_;
  const bool may_give_away_;  // CAP_CHOWN, as far as the effective uid tells
};

}  // namespace rpcrdma::nfsd
