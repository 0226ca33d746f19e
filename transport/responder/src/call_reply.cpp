// SPDX-License-Identifier: BSD-3-Clause
// Operation. A reply is planned completely before anything is written: if it does not fit, nothing is written. The RDMA
// Writes are posted next, and then the Send on the same queue [8166-3.4.6-d]. write_ahead() posts Writes to the Reply
// chunk earlier. These Writes have no meaning to the client until the Send, and may be overwritten.
// Ownership. The memory of the reply's items belongs to the CallHandler, which keeps it unchanged until the handler of
// send() runs. The receive is reposted before the Send, because the reply permits the client's next call.
// Errors. A reply that fits neither inline nor in the chunks, or has no encoding, becomes RDMA_ERROR. The connection is
// ended instead if the reply would have fitted earlier, larger Receives of the client, if memory is short for a reply
// or an RDMA_ERROR, or if its Send fails [8166-4.5.4-b].
#include <algorithm>

#include "call_impl.hpp"
#include "pull_job.hpp"
#include "rpcrdma/base/log_reason.hpp"
#include "rpcrdma/connection/probe.hpp"
#include "service.hpp"
#include "serving_link.hpp"

namespace rpcrdma::transport {
namespace {

/// Part of the limit for the memory in which a reply is built. The limit is the length of the Reply chunk or
/// ServiceSetup::max_chunk, whichever is smaller, plus this number of bytes. The send buffer and the reply's items do
/// not count. A reply that needs more memory cannot be built.
constexpr std::uint32_t kSlack = 65536;

}  // namespace

PayloadBuilder& CallImpl::reply() noexcept {
  ahead_ = 0;
  if (message_.begun()) {
    message_.restart(builder_);
    return builder_;
  }
  const std::uint64_t chunk =
      std::min<std::uint64_t>(total_length(header_.chunks.reply_chunk()), service_.setup().max_chunk);
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk + kSlack, UINT32_MAX));
  if (message_.begin(pool(), connection_->buffer_size(), most, builder_)) builder_.start({}, nullptr);
  return builder_;
}

bool CallImpl::may_write_ahead(std::uint32_t length) const noexcept {
  if (link_ == nullptr || !header_.chunks.has_reply_chunk() || header_.chunks.write_chunk_count() != 0) return false;
  return length > connection_->thresholds().send && length <= total_length(header_.chunks.reply_chunk());
}

void CallImpl::write_ahead(Handler handler) {
  const Payload& message = builder_.payload();
  if (link_ == nullptr) return tell_later(std::move(handler), TransportError::connection_lost);
  if (!builder_.ok() || ahead_handler_ || !message.items.empty() || message.length == ahead_ ||
      !may_write_ahead(message.length)) {
    return tell_later(std::move(handler), BaseError::invalid_argument);
  }
  ahead_stream_.clear();
  for (const PayloadPiece& piece : message.pieces) ahead_stream_.push_back(piece.octets);
  const std::uint32_t max_message = connection_->fabric().capabilities().max_message;
  splitter_ = Splitter(ahead_stream_, header_.chunks.reply_chunk(), max_message);
  splitter_.skip(ahead_, ahead_);
  ahead_ = message.length;
  ahead_handler_ = std::move(handler);
  push_or_wait();
}

void CallImpl::written_ahead() {
  link_->wrote(fingerprint());
  Handler handler = std::move(ahead_handler_);
  ahead_handler_.reset();
  handler({});
}

void CallImpl::send(Handler handler) { end(Ending::reply, std::move(handler)); }
void CallImpl::discard() { end(Ending::silence, {}); }
void CallImpl::fail() { end(Ending::error, {}); }

ConnectionStatistics CallImpl::statistics() const noexcept {
  if (link_ == nullptr) return {};
  return link_->statistics();
}

bool CallImpl::link_is_lost() const noexcept { return link_->is_lost(); }

std::shared_ptr<ReverseRequester> CallImpl::reverse() { return link_ != nullptr ? link_->reverse() : nullptr; }

void CallImpl::end(Ending how, Handler handler) {
  state_ = State::replying;
  RPCRDMA_PROBE(call_executed, connection_.get(), header_.xid, static_cast<int>(how));
  ending_ = how;
  handler_ = std::move(handler);
  end_if_ready();
}

