// SPDX-License-Identifier: BSD-3-Clause
// Operation. A call waits for a send credit for its reply, and is then checked. A long call is pulled, completely or up
// to ServerOptions::first_of_long_call. Then the call is delivered in its reduced form. Read chunks are pulled when the
// handler names their destination.
// Ownership. The message stays in its receive buffer until just before the reply is posted; a long call stays in pool
// memory until the call is over.
// Errors. A malformed header or chunk is answered by RDMA_ERROR. If the pool lacks memory for a long call although the
// budget has granted it, the connection is aborted, and the client sends the call again.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <functional>
#include <string_view>

#include "call_impl.hpp"
#include "pull_job.hpp"
#include "rpcrdma/connection/probe.hpp"
#include "service.hpp"
#include "serving_link.hpp"

namespace rpcrdma::transport {
namespace {

constexpr std::uint32_t kCallType = 0;
constexpr std::size_t kLongCall = static_cast<std::size_t>(-1);
constexpr std::size_t kRestOfCall = static_cast<std::size_t>(-2);

}  // namespace

void CallImpl::take(ServingLink& link, Connection& connection, Received& message) {
  state_ = State::queued;
  ending_ = Ending::none;
  link_ = &link;
  connection_ = &connection;
  std::swap(header_, message.header);
  lease_ = std::move(message.lease);
  inline_payload_ = message.payload;
  arrived_ = connection.batch_time();
  latency_ = nullptr;
  wrote_ = false;
  open_plan_.reset();
  RPCRDMA_PROBE(call_received, &connection, header_.xid, inline_payload_.size);
}

void CallImpl::arrive(ServingLink& link, Connection& connection, Received& message, ChunkKinds kinds) {
  take(link, connection, message);
  kinds_ = kinds;
  reserve_place();
}

void CallImpl::refuse(ServingLink& link, Connection& connection, Received& message, wire::ErrorKind kind,
                      error_code why) {
  take(link, connection, message);
  ending_ = Ending::error;
  error_kind_ = kind;
  refusal_ = why;
  reserve_place();
}

void CallImpl::reserve_place() {
  SendUnits place = connection_->reply_queue().try_reserve(1);
  if (place.count() != 0)
    on_units(std::move(place));
  else
    connection_->reply_queue().wait(*this, 1);
}

void CallImpl::on_units(SendUnits units) noexcept {
  if (state_ != State::queued) return push(std::move(units));
  reply_unit_ = std::move(units);
  if (ending_ == Ending::error)
    send_error(error_kind_, nullptr);
  else
    open_call();
}

void CallImpl::open_call() {
  const ServiceSetup& setup = service_.setup();
  // [8166-4.5.3-a] Refuses a call that the client sends again after the chunks of the call have broken an earlier
  // connection. They would probably break this connection too.
  const bool broke_one = setup.faulty_calls != nullptr && !setup.faulty_calls->empty() &&
                         setup.faulty_calls->take(connection_->info().peer.address(), fingerprint());
  // [8167-5.3-b] [xchar-3.3-c] On a client, the call is a reverse call. It may have chunks only if this client has
  // announced that it accepts them, which is possible in version two only.
  const bool announced = connection_->role() == Role::server || header_.version >= wire::kVersionTwo;
  const bool unwanted_chunks = !(setup.may_use_chunks && announced) && !header_.chunks.empty();
  // [8166-4.5.3-a] A peer with an IRD of 0 accepts no RDMA Reads, so this side cannot read the Read chunks of a call.
  const bool unreadable = !header_.chunks.reads.empty() && connection_->info().outbound_reads == 0;
  const char* const why = broke_one         ? "its chunks have broken a connection before"
                          : unwanted_chunks ? "it has chunks, which this side does not accept"
                          : unreadable      ? "it has Read chunks, but the peer takes no RDMA Reads"
                          : !reads_.parse(header_, setup.max_chunk) ? "its Read chunks are inconsistent or too large"
                                                                    : nullptr;
  if (why != nullptr) return send_error(wire::ErrorKind::chunk, why);
  if (header_.procedure == wire::Procedure::msg) return deliver(inline_payload_);
  // [8166-3.5.3-c] a long call may call any RPC procedure
  state_ = State::pulling;
  bulk_asked_ = reads_.long_call().length;
  link_->long_calls().acquire(long_call_request_, bulk_asked_);
  if (long_call_request_.waits()) note_wait();
}

void CallImpl::pull_long_call() noexcept {
  long_call_octets_ = std::exchange(bulk_asked_, 0);
  service_.note_bulk();
  if (link_->is_lost()) return;  // lost() follows
  // Pulls only the first part of the message, unless the call also has other Read chunks. These may have any position
  // in the message, so the whole message is then needed.
  const std::uint32_t length = reads_.long_call().length;
  const std::uint32_t first = reads_.chunks().empty() ? std::min(length, service_.setup().first_of_long_call) : length;
  auto memory = pool().allocate(first);
  if (!memory) return connection_->abort(memory.error());  // [8166-4.5.4-b] the call cannot be answered
  long_call_ = std::move(*memory);
  PullJob& job = service_.take_job();
  jobs_.push_back(&job);
  const BufferRef destination = long_call_.ref();
  job.start(*this, kLongCall, {&destination, 1}, reads_.long_call().segments, {});
}

/// Makes the fingerprint by which the server recognizes this call when the client sends it again. The hash excludes the
/// handles and offsets of the chunks, because they differ when the client sends the call again.
CallFingerprint CallImpl::fingerprint() const noexcept {
  const Octets message = inline_payload_.octets();
  std::uint64_t mixed = std::hash<std::string_view>{}({reinterpret_cast<const char*>(message.data()), message.size()});
  const auto mix = [&mixed](std::uint32_t word) { mixed = (mixed ^ word) * 0x100000001b3u; };
  const wire::ChunkLists& chunks = header_.chunks;
  for (const wire::ReadSegment& read : chunks.reads) {
    mix(read.position);
    mix(read.target.length);
  }
  for (std::size_t i = 0; i < chunks.write_chunk_count(); ++i)
    for (const Segment& segment : chunks.write_chunk(i)) mix(segment.length);
  for (const Segment& segment : chunks.reply_chunk()) mix(segment.length);
  return {header_.xid, mixed};
}

bool CallImpl::is_message(BufferRef stream) const noexcept {
  Reader reader(stream.octets());
  return reader.u32() == header_.xid && reader.u32() == kCallType && reader.ok();
}

void CallImpl::deliver(BufferRef stream) {
  // [8166-4.2.1-a] [8166-4.5.2-a] the message must be a call with the XID of the header
  if (!is_message(stream))
    return send_error(wire::ErrorKind::chunk, "its payload is not a call with the XID of the header");
  if (!reads_.assemble(stream, payload_))
    return send_error(wire::ErrorKind::chunk, "its Read chunks do not fit the call");
  if (header_.procedure == wire::Procedure::nomsg && reads_.chunks().empty())
    payload_.length = reads_.long_call().length;
  write_sizes_.clear();
  for (std::size_t i = 0; i < header_.chunks.write_chunk_count(); ++i) {
    const std::uint64_t size = total_length(header_.chunks.write_chunk(i));
    write_sizes_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(size, 0xffffffffu)));
  }
  state_ = State::delivered;
  RPCRDMA_PROBE(call_delivered, connection_.get(), header_.xid, payload_.length);
  service_.setup().handler->on_call(*this);
}

