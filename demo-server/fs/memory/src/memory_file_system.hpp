// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <mutex>
#include <unordered_map>

#include "node.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"
#include "rpcrdma/nfsd/fs/status_or.hpp"
#include "rpcrdma/nfsd/memory/memory_file_system.hpp"
#include "rpcrdma/nfsd/memory/paged_data.hpp"

namespace rpcrdma::nfsd {

/// A file system in memory. One lock protects everything; it is never held while data moves over the network.
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
  // Memory of an object, and of a name without its text. Both numbers include the nodes of the maps.
  static constexpr std::uint64_t kObjectBytes = sizeof(MemoryNode) + 64;
  static constexpr std::uint64_t kNameBytes = sizeof(MemoryDirectory::Entry) + 128;

  // The caller of the functions below must hold mutex_. There are two exceptions. key_of() does not need the mutex. A
  // function whose comment says that it takes the lock must be called without the lock.
  NodeKey key_of(std::uint64_t number) const;
  StatusOr<MemoryNode*> find(const NodeKey& key);
  StatusOr<MemoryNode*> find_directory(const NodeKey& key);
  /// As find(), but fails if the object is not a regular file: with Status::isdir for a directory, and with
  /// Status::inval for an object of another type.
  StatusOr<MemoryNode*> find_file(const NodeKey& key);
  /// The attributes of an object, whatever its type: for the reply to a request that requires another type.
  std::optional<Attributes> attributes_of(const NodeKey& key);
  /// Runs `change` on a directory. Sets `wcc` to the attributes of the directory before and after the change.
  template <class Change>
  Status in_directory(const NodeKey& key, Wcc& wcc, Change change) {
    const auto directory = find_directory(key);
    if (!directory) return directory.error();
    wcc.before = wcc_of((*directory)->attributes());
    const Status status = change(**directory);
    wcc.after = (*directory)->attributes();
    return status;
  }
  MemoryNode& at(std::uint64_t number) { return *nodes_.at(number); }
  /// A time later than any returned before, so that every change is visible.
  Time now();
  void touch(MemoryNode& node);           // data or names changed
  void touch_metadata(MemoryNode& node);  // only attributes changed
  /// How much of the export's size is used, in bytes: pages of data, objects, names and link targets.
  std::uint64_t used() const noexcept { return used_pages_ * kPageSize + metadata_; }
  /// True if the size limit of the export leaves room for the pages that a WRITE of `count` bytes at `offset` would add
  /// to the file.
  bool has_room(const MemoryNode& node, std::uint64_t offset, std::uint32_t count) const;
  /// Checks that `metadata` more bytes of objects, names and link targets fit.
  Status check_room(std::uint64_t metadata) const;
  /// Checks that the caller has all of these permission bits (rwx).
  static Status check(const Caller& caller, const MemoryNode& node, std::uint32_t bits) noexcept;
  static Status check_names(const Caller& caller, const MemoryNode& directory) noexcept;
  /// Checks the name of a new object: it must be valid and free, and the caller must be permitted to search the
  /// directory.
  static Status check_new(const Caller& caller, const MemoryNode& directory, std::string_view name) noexcept;
  /// Returns the object `name` in `directory`. Fails if there is none, or if the caller may not search the directory.
  StatusOr<MemoryNode*> named(const Caller& caller, const MemoryNode& directory, std::string_view name);
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
  struct NewObject {
    FileType type = FileType::regular;
    std::string_view target;
    Device device;
  };
  Status check_make(const Caller& caller, const MemoryNode& directory, std::string_view name, const NewObject& object,
                    const SetAttributes& attributes) const;
  StatusOr<MemoryNode*> make_in(const Caller& caller, MemoryNode& directory, std::string_view name,
                                const NewObject& object, const SetAttributes& attributes);
  /// Makes an object with a name that is free. Takes the lock.
  NodeResult make_entry(const Caller& caller, const NodeKey& directory, std::string_view name, const NewObject& object,
                        const SetAttributes& attributes);
  StatusOr<MemoryNode*> create_in(const Caller& caller, MemoryNode& directory, std::string_view name,
                                  const CreateHow& how);
  Status existing(const Caller& caller, MemoryNode& node, const CreateHow& how);
  void fill(NodeResult& out, const MemoryNode& node);
  Status fill(NodeResult& out, const StatusOr<MemoryNode*>& node);
  Status add_link(const Caller& caller, MemoryNode& directory, std::string_view name, MemoryNode& node);
  Status rename_in(const Caller& caller, MemoryNode& from, std::string_view from_name, MemoryNode& to,
                   std::string_view to_name);
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
  std::uint64_t used_pages_ = 0;  // pages of all files
  std::unordered_map<std::uint64_t, std::unique_ptr<MemoryNode>> nodes_;
  std::uint64_t next_number_ = kRoot;
  std::uint64_t metadata_ = 0;  // bytes of objects, names and link targets
  Time last_{};
};

}  // namespace rpcrdma::nfsd