/// Ends the call in the way that was passed to end(). On a connection that is not lost, does nothing while pulls of the
/// call are in progress, because a reply would permit the client to reuse the memory that is being read. pulled() calls
/// this function again after each pull.
void CallImpl::end_if_ready() {
  if (link_ != nullptr && !jobs_.empty()) return;
  if (link_ == nullptr) {
    if (handler_) tell_later(std::move(handler_), TransportError::connection_lost);
    handler_.reset();
    return over(TransportError::connection_lost);
  }
  switch (ending_) {
    case Ending::reply: return send_reply();
    case Ending::error: return send_error(wire::ErrorKind::chunk, "the upper layer cannot read it");
    default: return over({});
  }
}

void CallImpl::send_reply() {
  // If other calls are in progress, their replies may be ready, too, and then all are sent together.
  if (link_->calls() == 1) connection_->submit_soon();
  if (!builder_.ok()) {
    if (!message_.begun() || builder_.failure() == BuildFailure::out_of_memory)
      return connection_->abort(BaseError::out_of_memory);
    return send_error(wire::ErrorKind::chunk, "its reply is too long or has no encoding");
  }
  // If write_ahead() has written a part of the reply to the Reply chunk, the whole reply must use the chunk. With its
  // header, an inline reply is longer than `ahead_` bytes, so this limit excludes it.
  const std::uint32_t limit = std::min(connection_->thresholds().send, ahead_ != 0 ? ahead_ : UINT32_MAX);
  // [8166-4.5.3-b] [8267-3.1-a] plan_reply() fails if a chunk of the call is too small. By then only write_ahead() may
  // have written to a chunk: a part of the reply to the Reply chunk.
  if (plan_reply(builder_.payload(), header_, limit, message_.zeros(), plan_)) return reply_too_long();
  plan_.header.xid = header_.xid;         // [8167-5.2-b] [8167-2.4-b] a reply has the XID of its call
  plan_.header.credits = link_->grant();  // [8166-4.2.3-a] a reply carries the granted credits
  next_push_ = 0;
  splitter_ = {};
  open_plan_.reset();
  if (header_.version == wire::kVersionTwo) open_plan_ = connection_->plan_made();
  if (settle_push())
    push_or_wait();
  else
    post_reply();
}

/// Handles a reply that fits neither the client's Receives nor the chunks of the call. If the reply would have fitted
/// the larger Receives that the client had before this side asked for smaller ones, the client may have sent the call
/// at that time. This side then aborts the connection, and the client sends the call again on a connection with other
/// thresholds [8166-4.5.4-b]. Otherwise this side answers the call by ERR_CHUNK.
void CallImpl::reply_too_long() {
  const std::uint32_t highest = connection_->highest_send();
  if (highest > connection_->thresholds().send &&
      !plan_reply(builder_.payload(), header_, highest, message_.zeros(), plan_))
    return connection_->abort(BaseError::buffer_overflow,
                              "a reply does not fit the client's receives, which this side asked to be smaller; the "
                              "client sends the call again",
                              header_.xid);
  send_error(wire::ErrorKind::chunk, "its reply fits neither the client's receives nor its chunks");
}

/// Answers the call by an RDMA_ERROR. `why` is the reason for the log. If `why` is null, the reason is refusal_, which
/// refuse() has set.
void CallImpl::send_error(wire::ErrorKind kind, const char* why) {
  state_ = State::replying;
  ending_ = Ending::error;
  if (!message_.begun()) {
    if (const error_code failed = message_.begin(pool(), connection_->buffer_size(), 0, builder_))
      return connection_->abort(failed);
  }
  const LogAbout log = connection_->message_log(header_.xid);
  if (why != nullptr)
    log.info("call answered by RDMA_ERROR {}: {}", name_of(kind), why);
  else
    log.info("call answered by RDMA_ERROR {}: {}", name_of(kind), Reason{refusal_});
  plan_.clear();
  switch (kind) {
    case wire::ErrorKind::vers:
      wire::make_err_vers(header_, link_->grant(), plan_.header, connection_->decode_limits());
      break;
    case wire::ErrorKind::chunk: wire::make_err_chunk(header_, link_->grant(), plan_.header); break;
    case wire::ErrorKind::invalid_option: wire::make_err_option(header_, link_->grant(), plan_.header); break;
  }
  plan_.header_size = static_cast<std::uint32_t>(wire::encoded_size(plan_.header));
  post_reply();
}

