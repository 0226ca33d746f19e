// SPDX-License-Identifier: BSD-3-Clause
// Operation. The program's XDR routines run where the transport asks for the message, and where it delivers the reply:
// arguments are encoded into registered memory, results are decoded from where they arrived, in the calling thread.
// Ownership. A waiting call lives on the stack of clnt_call(); a posted one owns its message, and is deleted when it is
// over.
// Errors. Every error becomes the clnt_stat that the TCP transport of libtirpc reports for it.
#include "outgoing_call.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/xdr/decoder.hpp"

namespace rpcrdma::tirpc {
namespace {

/// Heap memory for a message.
class HeapMemory final : public PayloadMemory {
 public:
  BufferRef first() { return more(512); }

 private:
  Result<BufferRef> more_payload_memory(std::uint32_t at_least) override {
    return more(std::max(at_least, std::uint32_t{16384}));
  }
  BufferRef more(std::uint32_t size) {
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    return {blocks_.back().get(), size, 0};
  }
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

int errno_of(error_code status) noexcept {
  using transport::TransportError;
  if (status.category() == boost::system::system_category()) return status.value();
  if (status == BaseError::out_of_memory) return ENOMEM;
  if (status == TransportError::call_too_long || status == TransportError::reply_too_long ||
      status == TransportError::peer_err_chunk) {
    return EMSGSIZE;
  }
  return status == TransportError::peer_err_vers ? EPROTONOSUPPORT : ECONNRESET;
}

clnt_stat status_of(error_code status) noexcept {
  using transport::TransportError;
  if (status == BaseError::deadline_exceeded || status == TransportError::unreachable) return RPC_TIMEDOUT;
  if (status == TransportError::bad_reply) return RPC_CANTDECODERES;
  const bool unsent = status == TransportError::call_too_long || status == TransportError::reply_too_long ||
                      status == BaseError::out_of_memory || status == BaseError::invalid_argument;
  return unsent ? RPC_CANTSEND : RPC_CANTRECV;
}

bool says_unanswered(const rpc_msg& reply) noexcept {
  const accepted_reply& accepted = reply.acpted_rply;
  return reply.rm_reply.rp_stat == MSG_ACCEPTED && accepted.ar_stat == SYSTEM_ERR &&
         accepted.ar_verf.oa_flavor == AUTH_NONE && accepted.ar_verf.oa_length == sizeof kUnanswered - 1 &&
         std::memcmp(accepted.ar_verf.oa_base, kUnanswered, sizeof kUnanswered - 1) == 0;
}

}  // namespace

bool_t no_results(XDR*, ...) { return TRUE; }

bool is_void(xdrproc_t routine) noexcept {
  return routine == nullptr || reinterpret_cast<void*>(routine) == reinterpret_cast<void*>(&xdr_void);
}

BufferRef BorrowedMemory::borrow(Octets octets) {
  constexpr std::size_t kLeast = 1u << 16;
  // Each one adds two segments to the message (itself and what follows), and their number is limited.
  constexpr std::size_t kMost = 8;
  if (octets.size() < kLeast || octets.size() > UINT32_MAX || registered_.size() == kMost) return {};
  if (!fabric_.capabilities().cheap_registration) return {};
  // It is only read.
  auto* const data = const_cast<std::byte*>(octets.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  auto registered = memory::adopt(fabric_, {data, octets.size()});
  if (!registered) return {};
  registered_.push_back(std::move(*registered));
  return registered_.back().ref();
}

bool encode_call(xdr::Encoder& out, const CallArgs& from) {
  for (const std::uint32_t word :
       {from.xid, std::uint32_t{CALL}, RPC_MSG_VERSION, from.program, from.version, from.procedure}) {
    out.u32(word);
  }
  return AUTH_MARSHALL(from.auth, out.xdr()) &&
         AUTH_WRAP(from.auth, out.xdr(), from.encode, static_cast<caddr_t>(from.args)) && out.ok();
}

void WaitingCall::encode(PayloadBuilder& out) noexcept {
  staged_.clear();
  borrowed_.clear();
  xdr::Encoder encoder(out, args_.reduces_args ? this : nullptr);
  if (args_.stable_opaques) encoder.set_borrowing(&borrowed_);
  encoded_ = encode_call(encoder, args_);
  if (encoded_) return;
  unencodable_ = out.ok() || out.failure() == BuildFailure::invalid;
  out.fail();
}

BufferRef WaitingCall::stage(std::uint32_t size) {
  auto memory = pool_.allocate(size);
  if (!memory) return {};
  staged_.push_back(std::move(*memory));
  return staged_.back().ref();
}

void WaitingCall::done(error_code status, const Payload* reply) noexcept {
  over_ = true;
  staged_.clear();
  borrowed_.clear();
  if (status) return fail(status);
  decode(*reply);
}

void WaitingCall::fail(error_code status) noexcept {
  error_ = {};
  error_.re_status = unencodable_ ? RPC_CANTENCODEARGS : status_of(status);
  if (error_.re_status == RPC_CANTSEND || error_.re_status == RPC_CANTRECV) error_.re_errno = errno_of(status);
}

void WaitingCall::decode(const Payload& message) {
  xdr::Decoder in(message);
  reply_.acpted_rply.ar_verf = {AUTH_NONE, verifier_, 0};
  reply_.acpted_rply.ar_results.where = nullptr;
  reply_.acpted_rply.ar_results.proc = no_results;
  if (!xdr_replymsg(in.xdr(), &reply_)) {
    error_.re_status = RPC_CANTDECODERES;
    return;
  }
  unanswered_ = says_unanswered(reply_);
  ::_seterr_reply(&reply_, &error_);
  refused_ = error_.re_status != RPC_SUCCESS && !unanswered_;
  if (error_.re_status != RPC_SUCCESS) return;
  if (!AUTH_VALIDATE(args_.auth, &reply_.acpted_rply.ar_verf)) {
    error_.re_status = RPC_AUTHERROR;
    error_.re_why = AUTH_INVALIDRESP;
  } else if (args_.decode != nullptr &&
             !AUTH_UNWRAP(args_.auth, in.xdr(), args_.decode, static_cast<caddr_t>(args_.results))) {
    error_.re_status = RPC_CANTDECODERES;
  }
}

/// Owned by the list of its handle.
class PostedCalls::One final : public transport::Call {
 public:
  One(PostedCalls& owner, transport::Requester& requester, std::vector<std::byte> message)
      : owner_(owner), requester_(requester), message_(std::move(message)) {}
  bool sent() const noexcept { return connection_.has_value(); }

 private:
  void encode(PayloadBuilder& out) noexcept override {
    // Not on another connection: the server may have run it.
    const std::uint64_t connection = requester_.counters().reconnects;
    if (connection_ && *connection_ != connection) return out.fail();
    connection_ = connection;
    out.octets(message_);
  }
  void done(error_code, const Payload*) noexcept override {
    std::erase_if(owner_.calls_, [this](const std::unique_ptr<One>& one) { return one.get() == this; });
  }

  PostedCalls& owner_;
  transport::Requester& requester_;
  std::vector<std::byte> message_;
  std::optional<std::uint64_t> connection_;  // on which it was sent
};

PostedCalls::PostedCalls() = default;
PostedCalls::~PostedCalls() = default;

bool PostedCalls::post(transport::Requester& requester, const CallArgs& args,
                       std::chrono::steady_clock::time_point deadline) {
  HeapMemory memory;
  PayloadBuilder builder;
  builder.start(memory.first(), &memory);
  xdr::Encoder encoder(builder);
  if (!encode_call(encoder, args)) return false;
  std::vector<std::byte> message;
  message.reserve(builder.payload().length);
  for (const PayloadPiece& piece : builder.payload().pieces)
    message.insert(message.end(), piece.octets.data, piece.octets.data + piece.octets.size);
  One& one = *calls_.emplace_back(std::make_unique<One>(*this, requester, std::move(message)));
  one.xid = args.xid;
  one.deadline = deadline;
  requester.submit(one);
  return true;
}

bool PostedCalls::all_sent() const noexcept {
  return std::ranges::all_of(calls_, [](const std::unique_ptr<One>& one) { return one->sent(); });
}

}  // namespace rpcrdma::tirpc
