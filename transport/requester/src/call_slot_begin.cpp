// SPDX-License-Identifier: BSD-3-Clause
// Operation. begin() encodes a call into a send buffer, plans it, exposes its memory, and sends it. If a call and its
// longest reply fit inline, the call needs no windows.
// Ownership. The slot holds buffers and windows until the call is over, and the send buffer at least until the Send has
// completed.
// Errors. A shortage before bind_all() is reported as Start::wait, and RequesterCore retries while other work may end
// the shortage. A call that cannot be sent, as after a later shortage, fails at once [8166-4.5.4-c]. If the connection
// is at fault, the call counts as sent and waits for the end of the connection.
#include "call_slot.hpp"
#include "requester_core.hpp"
#include "rpcrdma/connection/probe.hpp"

namespace rpcrdma::transport {
namespace {

constexpr std::uint32_t kMaxSegments = 64;

bool begins_with(const Payload& payload, std::uint32_t xid) noexcept {
  if (payload.pieces.empty()) return false;
  return Reader(payload.pieces.front().octets.octets()).u32() == xid;
}

/// True if the connection is at fault: the call may succeed on another connection.
bool blames_connection(error_code status) noexcept {
  return status == fabric::FabricError::flushed || status == fabric::FabricError::not_connected ||
         status == fabric::FabricError::queue_full;
}

}  // namespace

CallSlot::Start CallSlot::begin(Call& call, std::uint64_t sequence) {
  call_ = &call;
  call.reply_arrival = nullptr;
  xid_ = call.xid;
  sequence_ = sequence;
  status_ = {};
  over_by_ = std::chrono::steady_clock::time_point::max();
  answered_ = false;
  needs_send_ = false;
  send_again_ = false;
  const Start started = build(call);
  if (started != Start::sent) {
    reply_memory_.reset();
    message_.reset();
    send_units_.release();
    invalidate_units_.release();
    call.reply_arrival = nullptr;
    call_ = nullptr;
  }
  return started;
}

CallSlot::Start CallSlot::build(Call& call) {
  Connection& connection = *core_.connection();
  const RequesterSetup& setup = core_.setup();
  if (message_.begin(connection.pool(), connection.buffer_size(), setup.max_long_call, builder_)) return Start::wait;
  call.encode(builder_);
  if (!builder_.ok()) {
    status_ = TransportError::call_too_long;
    return builder_.failure() == BuildFailure::out_of_memory ? Start::wait : Start::failed;
  }
  // [8166-4.2.1-a] [8166-3.2-a] [8167-5.1-b] the message begins with the XID of the call
  if (!begins_with(builder_.payload(), xid_)) {
    status_ = BaseError::invalid_argument;
    return Start::failed;
  }
  const CallShape shape{&builder_.payload(), call.results, call.max_reply, call.may_reduce, message_.zeros()};
  const PlanLimits limits{connection.max_call(), connection.thresholds().receive, kMaxSegments, setup.max_long_call,
                          connection.version()};
  status_ = plan_call(shape, limits, plan_);
  // [8167-5.3-a] [8167-5.3-c] [xchar-3.3-c] The setup of a requester for reverse calls does not permit chunks. A
  // reverse call may have chunks only if the peer is known to accept them.
  const bool may_use_chunks = setup.may_use_chunks || connection.peer_takes_reverse_chunks();
  if (!status_ && !may_use_chunks && !plan_.header.chunks.empty())
    status_ = plan_.header.chunks.reads.empty() ? TransportError::reply_too_long : TransportError::call_too_long;
  if (status_) return Start::failed;
  // [8167-5.1-a] [v2-4.2.2-c] the header already has the version of the connection, which both directions use
  plan_.header.xid = xid_;
  plan_.header.credits = core_.credits().requested();  // [8166-4.2.3-a] a call carries the requested credits
  return expose();
}

/// Reserves what the call needs until it is over: a receive for the reply, and entries of the send queue for the Send,
/// for the binds and for the invalidations. Then exposes the memory of the chunks and posts the Send. Returns
/// Start::wait if a receive, an entry or memory for the Reply chunk is not available now.
CallSlot::Start CallSlot::expose() {
  Connection& connection = *core_.connection();
  const auto windows = static_cast<std::uint32_t>(plan_.windows());
  // [8166-3.3.1-f] [8167-4.3.1-a] posts a receive for each expected reply, in addition to the receives of the other
  // direction
  const std::uint32_t receives = core_.credits().in_flight() + 1 + core_.setup().other_credits;
  if (connection.provide_receives(receives) < receives) return Start::wait;
  send_units_ = connection.send_queue().try_reserve(1 + windows);
  if (send_units_.count() == 0) return lacks_send_credits();
  if (windows != 0) {
    invalidate_units_ = connection.send_queue().try_reserve(windows);
    if (invalidate_units_.count() == 0) return lacks_send_credits();
  }
  if (plan_.reply_chunk > call_->reply_memory.size) {
    auto memory = connection.pool().allocate(plan_.reply_chunk);
    if (!memory) return Start::wait;
    reply_memory_ = std::move(*memory);
  }
  if (const error_code failed = bind_all()) return bind_failed(failed);
  // If the keys of the caller's memory may belong to a lost device, copies the memory instead of gathering it.
  const bool old_keys = !builder_.payload().items.empty() && connection.fabric().counters().reopened != 0;
  const error_code finished = message_.finish(plan_.header, plan_.header_size, plan_.inline_stream,
                                              old_keys ? 1 : connection.fabric().capabilities().max_gather);
  if (finished) return bind_failed(finished);
  return post();
}

CallSlot::Start CallSlot::lacks_send_credits() noexcept {
  status_ = fabric::FabricError::queue_full;
  return Start::wait;
}

CallSlot::Start CallSlot::post() {
  if (plan_.header.procedure == wire::Procedure::msg)
    for (const bool reduced : plan_.reduced) needs_send_ = needs_send_ || !reduced;
  const ChunkKinds kinds = core_.connection()->count_call(plan_.header);
  if (call_->statistics != nullptr) call_->statistics->count(builder_.payload().length, kinds);
  const error_code posted = core_.connection()->post_send(message_.gather(), {}, &send_work_);
  state_ = State::on_wire;
  send_pending_ = !posted;
  if (!posted) RPCRDMA_PROBE(call_sent, &core_, xid_, builder_.payload().length, windows_.size());
  // If the post has failed, the connection ends or has ended. If the connection caused the failure, the call counts as
  // sent, and lost() returns it. Otherwise the call ends with the error, because the call itself may be the cause.
  if (posted && !blames_connection(posted)) {
    answered_ = true;
    end(posted, true);
  } else if (plan_.header.version == wire::kVersionTwo) {
    core_.connection()->note_own_call(wire::min_header(wire::kVersionTwo) + builder_.payload().length);
  }
  return Start::sent;
}

/// Binds a window to the memory of each segment of each chunk, and writes the segments into the header of the call. A
/// window exposes exactly the bytes of its segment.
error_code CallSlot::bind_all() {
  wire::ChunkLists& chunks = plan_.header.chunks;
  for (std::size_t i = 0; i < plan_.reads.size(); ++i)
    if (const error_code failed = bind(plan_.reads[i], fabric::Access::remote_read, chunks.reads[i].target))
      return failed;
  std::size_t next = 0;
  for (std::size_t i = 0; i < chunks.write_chunk_count(); ++i)
    for (Segment& segment : chunks.write_chunk(i))
      if (const error_code failed = bind(plan_.writes[next++], fabric::Access::remote_write, segment)) return failed;
  if (plan_.reply_chunk == 0) return {};
  const error_code failed = bind(reply_memory(), fabric::Access::remote_write, chunks.reply_chunk().front());
  if (!failed && !reply_memory_) call_->reply_arrival = dynamic_cast<const fabric::Arrival*>(windows_.back());
  return failed;
}

/// The memory of the Reply chunk: the caller's memory or, if that is too short, memory of the pool.
BufferRef CallSlot::reply_memory() const noexcept {
  return reply_memory_ ? reply_memory_.ref() : call_->reply_memory.slice(0, plan_.reply_chunk);
}

error_code CallSlot::bind(BufferRef memory, fabric::Access access, Segment& out) {
  Connection& connection = *core_.connection();
  const Result<fabric::Window*> window = connection.take_window();
  if (!window) return window.error();
  windows_.push_back(*window);
  // [8166-8.1.2-b] [8166-8.1.3-a] exposes memory for one call only
  const Result<Segment> segment = connection.bind(**window, memory, access);
  if (!segment) return segment.error();
  out = *segment;
  ++plan_bound_;
  return {};
}

/// To be called when expose() fails with `why` after it has begun to bind windows. If the connection is at fault,
/// aborts it, and lost() later takes the call from the slot. Otherwise ends the call with `why` after its windows have
/// been invalidated, without waiting for a reply. Returns Start::sent although nothing has been sent: in both cases the
/// slot keeps the call, which must not be queued again.
CallSlot::Start CallSlot::bind_failed(error_code why) {
  state_ = State::on_wire;
  if (blames_connection(why)) {
    core_.connection()->abort(why);
    return Start::sent;
  }
  answered_ = true;
  end(why, true);
  return Start::sent;
}

}  // namespace rpcrdma::transport