void CallImpl::measure(CallStatistics& statistics) noexcept {
  latency_ = &statistics.latency;
  statistics.count(payload_.length, kinds_);
  if (link_ != nullptr) link_->count(statistics);
}

void CallImpl::pull(std::size_t index, std::span<const BufferRef> destination, Handler handler) {
  if (link_ == nullptr) return tell_later(std::move(handler), TransportError::connection_lost);
  const std::uint64_t room = total_size(destination);
  // A chunk may include up to 3 bytes of pad for which the destination has no room [8166-3.4.5.2-d].
  const bool sound = index < payload_.items.size() && payload_.items[index].parts.empty() && room != 0 &&
                     room + 3 >= payload_.items[index].length;
  if (!sound) return tell_later(std::move(handler), BaseError::invalid_argument);
  PullJob& job = service_.take_job();
  jobs_.push_back(&job);
  job.start(*this, index, destination, reads_.chunks()[index].segments, std::move(handler));
}

void CallImpl::pull_rest(std::uint32_t offset, std::span<const BufferRef> destination, Handler handler) {
  if (link_ == nullptr) return tell_later(std::move(handler), TransportError::connection_lost);
  const std::uint64_t size = total_size(destination);
  const bool sound = long_call_ && offset >= long_call_.ref().size && offset <= payload_.length && size != 0 &&
                     size <= payload_.length - offset;
  if (!sound) return tell_later(std::move(handler), BaseError::invalid_argument);
  PullJob& job = service_.take_job();
  jobs_.push_back(&job);
  job.start(*this, kRestOfCall, destination, reads_.long_call().segments, std::move(handler), offset);
}

