// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The server's services over the transport, on a loopback network, and a typed client.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/nfsd/program/fabric_worker.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/nfs3.hpp"
#include "support/run.hpp"

namespace rpcrdma::nfsd {

namespace nfs3 = rpc::nfs3;
namespace mount3 = rpc::mount3;

template <class T>
struct Reply {
  error_code status;
  rpc::Decoded<T> value;
  const T* operator->() const { return &*value; }
};

/// A server with the exports of a test, and a connected client. The test parameter is "memory" or "disk".
class Served : public ::testing::TestWithParam<const char*> {
 protected:
  Served();
  ~Served() override;

  bool in_memory() const { return std::string_view(GetParam()) == "memory"; }
  /// Returns the export that `--export` makes from `name` and `options`, for the back end under test.
  ExportSpec spec_of(const std::string& name, const std::string& options);
  /// Adds an export with `options`. start() adds the writable export "/data".
  void add_export(const std::string& name, const std::string& options);
  void start();
  void reconnect();

  template <rpc::Procedure P>
  Reply<typename P::Result> call(const typename P::Args& args, const rpc::CallOptions& options = {}) {
    Reply<typename P::Result> reply;
    bool done = false;
    client_->async_call<P>(args, options, [&](error_code status, rpc::Decoded<typename P::Result> value) {
      reply = {status, std::move(value)};
      done = true;
    });
    EXPECT_TRUE(test::run_until(context_, [&] { return done; }));
    EXPECT_FALSE(reply.status) << P::kInfo.name << ": " << reply.status.message();
    return reply;
  }

  Reply<mountres3> mount(std::string_view path);
  nfs_fh3 root(std::string_view path = "/data");
  /// Creates a file with `content`; returns its handle.
  nfs_fh3 create(const nfs_fh3& directory, std::string_view name, std::string_view content = {});
  nfs_fh3 mkdir(const nfs_fh3& directory, std::string_view name);
  LOOKUP3res lookup(const nfs_fh3& directory, std::string_view name);
  fattr3 stat(const nfs_fh3& object);
  /// Writes from registered memory or from plain bytes; large registered data uses a Read chunk.
  WRITE3res write(const nfs_fh3& file, std::uint64_t offset, std::string_view data, bool registered,
                  stable_how stable = UNSTABLE);
  /// Reads into registered memory; a large result uses a Write chunk.
  std::string read(const nfs_fh3& file, std::uint64_t offset, std::uint32_t count, bool& eof);
  static diropargs3 in(const nfs_fh3& directory, std::string_view name) {
    diropargs3 args{directory, {}};
    args.name.set(name);
    return args;
  }
  const std::filesystem::path& disk() const { return disk_; }

  boost::asio::io_context context_;
  fabric::LoopbackNetwork network_{context_};
  std::filesystem::path disk_;
  std::filesystem::path state_;
  ExportTable exports_{std::size_t{64} << 20};
  MountTable mounts_;
  rpc::DuplicateCache duplicates_;
  HandleSecret secret_{std::byte{1}};
  IoPool io_{3, secret_};
  SharedServices shared_{exports_, io_, mounts_, duplicates_, secret_};
  fabric::LoopbackFabric* server_fabric_ = nullptr;  // owned by worker_
  std::unique_ptr<FabricWorker> worker_;
  transport::ServerOptions server_options_;
  std::unique_ptr<transport::Server> server_;
  fabric::Endpoint endpoint_;
  std::unique_ptr<fabric::LoopbackFabric> client_fabric_;
  std::unique_ptr<memory::Pool> client_pool_;
  std::unique_ptr<transport::Client> connection_;
  std::unique_ptr<rpc::Client> client_;
  rpc::ClientOptions client_options_;
};

inline std::string pattern(std::size_t size, unsigned seed = 1) {
  std::string text(size, '\0');
  std::uint32_t state = seed * 2654435761u + 1;
  for (char& c : text) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

}  // namespace rpcrdma::nfsd
