// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The two kinds of calls of a CLIENT: one that waits for its reply, and one that does not.
#include <rpc/rpc.h>

#include <chrono>
#include <memory>
#include <vector>

#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/tirpc.h"
#include "rpcrdma/xdr/encoder.hpp"

namespace rpcrdma::tirpc {

/// What clnt_call() is given.
struct CallArgs {
  AUTH* auth = nullptr;
  std::uint32_t xid = 0;
  rpcprog_t program = 0;
  rpcvers_t version = 0;
  rpcproc_t procedure = 0;
  xdrproc_t encode = nullptr;
  void* args = nullptr;
  xdrproc_t decode = nullptr;
  void* results = nullptr;
  bool reduces_args = false;
  bool stable_opaques = false;
};

/// xdr_void(), which libtirpc declares without parameters, as an xdrproc_t.
bool_t no_results(XDR*, ...);
/// Results that take no bytes.
bool is_void(xdrproc_t routine) noexcept;

/// Opaques of the program's memory that are long enough to be transferred from there, registered for one message.
class BorrowedMemory final : public xdr::Borrowing {
 public:
  explicit BorrowedMemory(fabric::Fabric& fabric) noexcept : fabric_(fabric) {}
  BufferRef borrow(Octets octets) override;
  bool empty() const noexcept { return registered_.empty(); }
  void clear() noexcept { registered_.clear(); }

 private:
  fabric::Fabric& fabric_;
  std::vector<memory::RegisteredBuffer> registered_;
};

/// Writes a call message with libtirpc's routines.
bool encode_call(xdr::Encoder& out, const CallArgs& from);

/// The verifier body, of flavor AUTH_NONE, with which a SVCXPRT of this library answers a call that its dispatch
/// function has left unanswered. It returns the credit of the call; other clients take it for SYSTEM_ERR.
inline constexpr char kUnanswered[] = "unanswered";

/// A call that waits for its reply, and decodes it in done(), where the message is.
class WaitingCall final : public transport::Call, private xdr::Staging {
 public:
  WaitingCall(const CallArgs& args, memory::Pool& pool) noexcept : args_(args), pool_(pool), borrowed_(pool.fabric()) {
    xid = args.xid;
  }

  bool over() const noexcept { return over_; }
  const CallArgs& args() const noexcept { return args_; }
  /// It has been encoded, and may have been sent.
  bool encoded() const noexcept { return encoded_; }
  /// The server has returned the credit of the call without a reply.
  bool unanswered() const noexcept { return unanswered_; }
  /// The reply says that the server has not run the call, or has failed.
  bool refused() const noexcept { return refused_; }
  /// The outcome, when it is over.
  const rpc_err& error() const noexcept { return error_; }
  const rpc_msg& reply() const noexcept { return reply_; }

 private:
  void encode(PayloadBuilder& out) noexcept override;
  void done(error_code status, const Payload* reply) noexcept override;
  BufferRef stage(std::uint32_t size) override;
  void decode(const Payload& message);
  void fail(error_code status) noexcept;

  CallArgs args_;
  memory::Pool& pool_;
  std::vector<memory::RegisteredBuffer> staged_;
  BorrowedMemory borrowed_;
  rpc_msg reply_{};
  rpc_err error_{};
  char verifier_[MAX_AUTH_BYTES];
  bool encoded_ = false;
  bool unencodable_ = false;
  bool unanswered_ = false;
  bool refused_ = false;
  bool over_ = false;
};

/// The calls of a handle whose replies nothing waits for. Outlives the calls: destroy it after the requester.
class PostedCalls {
 public:
  PostedCalls();
  ~PostedCalls();

  /// Encodes the call, whose arguments are not needed afterwards, and submits it; false if it has no encoding.
  bool post(transport::Requester& requester, const CallArgs& args, std::chrono::steady_clock::time_point deadline);
  std::size_t size() const noexcept { return calls_.size(); }
  /// All of them have been encoded, and may have been sent.
  bool all_sent() const noexcept;

 private:
  class One;
  std::vector<std::unique_ptr<One>> calls_;
};

}  // namespace rpcrdma::tirpc
