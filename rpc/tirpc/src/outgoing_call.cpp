// SPDX-License-Identifier: BSD-3-Clause
// Operation. The program's XDR routines run in the calling thread. For a waiting call, they encode the arguments into
// registered memory when the transport asks for the message, and decode the results in place when it delivers the
// reply. Exceptions: HeldArguments has run the encoding routine before, and decode_early() decodes a long reply that is
// still arriving. A posted call is encoded once, before it is submitted; its reply is dropped.
// Ownership. A waiting call lives on the stack of clnt_call(). A posted call owns its message, and is deleted when it
// is over.
// Errors. Every error of a waiting call becomes the clnt_stat that the TCP transport of libtirpc reports for it.
#include "outgoing_call.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "heap_memory.hpp"
#include "held_arguments.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::tirpc {
namespace {

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

bool BorrowedMemory::borrow(PayloadBuilder& out, Octets octets) {
  // The maximum number of opaques that one message borrows. Each of them adds two segments to the message, and the
  // number of segments is limited.
  constexpr std::size_t kMost = 8;
  if (octets.size() < kLongOpaque || octets.size() > UINT32_MAX || registered_.size() == kMost) return false;
  if (!fabric_.capabilities().cheap_registration) return false;
  // adopt() takes writable memory. The fabric only reads this memory, because it becomes a part of an outgoing call.
  auto* const data = const_cast<std::byte*>(octets.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  auto registered = memory::adopt(fabric_, {data, octets.size()});
  if (!registered) return false;
  registered_.push_back(std::move(*registered));
  out.borrow(registered_.back().ref());
  return true;
}

std::vector<std::byte> flat(const Payload& message) {
  std::vector<std::byte> out;
  out.reserve(message.length);
  for (const PayloadPiece& piece : message.pieces)
    out.insert(out.end(), piece.octets.data, piece.octets.data + piece.octets.size);
  return out;
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
  if (held_ != nullptr) {
    held_->encode(out, borrowed_);
    encoded_ = out.ok();
    return;
  }
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
  if (early_ != Early::no) return take_reply(*reply);
  xdr::Decoder in(*reply);
  decode(in, args_.decode, error_);
}

void WaitingCall::keep_reply() {
  auto memory = pool_.allocate((max_reply + 3) & ~3u);
  if (!memory) return;
  reply_buffer_ = std::move(*memory);
  reply_memory = reply_buffer_.ref();
}

std::uint32_t WaitingCall::arrived() const noexcept {
  if (over_) return long_reply_;
  return reply_arrival != nullptr && !reply_arrival->out_of_order() ? reply_arrival->arrived() : 0;
}

void WaitingCall::decode_early(xdr::Decoder& in) {
  early_ = Early::running;
  decode(in, args_.decode, early_error_);
  early_end_ = in.position();
  early_ = Early::ended;
}

/// Handles the reply after decode_early() has begun to decode the content of the Reply chunk. If the reply is in the
/// Reply chunk and its bytes arrived in order, notes its size. If the reply is inline, decodes it, and ignores what was
/// decoded before. An inline success becomes RPC_CANTDECODERES, because the results cannot be decoded a second time.
void WaitingCall::take_reply(const Payload& message) noexcept {
  const BufferRef bytes = message.pieces.front().octets;
  if (bytes.data == reply_memory.data) {
    const bool in_order = reply_arrival != nullptr && !reply_arrival->out_of_order();
    if (in_order) long_reply_ = bytes.size;
    return;
  }
  early_ = Early::no;
  xdr::Decoder in(message);
  decode(in, nullptr, error_);
  if (error_.re_status == RPC_SUCCESS) error_.re_status = RPC_CANTDECODERES;
}

void WaitingCall::conclude() noexcept {
  if (early_ != Early::ended || error_.re_status != RPC_SUCCESS) return;
  error_ = early_error_;
  if (error_.re_status == RPC_SUCCESS && early_end_ > long_reply_) error_.re_status = RPC_CANTDECODERES;
}

void WaitingCall::fail(error_code status) noexcept {
  error_ = {};
  error_.re_status = unencodable_ ? RPC_CANTENCODEARGS : status_of(status);
  if (error_.re_status == RPC_CANTSEND || error_.re_status == RPC_CANTRECV) error_.re_errno = errno_of(status);
}

void WaitingCall::decode(xdr::Decoder& in, xdrproc_t routine, rpc_err& outcome) {
  reply_.acpted_rply.ar_verf = {AUTH_NONE, verifier_, 0};
  reply_.acpted_rply.ar_results.where = nullptr;
  reply_.acpted_rply.ar_results.proc = no_results;
  if (!xdr_replymsg(in.xdr(), &reply_)) {
    outcome.re_status = RPC_CANTDECODERES;
    return;
  }
  unanswered_ = says_unanswered(reply_);
  ::_seterr_reply(&reply_, &outcome);
  refused_ = outcome.re_status != RPC_SUCCESS && !unanswered_;
  if (outcome.re_status != RPC_SUCCESS) return;
  if (!AUTH_VALIDATE(args_.auth, &reply_.acpted_rply.ar_verf)) {
    outcome.re_status = RPC_AUTHERROR;
    outcome.re_why = AUTH_INVALIDRESP;
  } else if (routine != nullptr && !AUTH_UNWRAP(args_.auth, in.xdr(), routine, static_cast<caddr_t>(args_.results))) {
    outcome.re_status = RPC_CANTDECODERES;
  }
}

/// A call that PostedCalls::post() has submitted. The PostedCalls object owns the call, and done() destroys it.
class PostedCalls::One final : public transport::Call {
 public:
  One(PostedCalls& owner, transport::Requester& requester, std::vector<std::byte> message)
      : owner_(owner), requester_(requester), message_(std::move(message)) {}
  bool sent() const noexcept { return connection_.has_value(); }

 private:
  void encode(PayloadBuilder& out) noexcept override {
    // The call is never sent on a second connection: the server may have run it.
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
  // Identifies the connection for which the call was encoded: the requester's count of reconnections at that time.
  // Empty until the call is encoded.
  std::optional<std::uint64_t> connection_;
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
  One& one = *calls_.emplace_back(std::make_unique<One>(*this, requester, flat(builder.payload())));
  one.xid = args.xid;
  one.deadline = deadline;
  requester.submit(one);
  return true;
}

bool PostedCalls::all_sent() const noexcept {
  return std::ranges::all_of(calls_, [](const std::unique_ptr<One>& one) { return one->sent(); });
}

}  // namespace rpcrdma::tirpc
