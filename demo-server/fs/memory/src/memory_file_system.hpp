// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <mutex>
#include <unordered_map>

#include "node.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"
#include "rpcrdma/nfsd/memory/memory_file_system.hpp"
#include "rpcrdma/nfsd/memory/paged_data.hpp"

namespace rpcrdma::nfsd {

/// One lock over everything; it is never held while data moves over a network.
class MemoryFileSystem final : public FileSystem, public PagedData {
 public:
  MemoryFileSystem(PageStore& pages, const MemoryOptions& options);

  bool blocking() const noexcept override { return false; }
  NodeKey root() const override { return key_of(kRoot); }
  Limits limits() const noexcept override;
  Verifier write_verifier() const noexcept override { return instance_; }
  PagedData* paged() noexcept override { return this; }

  AttributesResult attributes(const NodeKey& node) override;
  AccessResult access(const Caller& caller, const NodeKey& node, std::uint32_t wanted) override;
  ChangeResult set_attributes(const Caller& caller, const NodeKey& node, const SetAttributes& changes,
                              const std::optional<Time>& guard) override;
  NodeResult lookup(const Caller& caller, const NodeKey& directory, std::string_view name) override;
  ReadlinkResult read_link(const NodeKey& node) override;
  ReadResult read(const Caller& caller, const NodeKey& node, std::uint64_t offset,
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

  ReadResult read_pages(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                        PageRun& out) override;
  Status prepare_write(const Caller& caller, const NodeKey& node, std::uint64_t offset, std::uint32_t count,
                       PageRun& out) override;
  WriteResult commit_write(const NodeKey& node, std::uint64_t offset, PageRun& run, Stable stable) override;

 private:
  static constexpr std::uint64_t kRoot = 1;
  static constexpr std::uint64_t kMaxFileSize = std::uint64_t{1} << 62;
  static constexpr std::uint32_t kMaxLinks = 65000;

  // All below with the lock held.
  NodeKey key_of(std::uint64_t number) const;
  Status find(const NodeKey& key, MemoryNode*& out);
  Status find_directory(const NodeKey& key, MemoryNode*& out);
  Status find_file(const NodeKey& key, MemoryNode*& out);
  MemoryNode& at(std::uint64_t number) { return *nodes_.at(number); }
  /// Later than any time given out before, so that every change shows.
  Time now();
  void touch(MemoryNode& node);           // data or names changed
  void touch_metadata(MemoryNode& node);  // only attributes
  /// For the data of a WRITE, by the export's size.
  bool has_room(const MemoryNode& node, std::uint64_t offset, std::uint32_t count) const;
  Status check_room(std::size_t text) const;
  /// Whether the caller has all of these permission bits (rwx).
  static Status check(const Caller& caller, const MemoryNode& node, std::uint32_t bits) noexcept;
  static Status check_names(const Caller& caller, const MemoryNode& directory) noexcept;
  static Status check_removal(const Caller& caller, const MemoryNode& directory, const MemoryNode& node) noexcept;
  static Status check_data(const Caller& caller, const MemoryNode& node, std::uint32_t bit) noexcept;
  static Status check_rights(const Caller& caller, const MemoryNode& node, const SetAttributes& changes) noexcept;
  static void strip_group(const Caller& caller, Attributes& attributes) noexcept;
  static void strip_set_ids(const Caller& caller, Attributes& attributes) noexcept;
  static void strip_after_write(const Caller& caller, MemoryNode& node) noexcept;
  MemoryNode& add_node(FileType type, const Caller& caller, const MemoryNode* parent, const SetAttributes& attributes);
  Status resize(const Caller& caller, MemoryNode& node, std::uint64_t size);
  void apply(const Caller& caller, MemoryNode& node, const SetAttributes& changes);
  Status change(const Caller& caller, MemoryNode& node, const SetAttributes& changes);
  /// A new object under a free name.
  NodeResult make_entry(const Caller& caller, const NodeKey& directory, std::string_view name, FileType type,
                        std::string_view target, Device device, const SetAttributes& attributes);
  Status existing(const Caller& caller, MemoryNode& node, const CreateHow& how);
  void fill(NodeResult& out, const MemoryNode& node);
  void unlink(MemoryNode& directory, std::string_view name, MemoryNode& node);
  bool is_below(std::uint64_t number, std::uint64_t ancestor);
  Status check_replace(const MemoryNode& moved, const MemoryNode& target) const;
  Status check_move(const Caller& caller, const MemoryNode& from, const MemoryNode& to, const MemoryNode& moved,
                    std::optional<std::uint64_t> old);
  void move(MemoryNode& from, std::string_view from_name, MemoryNode& to, std::string_view to_name, MemoryNode& moved);

  PageStore& pages_;
  MemoryOptions options_;
  Verifier instance_;
  std::mutex mutex_;
  std::uint64_t used_pages_ = 0;  // of all files below
  std::unordered_map<std::uint64_t, std::unique_ptr<MemoryNode>> nodes_;
  std::uint64_t next_number_ = kRoot;
  std::size_t text_ = 0;
  Time last_{};
};

}  // namespace rpcrdma::nfsd
