// SPDX-License-Identifier: BSD-3-Clause
// Operation. The life cycle of a connection: created with receives posted, started, established (thresholds
// negotiated), ended. The end of a batch of completions submits the work that was posted during the batch. A later
// handler, or the end of the present one, submits all other work.
// Ownership. A connection owns its queue pair, windows and receive memory. The memory lives as long as the last lease.
// Errors. A failed post aborts the connection; connection.hpp names the exceptions. Unless destroy() ends the
// connection, the user receives one on_disconnected(), from the io_context, after the queue pair has been quiesced.
#include "rpcrdma/connection/connection.hpp"

#include <algorithm>

#include "control.hpp"
#include "rpcrdma/base/log_reason.hpp"
#include "rpcrdma/fabric/deferred_delete.hpp"

namespace rpcrdma::transport {
namespace {

/// A server posts at most this many receives for calls before it knows how many credits the client requests
/// [8166-3.3.3-e].
constexpr std::uint32_t kFirstReceives = 4;
/// The number of entries of the send queue that are reserved for RDMA_ERROR messages. The connection also reserves one
/// entry for the reply to each call that the peer may have outstanding.
constexpr std::uint32_t kErrorSends = 16;

/// The credits for the calls that this side sends (Role::client) or answers (Role::server).
std::uint32_t credits_of(const ConnectionSetup& setup, Role sender) noexcept {
  return setup.role == sender ? setup.options.credits : setup.options.reverse_credits;
}

/// [8166-3.3.3-b] [8166-3.3.3-c] The size is at least 1024. [v2-5.2-b] If version two is possible, the receives have
/// at least the inline threshold of version two from the start.
std::uint32_t receive_size(const ConnectionOptions& options) noexcept {
  const std::uint32_t size = options.private_data ? wire::advertised_size(options.receive_size) : wire::kMinThreshold;
  return options.version == VersionChoice::one ? size : std::max(size, wire::kVersionTwoThreshold);
}

wire::DecodeLimits limits(const ConnectionSetup& setup) noexcept {
  const VersionChoice choice = setup.options.version;
  return {.max_segments = setup.max_segments,
          .lowest_version = choice == VersionChoice::two ? wire::kVersionTwo : wire::kVersion,
          .highest_version = choice == VersionChoice::one ? wire::kVersion : wire::kVersionTwo};
}

}  // namespace

Connection::Connection(const ConnectionSetup& setup, fabric::ConnectionInfo info, ConnectionEvents& events)
    : setup_(setup),
      events_(&events),
      decode_limits_(limits(setup)),
      version_(setup.role == Role::client ? decode_limits_.highest_version : decode_limits_.lowest_version),
      version_settled_(decode_limits_.lowest_version == decode_limits_.highest_version),
      info_(std::move(info)),
      first_receive_size_(receive_size(setup.options)),
      receives_(*setup.pool, setup.receive_budget, first_receive_size_),
      send_queue_(credits_of(setup, Role::client) + setup.chunk_work),
      reply_queue_(credits_of(setup, Role::server) + kErrorSends),
      after_handler_(
          setup.fabric->context(), [](void* self) noexcept { static_cast<Connection*>(self)->scheduled_submit(); },
          this) {
  if (info_.number == 0) info_.number = next_connection_number();
  info_.fabric = setup.fabric->capabilities().name;
  setup_.log = setup.log.with(info_.subject());
  if (setup.options.version != VersionChoice::one)
    control_ = std::make_unique<Control>(*this, setup.options.characteristics);
}

Connection::~Connection() { destroy(); }

Result<ConnectionPtr> Connection::connect(const ConnectionSetup& setup, const fabric::Endpoint& peer,
                                          ConnectionEvents& events) {
  fabric::ConnectionInfo info;
  info.peer = peer;
  ConnectionPtr self(new Connection(setup, std::move(info), events));
  if (const error_code failed = self->start(setup.fabric->make_connector(peer, self->queue_pair_options(), *self)))
    return failed;
  return self;
}

Result<ConnectionPtr> Connection::accept(const ConnectionSetup& setup,
                                         std::unique_ptr<fabric::ConnectionRequest> request, ConnectionEvents& events) {
  ConnectionPtr self(new Connection(setup, request->info(), events));
  if (const error_code failed =
          self->start(setup.fabric->make_acceptor(std::move(request), self->queue_pair_options(), *self)))
    return failed;
  return self;
}

wire::PrivateData Connection::own_private_data() const noexcept {
  // [8166-3.3.3-d] [8797-4-d] without private data both thresholds are 1024
  if (!setup_.options.private_data) return {};
  wire::PrivateData out;
  // [8797-4.1-e] the flag is set only if every handle that this side advertises belongs to a window
  out.remote_invalidation = may_invalidate_remotely();
  out.send_size = setup_.options.send_size;
  out.receive_size = receives_.size();
  return out;
}

fabric::QueuePairOptions Connection::queue_pair_options() const {
  fabric::QueuePairOptions out;
  out.number = info_.number;
  out.send_depth = send_queue_.capacity() + reply_queue_.capacity() + (control_ ? Control::kSends : 0);
  out.receive_depth = max_receives();
  out.inbound_reads = setup_.options.inbound_reads;
  out.outbound_reads = setup_.options.outbound_reads;
  out.handshake_timeout = setup_.options.handshake_timeout;
  if (setup_.options.private_data) {
    const auto octets = wire::encode(own_private_data());
    out.private_data.assign(octets.begin(), octets.end());
  }
  return out;
}

std::uint32_t Connection::max_receives() const noexcept {
  return setup_.options.credits + setup_.options.reverse_credits + control_receives();
}

std::uint32_t Connection::control_receives() const noexcept { return control_ ? Control::kReceives : 0; }

std::uint32_t Connection::call_credits() const noexcept { return std::max(credits_of(setup_, setup_.role), 1u); }

std::uint32_t Connection::first_receives() const noexcept {
  const std::uint32_t calls = setup_.role == Role::server ? std::min(kFirstReceives, setup_.options.credits) : 1;
  // [8167-4.3.1-a] [8167-4.3.1-b] The receives for the reverse direction are posted from the start. On a client they
  // are for reverse calls, and on a server for the replies to reverse calls.
  return calls + setup_.options.reverse_credits;
}

error_code Connection::start(Result<std::unique_ptr<fabric::QueuePair>> queue_pair) {
  if (!queue_pair) return queue_pair.error();
  queue_pair_ = std::move(*queue_pair);
  const bool ready = add_receives(first_receives() + control_receives(), false) && (!control_ || !control_->prepare());
  if (!ready) {
    ended_ = true;
    queue_pair_.reset();
    return BaseError::out_of_memory;
  }
  setup_.fabric->start(*queue_pair_);
  return {};
}

std::uint32_t Connection::provide_receives(std::uint32_t count) noexcept {
  count = std::min(count, max_receives() - control_receives());
  if (ended_ || count <= receives()) return receives();
  add_receives(count - receives(), receives() >= first_receives());
  return receives();
}

bool Connection::add_receives(std::uint32_t more, bool within_budget) {
  const std::uint32_t first = receives_.count();
  if (!receives_.add(*this, more, within_budget)) return false;
  for (std::uint32_t i = first; i < receives_.count(); ++i)
    if (posted(queue_pair_->post_receive(receives_[i].memory(), &receives_[i]))) return false;
  return true;
}

void Connection::repost(ReceiveSlot& slot) noexcept {
  if (ended_) return;
  // [xchar-3.1-a] A posted receive must not be smaller than the announced size. The slot gets memory of the present
  // size before it is posted again. If there is no memory for a larger size, on_replaced() gives up this size before it
  // is announced.
  const bool replaced = slot.memory().size == receives_.size() || receives_.replace(slot);
  posted(queue_pair_->post_receive(slot.memory(), &slot));
  if (control_) control_->on_replaced(replaced);
}

void Connection::on_established(const fabric::ConnectionInfo& info) noexcept {
  const ConnectionPtr alive(this);  // the user may drop its reference in on_connected()
  const std::uint64_t number = info_.number;
  info_ = info;
  info_.number = number;
  // [8797-4-b] The thresholds and remote invalidation are negotiated anew for each connection. [8797-5.1-a] A peer that
  // sends no private data has thresholds of 1024 bytes and does not support remote invalidation.
  const wire::PrivateData peers = wire::find_private_data(info.private_data).value_or(wire::PrivateData{});
  thresholds_ = wire::negotiate(own_private_data(), peers);
  expects_invalidation_ = thresholds_.remote_invalidation;
  buffer_size_ = highest_send_ = thresholds_.send;
  if (decode_limits_.lowest_version == wire::kVersionTwo) use_version_two();
  connected_ = was_connected_ = true;
  events_->on_connected();
  end_batch();
}

/// [v2-2.3-a] the default threshold of version two holds in both directions, unless private data has announced a larger
/// one
void Connection::use_version_two() noexcept {
  version_ = wire::kVersionTwo;
  version_settled_ = true;
  thresholds_.send = std::max(thresholds_.send, wire::kVersionTwoThreshold);
  thresholds_.receive = std::max(thresholds_.receive, wire::kVersionTwoThreshold);
  buffer_size_ = highest_send_ = thresholds_.send;
}

void Connection::fall_back() noexcept {
  version_ = wire::kVersion;
  version_settled_ = true;
  if (control_) control_->switch_off();
}

std::uint32_t Connection::max_call() const noexcept {
  // [v2-5-b] Until the version is settled, the server may support version one only. Until then a call is at most 1024
  // bytes long, whatever the negotiated threshold is.
  return version_settled_ ? thresholds_.send : std::min(thresholds_.send, wire::kMinThreshold);
}

void Connection::close() noexcept {
  if (!ended_ && !std::exchange(closing_, true)) queue_pair_->disconnect();
}

void Connection::abort(error_code why, const char* message, std::optional<std::uint32_t> xid) noexcept {
  if (ended_) return;
  if (message != nullptr && !aborted_) message_log(xid).info("connection aborted: {}", message);
  aborted_ = true;
  // The errors `flushed` and `not_connected` do not tell why the connection ends. They are therefore not kept as the
  // reason. The fabric reports the reason when it reports the end of the connection.
  const bool echo = why == fabric::FabricError::flushed || why == fabric::FabricError::not_connected;
  if (!reason_ && !echo) reason_ = why;
  connected_ = false;
  queue_pair_->abort();
}

void Connection::log_end(error_code why) const {
  const char* const what = was_connected_ ? "connection ended" : "connection not made";
  // On a client, a debug line suffices, because the client also returns the error to its user. A server has no user to
  // whom it could return the error.
  if (why && setup_.role == Role::server)
    end_log().info("{}: {}", what, Reason{why});
  else
    end_log().debug("{}: {}", what, Reason{why});
}

void Connection::destroy() noexcept {
  events_ = nullptr;
  ended_ = true;
  connected_ = false;
  if (control_) control_->lost();
  send_queue_.drop_waiters();
  reply_queue_.drop_waiters();
  windows_.clear();
  if (!queue_pair_) return;
  traffic_.read_depth_waits = queue_pair_->read_waits();
  queue_pair_->quiesce();  // stores the number of retransmissions, so that the next line makes no system call
  traffic_.retransmissions = queue_pair_->retransmissions();
  // Deletes the queue pair later, because a callback of the queue pair may be calling this function.
  fabric::delete_later(context(), std::move(queue_pair_));
}

void Connection::on_rejected(const fabric::ConnectionInfo& peer) noexcept {
  if (!peer.peer_reads) return;
  setup_.log.debug("connection rejected by the peer, which stated ORD {} and IRD {}; this side stated IRD {}",
                   peer.peer_reads->outbound, peer.peer_reads->inbound, setup_.options.inbound_reads);
}

void Connection::on_disconnected(error_code why) noexcept {
  connected_ = false;
  // This function is a callback of the queue pair. finish() gives up the queue pair and notifies the user, so finish()
  // runs later, from the io_context.
  guard_.post(context(), [why](Connection& self) {
    // Keeps the connection until finish() has returned, because the user may drop its reference in on_disconnected().
    const ConnectionPtr alive(&self);
    self.finish(self.reason_ ? self.reason_ : why);
  });
}

void Connection::finish(error_code why) noexcept {
  ConnectionEvents* events = events_;
  if (events == nullptr) return;
  destroy();
  events->on_disconnected(why);
}

}  // namespace rpcrdma::transport