/// Prepares splitter_, which divides the data of one chunk into RDMA Writes, for the next Write. When one chunk of the
/// reply is done, sets splitter_ to the next Write chunk that has data and, after the Write chunks, to the Reply chunk
/// of a long reply. Returns false if no data is left to write. During write_ahead(), splitter_ stays at the Reply
/// chunk.
bool CallImpl::settle_push() {
  if (ahead_handler_) return !splitter_.done();
  const std::uint32_t max_message = connection_->fabric().capabilities().max_message;
  const wire::ChunkLists& chunks = plan_.header.chunks;
  const std::size_t items = plan_.reduced.size();
  while (splitter_.done()) {
    const std::size_t index = next_push_++;
    if (index < items) {
      if (plan_.reduced[index])
        splitter_ = Splitter(builder_.payload().items[index].parts, chunks.write_chunk(index), max_message);
    } else if (index == items && plan_.long_reply) {
      splitter_ = Splitter(plan_.stream, chunks.reply_chunk(), max_message);
      splitter_.skip(ahead_, ahead_);
    } else {
      return false;
    }
  }
  return true;
}

void CallImpl::push_or_wait() {
  SendUnits first = connection_->send_queue().try_reserve(1);
  if (first.count() != 0)
    push(std::move(first));
  else
    connection_->send_queue().wait(*this, 1);
}

/// Posts RDMA Writes while the send queue has free entries. Posts the reply after its last Write. A Write reports its
/// completion in two cases: no entry is free for the Write that follows it, or it is the last Write of write_ahead().
/// `first` is the entry for the first Write.
void CallImpl::push(SendUnits first) {
  push_units_ = std::move(first);
  const std::uint32_t max_gather = connection_->fabric().capabilities().max_gather;
  for (;;) {
    splitter_.next(write_, max_gather);
    const bool more = settle_push();
    SendUnits another = more ? connection_->send_queue().try_reserve(1) : SendUnits();
    const bool report = more ? another.count() == 0 : static_cast<bool>(ahead_handler_);
    wrote_ = true;
    // If the post fails, the connection has been aborted, and lost() ends the call.
    if (connection_->post_write(write_.gather, write_.handle, write_.offset, report ? &write_work_ : nullptr)) return;
    if (report) return;
    if (!more) return post_reply();
    push_units_.absorb(std::move(another));
  }
}

void CallImpl::on_written(const fabric::Completion& completion) noexcept {
  connection_->enter_batch();
  if (completion.status) {
    if (ahead_handler_ && link_ != nullptr) link_->wrote(fingerprint());
    return connection_->abort(completion.status);
  }
  push_units_.release();
  if (ahead_handler_ && !settle_push()) return written_ahead();
  push_or_wait();
}

/// [8797-4.1-a] [8797-4.1-b] [8797-4.1-c] Returns the handle that the Send of this reply invalidates: the handle of a
/// segment in the chunk lists of the call. Returns nothing if the Send must not or need not invalidate a handle.
std::optional<std::uint32_t> CallImpl::handle_to_invalidate() const noexcept {
  if (ending_ != Ending::reply || !connection_->thresholds().remote_invalidation) return std::nullopt;
  const wire::ChunkLists& chunks = header_.chunks;
  for (std::size_t i = 0; i < chunks.write_chunk_count(); ++i)
    for (const Segment& segment : chunks.write_chunk(i))
      if (segment.length != 0) return segment.handle;
  for (const Segment& segment : chunks.reply_chunk())
    if (segment.length != 0) return segment.handle;
  for (const wire::ReadSegment& read : chunks.reads)
    if (read.target.length != 0) return read.target.handle;
  return std::nullopt;
}

