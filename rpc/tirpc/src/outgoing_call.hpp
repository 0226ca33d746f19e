// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The calls that clnt_call() makes on a CLIENT of this library. For a WaitingCall, clnt_call() waits for the reply. For
// one of the PostedCalls, it does not wait for the reply.
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

/// Arguments that the program has passed to clnt_call(), and values that the CLIENT adds to them.
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

/// Encodes and decodes nothing, and returns TRUE. Unlike libtirpc's xdr_void(), it has the parameter list of an
/// xdrproc_t, and therefore converts to that type without a cast.
bool_t no_results(XDR*, ...);
/// True if `routine` is null or xdr_void(): the arguments or results take no bytes.
bool is_void(xdrproc_t routine) noexcept;

/// Opaques of at least this length may be transferred directly from and to the program's memory.
constexpr std::size_t kLongOpaque = 1u << 16;

/// Adds long opaques to one outgoing message without a copy, by registering the program's memory that holds them. The
/// registrations last until clear(), which must not be called while the message is still in use.
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

/// Marks the answer that a SVCXPRT of this library sends if the dispatch function has not answered a call. The server
/// must answer such a call too, because the client would otherwise not get the credit of the call back. The answer is a
/// SYSTEM_ERR with a verifier of flavor AUTH_NONE, and this text is the body of the verifier. A CLIENT of this library
/// recognizes the text and treats the call as unanswered. Other clients see only the error.
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
  /// Makes encode() write the message that `held` has recorded. `held` must stay valid until the call is over or hold()
  /// is called again. If `held` is null, encode() calls the XDR routine of the arguments instead.
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

  /// Allocates the memory of the Reply chunk, so that a long reply can be decoded while it arrives. If the allocation
  /// fails, the requester allocates the memory when the call needs a Reply chunk, and waits if there is none. The reply
  /// is then decoded after it has arrived.
  void keep_reply();
  /// While the call is in progress: the number of bytes, from the start of the Reply chunk, that the server is known to
  /// have written. After the call is over: the size of a reply that is in the Reply chunk, if decode_early() was
  /// called. The result is 0 if the server writes the chunk out of order, or if the fabric does not report arrivals.
  std::uint32_t arrived() const noexcept;
  /// Decodes a long reply while the server is still writing it to the Reply chunk. May be called once. `in` reads the
  /// memory of the Reply chunk, and waits for bytes that have not arrived.
  void decode_early(xdr::Decoder& in);
  /// To be called after the call is over. If the call has not failed and decode_early() has decoded its reply, error()
  /// becomes the outcome of this decoding. A success becomes RPC_CANTDECODERES if decode_early() has read more bytes
  /// than the reply has, or if the bytes of the reply did not arrive in order.
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
  std::uint32_t early_end_ = 0;   // the number of bytes of the reply that decode_early() has read
  std::uint32_t long_reply_ = 0;  // the size of the reply, if it is a long reply and its bytes arrived in order
  Early early_ = Early::no;
  bool encoded_ = false;
  bool unencodable_ = false;
  bool unanswered_ = false;
  bool refused_ = false;
  bool over_ = false;
};

/// Holds those calls of a client handle for whose replies the caller does not wait. This object owns the calls until
/// the requester has ended them. Destroy it after the requester.
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
