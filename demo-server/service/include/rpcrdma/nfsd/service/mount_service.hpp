// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"
#include "rpcrdma/nfsd/service/io_pool.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/mount3.hpp"

namespace rpcrdma::nfsd {

/// The mounts that DUMP reports. The table is kept only in memory, so a restart of the server empties it. add() removes
/// the oldest mounts if the table exceeds a fixed number of mounts, or if the reply to DUMP would exceed
/// mount3::kMaxList bytes. The functions may be called on any thread.
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

/// MOUNT version 3 (RFC 1813 section 5), for one thread. MNT accepts the name of an export. Over TCP it also accepts
/// the path of a directory below an export, as most clients expect. Over RDMA it refuses such a path with
/// MNT3ERR_NOENT, because rpcrdma-nfs tries shorter and shorter prefixes of a path with MNT until one names an export.
class MountService {
 public:
  /// `exports`, `io` and `mounts` are shared by all threads and must outlive the service.
  MountService(const ExportTable& exports, IoPool& io, MountTable& mounts, const HandleSecret& secret, Log log)
      : exports_(exports), io_(io), mounts_(mounts), codec_(secret), log_(std::move(log)) {}

  /// Adds the procedures of MOUNT to `dispatcher`. The service must outlive every call that `dispatcher` passes to it.
  void add_to(rpc::Dispatcher& dispatcher);
  /// Releases exports that have been removed.
  void refresh() { exports_.all(); }

 private:
  using MntCall = rpc::ServerCall<rpc::mount3::Mnt>;
  using DumpCall = rpc::ServerCall<rpc::mount3::Dump>;
  using ExportCall = rpc::ServerCall<rpc::mount3::Export>;
  void mount(MntCall call);
  void mount_below(MntCall call, ExportPtr exported, std::string_view rest);
  void dump(DumpCall call);
  void list_exports(ExportCall call);
  bool refuse(MntCall& call, const ExportPtr& exported);

  ExportView exports_;
  IoPool& io_;
  MountTable& mounts_;
  HandleCodec codec_;
  Log log_;
  LogLimit refusals_;
};

}  // namespace rpcrdma::nfsd
