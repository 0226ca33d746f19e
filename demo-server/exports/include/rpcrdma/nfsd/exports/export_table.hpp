// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/nfsd/exports/export_spec.hpp"
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

/// A file system with the name under which clients mount it. Immutable: a new configuration makes a new Export, which
/// may share the file system of the old one.
struct Export : ExportPolicy {
  Export(const ExportSpec& spec, std::uint32_t number) : ExportPolicy(spec), id(number), name(spec.name) {}

  std::uint32_t id;
  std::string name;
  std::string source;  ///< identifies the directory or memory that is served
  std::shared_ptr<FileSystem> file_system;

  /// True if a call from `peer` may use this export.
  bool admits(const boost::asio::ip::tcp::endpoint& peer, bool over_tcp) const noexcept {
    return allows(peer.address()) && (!reserved_ports || !over_tcp || peer.port() < kFirstFreePort);
  }
  static constexpr std::uint16_t kFirstFreePort = 1024;  ///< a process needs privilege to bind a port below it
};

using ExportPtr = std::shared_ptr<const Export>;
/// The exports in the order of the configuration.
using ExportList = std::vector<ExportPtr>;

/// The exports of a server. The functions may be called on any thread, but only one thread at a time may run add() or
/// replace(). Calls in progress hold references to exports. The table must outlive the last of these references,
/// because the file systems of memory exports use its PageStore.
class ExportTable {
 public:
  /// The file data of all memory exports together takes at most `memory_bytes` (see PageStore).
  explicit ExportTable(std::size_t memory_bytes) : memory_bytes_(memory_bytes) {}

  /// Opens the export that `spec` describes, and adds it. Refused if it cannot be opened, or if its name or the
  /// identifier of its name is taken.
  Checked<void> add(const ExportSpec& spec, const std::filesystem::path& state_dir, const Log& log);
  /// Replaces all exports by `specs`; a file system that the old and the new exports share stays open. If one of
  /// `specs` is refused, nothing changes. May block: opens directories.
  Checked<void> replace(std::span<const ExportSpec> specs, const std::filesystem::path& state_dir, const Log& log);
  ExportPtr find(std::uint32_t id) const;
  ExportPtr find(std::string_view name) const;
  std::shared_ptr<const ExportList> all() const;
  /// Increases when the exports change. May be called on any thread; takes no lock.
  std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  /// Closes the file systems that are neither exported nor in use any more, and calls FileSystem::tidy() of each
  /// exported one. Call it every few seconds on a thread that may block.
  void tidy();

 private:
  Checked<ExportPtr> open(const ExportSpec& spec, const std::filesystem::path& state_dir, const Log& log);
  std::shared_ptr<FileSystem> open_memory(const ExportSpec& spec);

  std::size_t memory_bytes_;
  std::unique_ptr<PageStore> pages_;  // outlives the file systems
  mutable std::mutex mutex_;
  std::shared_ptr<const ExportList> exports_ = std::make_shared<ExportList>();
  // The exports that replace() has replaced. The list keeps a reference to each of them until only this reference is
  // left. tidy() then drops it, which may close the file system. Closing may block, so no event loop may do this.
  ExportList replaced_;
  std::atomic<std::uint64_t> generation_{0};
};

/// One thread's view of the table. The table must outlive the view. The view locks the table only when the exports have
/// changed.
class ExportView {
 public:
  explicit ExportView(const ExportTable& table) : table_(table) { refresh(); }

  /// Returns the export with this identifier or name, or a null pointer if there is none. The reference is valid until
  /// the next call of find() or all().
  const ExportPtr& find(std::uint32_t id) noexcept;
  const ExportPtr& find(std::string_view name) noexcept;
  const ExportList& all() noexcept;
  const ExportTable& table() const noexcept { return table_; }

 private:
  void refresh() noexcept;

  const ExportTable& table_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const ExportList> exports_;
};

}  // namespace rpcrdma::nfsd
