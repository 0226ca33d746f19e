// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/ip/address.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/nfsd/exports/export_spec.hpp"
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"

namespace rpcrdma::nfsd {

/// A file system with a name under which clients mount it.
struct Export {
  std::uint32_t id = 0;
  std::string name;
  bool read_only = false;
  std::vector<Cidr> allow;
  std::unique_ptr<FileSystem> file_system;
  PageStore* pages = nullptr;  ///< of a memory export

  bool allows(const boost::asio::ip::address& peer) const noexcept;
};

/// The exports of a server. Filled before the first call, then read by all threads.
class ExportTable {
 public:
  explicit ExportTable(std::size_t memory_octets) : memory_octets_(memory_octets) {}

  /// Opens what `spec` names. False and the reason in `why` if that fails, or if the name is taken.
  bool add(const ExportSpec& spec, const std::filesystem::path& state_dir, Log log, std::string& why);
  const Export* find(std::uint32_t id) const noexcept;
  const Export* find(std::string_view name) const noexcept;
  const std::vector<std::unique_ptr<Export>>& all() const noexcept { return exports_; }
  /// Calls FileSystem::tidy() of all.
  void tidy() const;

 private:
  std::size_t memory_octets_;
  std::unique_ptr<PageStore> pages_;  // outlives the file systems
  std::vector<std::unique_ptr<Export>> exports_;
};

}  // namespace rpcrdma::nfsd