// [8166-3.3.1-g] the responder sends only answers to messages of the client
void CallImpl::post_reply() {
  const std::span<const BufferRef> stream = plan_.long_reply ? std::span<const BufferRef>() : plan_.stream;
  const error_code built =
      message_.finish(plan_.header, plan_.header_size, stream, connection_->fabric().capabilities().max_gather);
  if (built) return connection_->abort(built);
  if (wrote_) written_ = fingerprint();
  lease_.release();
  fabric::SendOptions options;
  options.invalidate = handle_to_invalidate();
  // Other calls may wait for what this call holds until the Send completes: the memory of chunks, bytes of the budget
  // for bulk data, and a place in the queue of replies.
  const SendCredits& replies = connection_->reply_queue();
  options.defer_completion = header_.chunks.empty() && bulk_ == 0 && replies.free() > replies.capacity() / 2;
  if (connection_->post_send(message_.gather(), options, &send_work_)) return;  // the connection ends or has ended
  RPCRDMA_PROBE(reply_sent, connection_.get(), header_.xid, builder_.payload().length, wrote_ ? 1 : 0);
  if (open_plan_) connection_->plan_posted(*open_plan_);
  open_plan_.reset();
  if (latency_ != nullptr) connection_->note_reply(*latency_, arrived_);
  Traffic& counted = connection_->counted();
  counted.credits_granted += plan_.header.credits;
  counted.long_replies += plan_.long_reply ? 1 : 0;
  if (ending_ == Ending::error) {
    connection_->count_error(plan_.header.error);
    service_.count(service_.counters.errors_sent);
  }
  if (options.invalidate) service_.count(service_.counters.invalidated);
}

void CallImpl::on_sent(const fabric::Completion& completion) noexcept {
  connection_->enter_batch();
  RPCRDMA_PROBE(reply_completed, connection_.get(), header_.xid, completion.status.value());
  if (wrote_) link_->wrote(written_);
  if (completion.status) connection_->abort(completion.status);
  over(completion.status ? error_code(TransportError::connection_lost) : completion.status);
}

/// Moves the budget bytes of this call from the shares of its connection to the shares of lost connections.
void CallImpl::leave_link() {
  if (link_ == nullptr) return;
  link_->bulk().move_to(service_.lost_bulk(), bulk_);
  link_->long_calls().move_to(service_.lost_long_calls(), long_call_octets_);
  std::exchange(link_, nullptr)->remove(*this);
}

void CallImpl::lost() {
  leave_link();
  reply_unit_.forget();
  push_units_.forget();
  if (bulk_request_.withdraw()) {
    bulk_asked_ = 0;
    tell_later(std::move(bulk_handler_), TransportError::connection_lost);
    bulk_handler_.reset();
  }
  long_call_request_.withdraw();
  if (ahead_handler_) tell_later(std::move(ahead_handler_), TransportError::connection_lost);
  ahead_handler_.reset();
  drop_jobs();
  if (state_ != State::delivered) over(TransportError::connection_lost);
}

void CallImpl::drop_jobs() {
  for (PullJob* job : jobs_) {
    job->forget_units();
    if (Handler handler = job->take_handler()) tell_later(std::move(handler), TransportError::chunk_unreadable);
    service_.give_back(*job);
  }
  jobs_.clear();
}

/// Ends the call. First releases its buffers and its entries of the send queue, then runs the handler with `status`,
/// and then returns its bytes to the budgets. Finally gives this object back to the Service, which may use it for
/// another call.
void CallImpl::over(error_code status) {
  const ConnectionPtr connection = std::move(connection_);
  connection_.reset();
  leave_link();
  lease_.release();
  message_.reset();
  long_call_.reset();
  reply_unit_.release();
  push_units_.release();
  bulk_request_.withdraw();
  bulk_handler_.reset();
  ahead_ = 0;
  const std::size_t bulk = std::exchange(bulk_, 0);
  const std::size_t long_call = std::exchange(long_call_octets_, 0);
  bulk_asked_ = 0;
  state_ = State::idle;
  Handler handler = std::move(handler_);
  handler_.reset();
  Service& service = service_;
  if (handler) handler(status);
  // Gives the bytes back to the budgets only now, after the buffers of the call have been released and the handler has
  // run. A call that has waited for these bytes then finds free memory.
  service.lost_bulk().release(bulk);
  service.lost_long_calls().release(long_call);
  service.note_bulk();
  service.give_back(*this);
}

}  // namespace rpcrdma::transport
