// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"

namespace rpcrdma::nfsd {

/// Who has mounted what: only for DUMP to tell, lost at a restart, bounded (the oldest goes). Synchronized.
class MountTable {
 public:
  struct Mount {
    std::string host;
    std::string path;
  };
  void add(std::string host, std::string path);
  void remove(const std::string& host, std::string_view path);
  void remove_all(const std::string& host);
  std::vector<Mount> all() const;

 private:
  mutable std::mutex mutex_;
  std::list<Mount> mounts_;
};

/// MOUNT version 3 (RFC 1813 section 5), for one thread. MNT takes the exact name of an export.
class MountService {
 public:
  /// `exports` and `mounts` are shared by all threads and outlive the service.
  MountService(const ExportTable& exports, MountTable& mounts, const HandleSecret& secret, Log log)
      : exports_(exports), mounts_(mounts), codec_(secret), log_(std::move(log)) {}

  /// Adds the procedures; the service outlives the dispatcher's last call.
  void add_to(rpc::Dispatcher& dispatcher);

 private:
  const ExportTable& exports_;
  MountTable& mounts_;
  HandleCodec codec_;
  Log log_;
};

}  // namespace rpcrdma::nfsd
