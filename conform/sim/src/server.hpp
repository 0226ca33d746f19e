// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/nfsd/service/mount_service.hpp"
#include "rpcrdma/nfsd/service/nfs_service.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/duplicate_cache.hpp"
#include "rpcrdma/rpc/reverse_client.hpp"
#include "service.hpp"
#include "stage.hpp"

namespace rpcrdma::sim {

/// One life of the server, from its start to its crash or end: all state that a process would lose.
class ServerLife {
 public:
  ServerLife(Stage& stage, const nfsd::ExportTable& exports, nfsd::IoPool& io, const nfsd::HandleSecret& secret,
             std::uint32_t credits);
  ~ServerLife();

  const std::shared_ptr<fabric::LoopbackFabric>& fabric() noexcept { return fabric_; }
  transport::Server* server() noexcept { return server_.get(); }
  memory::Pool& pool() noexcept { return pool_; }
  /// True while a handler of service.hpp has not answered, or waits for a reverse call.
  bool busy() const noexcept { return handlers_ != 0; }
  /// Closes the server. Calls in progress may complete until `limit` has passed. Runs `closed` when the server is
  /// closed.
  void close(std::chrono::milliseconds limit, UniqueFunction<void()> closed);
  /// Simulates a crash: the server loses its device and all connections, and is closed at once, with no time for its
  /// calls. Runs `closed` when the server is closed. If close() has been used before, the limit and the handler of
  /// close() apply instead.
  void crash(UniqueFunction<void()> closed);
  /// Destroys the transport server, and ends the waits of the handlers. Call this function after `closed` has been
  /// called, but not from within `closed`. Destroy this object only when spent() returns true.
  void end();
  bool ended() const noexcept { return server_ == nullptr; }
  bool closing() const noexcept { return closing_; }
  /// True when this object may be destroyed: some time after end(), when no call, handler or buffer refers to it any
  /// more.
  bool spent() const noexcept { return drain_.over() && handlers_ == 0 && pool_.counters().lent == 0; }

 private:
  void listen();
  void serve();
  void run(std::uint64_t token, std::string_view what);
  boost::asio::awaitable<void> once(rpc::ServerCall<Once> call);
  boost::asio::awaitable<void> store(rpc::ServerCall<Store> call);
  boost::asio::awaitable<void> fetch(rpc::ServerCall<Fetch> call);
  boost::asio::awaitable<void> watch(rpc::ServerCall<Watch> call);
  boost::asio::awaitable<void> ping(rpc::ReverseClient client, std::uint64_t token);

  struct Running;

  Stage& stage_;
  std::shared_ptr<fabric::LoopbackFabric> fabric_;
  memory::Pool pool_;
  nfsd::MountTable mounts_;
  rpc::DuplicateCache duplicates_;
  nfsd::NfsService nfs_;
  nfsd::MountService mount_;
  rpc::Dispatcher dispatcher_;
  Waits waits_;
  std::uint32_t handlers_ = 0;  // coroutines that refer to this object
  bool closing_ = false;
  Drain drain_;
  std::unique_ptr<transport::Server> server_;
};

}  // namespace rpcrdma::sim