void CallImpl::pulled(PullJob& job, error_code status) {
  jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
  RPCRDMA_PROBE(pull_completed, connection_.get(), header_.xid, static_cast<int>(job.item()), status.value());
  const bool no_memory = status == fabric::FabricError::locked_memory;
  if (status && !no_memory) link_->pull_failed(fingerprint());
  Handler handler = job.take_handler();
  if (job.item() == kLongCall) {
    service_.give_back(job);
    if (!status) return deliver(long_call_.ref());
    // [8166-4.5.4-b] The call cannot be delivered, so the connection must end. If the destination of the RDMA Read
    // could not be registered, this side ends the connection here. After any other error, the connection is already
    // ending.
    if (no_memory) connection_->abort(status);
    return;
  }
  if (!status && job.item() != kRestOfCall) {
    PayloadItem& item = payload_.items[job.item()];
    std::uint32_t left = item.length;
    for (const BufferRef& part : job.destination()) {
      const std::uint32_t size = std::min(part.size, left);
      if (size != 0) item.parts.push_back(part.slice(0, size));
      left -= size;
    }
  }
  service_.give_back(job);
  const bool ending = ending_ != Ending::none;
  handler(status && !no_memory ? error_code(TransportError::chunk_unreadable) : status);
  if (ending) end_if_ready();
}

void CallImpl::reserve_bulk(std::uint32_t octets, Handler handler) {
  if (link_ == nullptr || link_->is_lost()) return tell_later(std::move(handler), TransportError::connection_lost);
  // A call must not wait for a second reservation while it holds one: calls could wait for each other for ever.
  if (bulk_handler_ || bulk_ != 0) return tell_later(std::move(handler), BaseError::invalid_argument);
  if (octets > service_.budget().capacity()) return tell_later(std::move(handler), BaseError::out_of_memory);
  bulk_asked_ = octets;
  bulk_handler_ = std::move(handler);
  link_->bulk().acquire(bulk_request_, octets);
  if (bulk_request_.waits()) note_wait();
}

void CallImpl::note_wait() {
  ++connection_->counted().budget_waits;
  service_.note_wait();
}

void CallImpl::bulk_granted() noexcept {
  const std::size_t bytes = std::exchange(bulk_asked_, 0);
  Handler handler = std::move(bulk_handler_);
  bulk_handler_.reset();
  if (link_->is_lost()) {
    // When a connection is lost, its calls end one after the other. If one of these calls releases bytes, the budget
    // may grant the bytes to this call, which has not ended yet. This call no longer needs the bytes.
    link_->bulk().release(bytes);
    return tell_later(std::move(handler), TransportError::connection_lost);
  }
  bulk_ = bytes;
  service_.note_bulk();
  handler({});
}

void CallImpl::tell_later(Handler handler, error_code status) {
  boost::asio::post(context(), [handler = std::move(handler), status]() mutable { handler(status); });
}

}  // namespace rpcrdma::transport
