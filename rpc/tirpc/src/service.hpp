// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <rpc/rpc.h>
#include <rpc/svc_auth.h>

#include <boost/asio/executor_work_guard.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "address.hpp"
#include "long_arguments.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/rpcbind.hpp"
#include "rpcrdma/tirpc.h"
#include "rpcrdma/xdr/decoder.hpp"
#include "rpcrdma/xdr/encoder.hpp"

namespace rpcrdma::tirpc {

/// The implementation of a SVCXPRT: a server with its event loop, which runs when libtirpc asks for a call. Belongs to
/// one thread.
class Service final : private transport::CallHandler, private xdr::Staging {
 public:
  /// Starts to listen. Throws boost::system::system_error on failure.
  Service(const Target& local, const rpcrdma_svc_options& options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  static Service& of(SVCXPRT* xprt) noexcept { return *static_cast<Service*>(xprt->xp_p1); }
  SVCXPRT* xprt() noexcept { return &xprt_; }
  /// The polling option of the transport created last; rpcrdma_svc_run() uses it.
  static Polling polling_of_loop() noexcept;
  /// Registers with rpcbind.
  rpc::RpcbindResult announce(rpcprog_t program, rpcvers_t version);

  /// The transport that rpcrdma_svc_add() has made for `listen` and shared under that name, or null.
  static SVCXPRT* find(std::string_view listen) noexcept;
  void share(std::string_view listen);

  // The operations of a SVCXPRT:
  bool receive(rpc_msg* message);
  xprt_stat status();
  bool get_args(xdrproc_t routine, void* args);
  bool reply(rpc_msg* message);
  bool control(unsigned request, void* info) noexcept;

 private:
  /// A received call. It waits in ready_ until receive() makes it current_ and passes it to libtirpc. By then the data
  /// of its Read chunks has been read, except that the rest of a long call is read while its arguments are decoded.
  struct Arrival {
    transport::IncomingCall* call = nullptr;
    std::vector<memory::RegisteredBuffer> arguments;  // data from Read chunks
    std::shared_ptr<LongArguments> rest;              // reads the rest of a long call from the client, or null
  };
  class Pull;
  /// Has the layout of libtirpc's SVCXPRT_EXT, in which libtirpc keeps the state of the caller's authentication. xp_p3
  /// of the SVCXPRT points to it, as svc_getreq_common() requires.
  struct Extension {
    int flags = 0;
    SVCAUTH auth{};
  };

  void on_call(transport::IncomingCall& call) noexcept override;
  BufferRef stage(std::uint32_t size) override;
  void listen(const fabric::Endpoint& local);
  void describe(const fabric::Endpoint& local);
  void run_until_ready();
  void begin(Arrival arrival);
  bool refuse(const Payload& message);
  void end_unanswered();
  void set_caller(const fabric::Endpoint& peer) noexcept;
  void signal() noexcept;
  void clear_signal() noexcept;

  SVCXPRT xprt_{};
  Extension extension_;
  std::string netid_;
  char verifier_[MAX_AUTH_BYTES];
  fabric::Endpoint endpoint_;
  sockaddr_storage local_{};
  sockaddr_storage peer_{};
  int max_record_ = 0;

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  Fd pollable_;  // an epoll instance that watches the event loop's epoll descriptor and wake_
  Fd wake_;
  bool signalled_ = false;
  Runner runner_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<memory::Pool> pool_;
  std::unique_ptr<transport::Server> server_;

  std::vector<std::unique_ptr<Pull>> pulls_;
  std::deque<Arrival> ready_;
  Arrival current_;
  std::uint32_t xid_ = 0;
  // The message of the current call as one XDR stream, with the reduced items at their positions. Not used if the call
  // has no reduced items.
  Payload flat_;
  std::optional<xdr::Decoder> in_;
  std::vector<memory::RegisteredBuffer> staged_;
  unsigned burst_ = 0;
  std::optional<std::string> shared_as_;
  std::vector<std::unique_ptr<rpc::RpcbindRegistration>> announced_;
};

}  // namespace rpcrdma::tirpc
