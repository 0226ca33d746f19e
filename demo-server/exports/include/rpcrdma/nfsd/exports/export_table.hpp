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

/// A file system with a name under which clients mount it. Does not change: a new configuration makes a new one,
/// perhaps on the same file system.
struct Export : ExportPolicy {
  Export(const ExportSpec& spec, std::uint32_t number) : ExportPolicy(spec), id(number), name(spec.name) {}

  std::uint32_t id;
  std::string name;
  std::string source;  ///< what the file system was opened on, to know it again
  std::shared_ptr<FileSystem> file_system;

  /// Whether a call from `peer` may name this export at all.
  bool admits(const boost::asio::ip::tcp::endpoint& peer, bool over_tcp) const noexcept {
    return allows(peer.address()) && (!reserved_ports || !over_tcp || peer.port() < kFirstFreePort);
  }
  static constexpr std::uint16_t kFirstFreePort = 1024;  ///< below it, only root of the client's machine may bind
};

using ExportPtr = std::shared_ptr<const Export>;
/// In the order of the configuration.
using ExportList = std::vector<ExportPtr>;

/// The exports of a server. Synchronized; outlives the exports, which are shared by the calls under way.
class ExportTable {
 public:
  /// Memory exports hold `memory_octets` at most, together.
  explicit ExportTable(std::size_t memory_octets) : memory_octets_(memory_octets) {}

  /// Opens what `spec` names, in addition. False and the reason in `why` if that fails, or if the name is taken.
  bool add(const ExportSpec& spec, const std::filesystem::path& state_dir, const Log& log, std::string& why);
  /// These and no others from now on; what was open stays open if it is named again. False, the reason in `why`
  /// and no change at all if one of them cannot be had. May block: it opens directories.
  bool replace(std::span<const ExportSpec> specs, const std::filesystem::path& state_dir, const Log& log,
               std::string& why);
  ExportPtr find(std::uint32_t id) const;
  ExportPtr find(std::string_view name) const;
  std::shared_ptr<const ExportList> all() const;
  /// Changes with the exports. Any thread, without a lock.
  std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  /// Calls FileSystem::tidy() of all.
  void tidy() const;

 private:
  ExportPtr open(const ExportSpec& spec, const std::filesystem::path& state_dir, const Log& log, std::string& why);
  std::shared_ptr<FileSystem> open_memory(const ExportSpec& spec);

  std::size_t memory_octets_;
  std::unique_ptr<PageStore> pages_;  // outlives the file systems
  mutable std::mutex mutex_;
  std::shared_ptr<const ExportList> exports_ = std::make_shared<ExportList>();
  std::atomic<std::uint64_t> generation_{0};
};

/// One thread's sight of the table, which outlives it: takes the lock only when the exports have changed.
class ExportView {
 public:
  explicit ExportView(const ExportTable& table) : table_(table) { refresh(); }

  /// Null if there is none.
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
