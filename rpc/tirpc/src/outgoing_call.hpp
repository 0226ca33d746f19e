// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The two kinds of calls of a CLIENT: calls that wait for their reply, and posted calls, which do not.
#include <rpc/rpc.h>

#include <chrono>
#include <memory>
#include <vector>

#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/tirpc.h"
#include "rpcrdma/xdr/decoder.hpp"
#include "rpcrdma/xdr/encoder.hpp"

namespace rpcrdma::tirpc {

/// A call of clnt_call(): its arguments, and what the CLIENT adds to them.
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

/// As libtirpc's xdr_void(), but with the parameters of an xdrproc_t.
bool_t no_results(XDR*, ...);
/// True if `routine` is null or xdr_void(): the arguments or results take no bytes.
bool is_void(xdrproc_t routine) noexcept;

/// Opaques of at least this length may be transferred directly from and to the program's memory.
constexpr std::size_t kLongOpaque = 1u << 16;

/// Registers long opaques in the program's memory for one message.
class BorrowedMemory final : public xdr::Borrowing {
 public:
  explicit BorrowedMemory(fabric::Fabric& fabric) noexcept : fabric_(fabric) {}
  bool borrow(PayloadBuilder& out, Octets octets) override;
  void clear() noexcept { registered_.clear(); }

 private:
  fabric::Fabric& fabric_;
  std::vector<memory::RegisteredBuffer> registered_;
};

/// The bytes of `message`, which must have no items.
std::vector<std::byte> flat(const Payload& message);
/// Writes a call message with libtirpc's routines.
bool encode_call(xdr::Encoder& out, const CallArgs& from);

/// The verifier body, of flavor AUTH_NONE, with which a SVCXPRT of this library answers a call that its dispatch
/// function has left unanswered. The answer, a SYSTEM_ERR, returns the credit of the call. A CLIENT of this library
/// takes the call as unanswered; other clients see only the error.
inline constexpr char kUnanswered[] = "unanswered";

class HeldArguments;

/// A call that waits for its reply. Decodes the reply inside done(), while the message is valid, or earlier by
/// decode_early().
class WaitingCall final : public transport::Call, private xdr::Staging {
 public:
  WaitingCall(const CallArgs& args, memory::Pool& pool) noexcept : args_(args), pool_(pool), borrowed_(pool.fabric()) {
    xid = args.xid;
  }

  bool over() const noexcept { return over_; }
  const CallArgs& args() const noexcept { return args_; }
  memory::Pool& pool() const noexcept { return pool_; }
  /// Takes the message from `held`, which must outlive this object. If `held` is null, the XDR routine writes the
  /// message.
  void hold(const HeldArguments* held) noexcept { held_ = held; }
  /// True if the call has been encoded, and so may have been sent.
  bool encoded() const noexcept { return encoded_; }
  /// True if the answer has the verifier kUnanswered: it returns the credit of the call, and is no reply.
  bool unanswered() const noexcept { return unanswered_; }
  /// True if the reply is an RPC error other than the answer with kUnanswered.
  bool refused() const noexcept { return refused_; }
  /// The outcome, once the call is over.
  const rpc_err& error() const noexcept { return error_; }
  const rpc_msg& reply() const noexcept { return reply_; }

  /// Allocates memory for a long reply, so that the reply can be decoded early. If this fails, the requester waits for
  /// memory.
  void keep_reply();
  /// The number of bytes of a long reply that are known to have arrived; 0 if they arrive out of order.
  std::uint32_t arrived() const noexcept;
  /// Decodes a reply that is still arriving; at most once.
  void decode_early(xdr::Decoder& in);
  /// To be called after the call is over. If its reply has been decoded early, checks that the decoded bytes were the
  /// reply.
  void conclude() noexcept;

 private:
  enum class Early : std::uint8_t { no, running, ended };

  void encode(PayloadBuilder& out) noexcept override;
  void done(error_code status, const Payload* reply) noexcept override;
  BufferRef stage(std::uint32_t size) override;
  void decode(xdr::Decoder& in, xdrproc_t routine, rpc_err& outcome);
  void take_reply(const Payload& message) noexcept;
  void fail(error_code status) noexcept;

  CallArgs args_;
  memory::Pool& pool_;
  std::vector<memory::RegisteredBuffer> staged_;
  BorrowedMemory borrowed_;
  const HeldArguments* held_ = nullptr;
  memory::RegisteredBuffer reply_buffer_;
  rpc_msg reply_{};
  rpc_err error_{};
  char verifier_[MAX_AUTH_BYTES];
  rpc_err early_error_{};
  std::uint32_t early_end_ = 0;   // bytes of the reply that have been decoded early
  std::uint32_t long_reply_ = 0;  // bytes of a long reply that has arrived in order
  Early early_ = Early::no;
  bool encoded_ = false;
  bool unencodable_ = false;
  bool unanswered_ = false;
  bool refused_ = false;
  bool over_ = false;
};

/// The calls of a handle that do not wait for their replies. Must outlive the calls: destroy it after the requester.
class PostedCalls {
 public:
  PostedCalls();
  ~PostedCalls();

  /// Encodes the call and submits it; the arguments are not needed afterwards. Returns false if the call cannot be
  /// encoded.
  bool post(transport::Requester& requester, const CallArgs& args, std::chrono::steady_clock::time_point deadline);
  std::size_t size() const noexcept { return calls_.size(); }
  /// True if the requester has asked each call for its message in order to send it.
  bool all_sent() const noexcept;

 private:
  class One;
  std::vector<std::unique_ptr<One>> calls_;
};

}  // namespace rpcrdma::tirpc
