// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A server for tests of the NFS client. It uses the transport, the RPC layer and the XDR routines of the library on the
// loopback fabric. The test supplies the result of each procedure.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/nfs3.hpp"

namespace rpcrdma::nfs {

namespace nfs3 = rpc::nfs3;
namespace mount3 = rpc::mount3;

/// Converts a small number to a handle, and back.
nfs_fh3 handle_of(std::uint8_t number);
std::uint8_t number_of(const nfs_fh3& handle);
FileHandle file_of(std::uint8_t number);
post_op_attr attributes_of_type(ftype3 type, std::uint64_t size = 0, std::uint32_t mode = 0644);

/// Serves on the thread of `context`. Set the replies first, then run a test's coroutine with run().
class ScriptedServer {
 public:
  explicit ScriptedServer(boost::asio::io_context& context);
  ~ScriptedServer();

  /// Serves a procedure without bulk arguments: `answer` returns the result. Memory that the result points to must
  /// outlive the call.
  template <rpc::Procedure P>
  void on(std::function<typename P::Result(const typename P::Args&)> answer) {
    dispatcher_.on<P>([answer = std::move(answer)](rpc::ServerCall<P> call) {
      const typename P::Result result = answer(call.args());
      call.reply(result);
    });
  }
  /// Serves WRITE; `answer` also receives the data.
  void on_write(std::function<WRITE3res(const WRITE3args&, std::string data)> answer);

  fabric::LoopbackNetwork& network() noexcept { return network_; }
  /// Connects a client and runs `body`; fails the test if this takes more than five minutes. Throws what `body` throws,
  /// or an exception if the client cannot connect.
  void run(const std::function<boost::asio::awaitable<void>(Client&)>& body, ClientOptions options = {});

 private:
  void listen();
  boost::asio::awaitable<void> write(rpc::ServerCall<nfs3::Write> call);

  boost::asio::io_context& context_;
  fabric::LoopbackNetwork network_;
  std::unique_ptr<fabric::LoopbackFabric> fabric_;
  memory::Pool pool_;
  rpc::Dispatcher dispatcher_;
  std::unique_ptr<transport::Server> server_;
  std::function<WRITE3res(const WRITE3args&, std::string)> write_;
  std::uint16_t port_ = 0;
};

/// READDIRPLUS results that own their memory.
class Listing {
 public:
  Listing& add(std::string name, std::uint64_t cookie, ftype3 type, std::uint8_t handle);
  /// Adds an entry without attributes and handle.
  Listing& add_bare(std::string name, std::uint64_t cookie);
  READDIRPLUS3res result(bool eof);

 private:
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<entryplus3> entries_;
};

}  // namespace rpcrdma::nfs
