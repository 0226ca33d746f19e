// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What the typed client is made of; see client.hpp for how to use it.
#include <boost/asio/io_context.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/rpc/block_memory.hpp"
#include "rpcrdma/rpc/message.hpp"

namespace rpcrdma::rpc {

class ClientCore;

/// One RPC of a client, in a pool. The message is encoded when the call is made, so that the arguments need not
/// outlive that; bulk data is by reference. Written again, octet for octet, each time the transport asks.
class ClientCall final : public transport::Call {
 public:
  /// Success, or why it failed; `in` stands at the results then, else is null.
  using Completion = UniqueFunction<void(error_code, xdr::Decoder* in), 192>;
  using Encode = bool (*)(xdr::Encoder& out, const void* args);

  /// Writes the message. RpcError::unencodable when the arguments cannot be.
  error_code prepare(const CallHeader& header, Encode encode_args, const void* args) noexcept;

  void encode(PayloadBuilder& out) noexcept override;
  void done(error_code status, const Payload* reply) noexcept override;

 private:
  friend class ClientCore;
  void finish(error_code status, xdr::Decoder* in) noexcept;

  PayloadBuilder message_;
  BlockMemory memory_;
  Completion completion_;
  bool submitted_ = false;
  std::shared_ptr<ClientCore> core_;  // while the call is running
  ClientCall* previous_active_ = nullptr;
  ClientCall* next_active_ = nullptr;
};

/// The calls of one client: those that run and those at rest. Lives until the last of its calls is over.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  using Executor = boost::asio::io_context::executor_type;
  ClientCore(transport::Requester& requester, Executor executor)
      : requester_(requester), executor_(std::move(executor)) {}

  const Executor& executor() const noexcept { return executor_; }
  transport::Requester& requester() noexcept { return requester_; }

  struct Return {
    std::shared_ptr<ClientCore> core;
    void operator()(ClientCall* call) const noexcept { core->give_back(call); }
  };
  using Lease = std::unique_ptr<ClientCall, Return>;
  /// A call at rest, to be prepared and started; goes back by itself when it is not started.
  Lease lease();
  /// Runs the call; `completion` runs once, later, on the executor's thread. `failed`: it is over before it began.
  void start(Lease call, error_code failed, ClientCall::Completion completion);
  void cancel(ClientCall& call) noexcept;
  /// Cancels every call.
  void close() noexcept;

 private:
  friend class ClientCall;
  void give_back(ClientCall* call) noexcept;
  void link(ClientCall& call) noexcept;
  void unlink(ClientCall& call) noexcept;

  transport::Requester& requester_;
  Executor executor_;
  std::vector<std::unique_ptr<ClientCall>> calls_;
  std::vector<ClientCall*> rest_;
  ClientCall* active_ = nullptr;
  bool closed_ = false;
};

}  // namespace rpcrdma::rpc
