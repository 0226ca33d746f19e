// SPDX-License-Identifier: BSD-3-Clause
// Operation: a connector runs an Initiator; an acceptor answers its Request at once. Then establish() runs in both
// roles.
// Ownership: the socket comes from the Initiator or the Request.
// Error handling: on_disconnected reports any failure.
#include <algorithm>

#include "rpcrdma/base/host_path.hpp"
#include "stream/stream.hpp"

namespace rpcrdma::fabric::iwarp {

namespace {

constexpr std::chrono::milliseconds kRarestNudge{std::chrono::seconds(5)};
/// A path within the host usually has TCP segments of at least this size.
constexpr std::uint32_t kHostSegment = 16384;
/// The send buffer within the host, until it has been full. The kernel doubles it, so it takes a message of 1 MiB at
/// once.
constexpr int kSendBufferAtFirst = 640 * 1024;

}  // namespace

void Stream::start(const std::optional<Endpoint>& peer) {
  if (!state_.enter(Event::start)) return;
  if (peer)
    connect(*peer);
  else
    accept();
}

void Stream::connect(const Endpoint& peer) {
  info_.number = options_.number != 0 ? options_.number : next_connection_number();
  info_.fabric = fabric_->capabilities.name;
  info_.peer = peer;
  log_ = fabric_->log.with(info_.subject());
  initiator_ =
      std::make_shared<Initiator>(fabric_, peer, options_, log_, [weak = weak_from_this()](Initiator::Outcome outcome) {
        if (const auto self = weak.lock()) self->connected(std::move(outcome));
      });
  initiator_->start();
}

void Stream::connected(Initiator::Outcome outcome) {
  if (state_.over()) return;
  initiator_.reset();
  outcome.info.number = info_.number;
  outcome.info.fabric = info_.fabric;
  if (outcome.error) {
    info_ = std::move(outcome.info);
    end(outcome.error);
  } else {
    may_transmit_ = true;
    establish(std::move(outcome.socket), outcome.agreement, std::move(outcome.info));
    post_ready_to_receive(agreement_.ready_to_receive);
    start_nudge_timer(fabric_->options.nudge_after);
  }
  progress();
  // [5044-7.1.2-m] The keepalive options are set last, so that the first message need not wait for them. progress() may
  // have ended the stream.
  if (socket_.is_open()) keep_alive(socket_.native_handle(), fabric_->options.keepalive);
}

void Stream::accept() {
  const auto request = std::move(request_);
  ConnectionInfo info = request->info();
  log_ = fabric_->log.with(info.subject());
  Fd descriptor = request->take_socket();
  Agreement agreement;
  const SetupWishes wishes = fabric_->wishes(options_, info.local, info.peer);
  const StartupFrame reply = make_reply(request->frame(), wishes, options_.private_data, agreement);
  // [5044-7.1.2-e] The bit R of this Reply is 0, which accepts the connection. The initiator waits for the Reply, which
  // is therefore sent before the socket is registered with the event loop.
  error_code error = write_all(descriptor.get(), encode(reply));
  if (!error) socket_.assign(info.local.protocol(), descriptor.get(), error);
  if (!error) {
    descriptor.release();
    socket_.non_blocking(true, error);
  }
  if (error) {
    end(error);
  } else {
    info.inbound_reads = agreement.inbound_reads;
    info.outbound_reads = agreement.outbound_reads;
    establish(std::move(socket_), agreement, std::move(info));
  }
  wake();
}

// [5044-7.1-a] [5044-7.1-b] the stream exists before the first FPDU in either direction
void Stream::establish(Socket socket, const Agreement& agreement, ConnectionInfo info) {
  socket_ = std::move(socket);
  agreement_ = agreement;
  info_ = std::move(info);
  if (within_host()) {
    limit_send_buffer(socket_, kSendBufferAtFirst);
    do_not_pace(socket_.native_handle());
  }
  const std::uint32_t mulpdu = choose_mulpdu();
  sends_.start(mulpdu, agreement.outbound_reads);
  responder_.start(mulpdu, agreement.inbound_reads);
  writer_.start(agreement.crc, agreement.send_markers);
  reader_.start(agreement.crc, agreement.receive_markers);
  state_.enter(Event::establish);
  dispatcher_.establish(info_);
  log_.debug("connected: crc {}, IRD {}, ORD {}, MULPDU {}", agreement.crc ? "on" : "off", agreement.inbound_reads,
             agreement.outbound_reads, mulpdu);
  read();
}

bool Stream::within_host() const { return rpcrdma::within_host(info_.local.address(), info_.peer.address()); }

std::uint32_t Stream::choose_mulpdu() {
  if (fabric_->options.max_ulpdu != 0) return clamp_mulpdu(fabric_->options.max_ulpdu);
  const std::uint32_t emss = segment_size(socket_);
  // On a path within the host, an FPDU need not fit one TCP segment, so the largest MULPDU is used. An FPDU must fit
  // if the segments of the path are shorter than kHostSegment, as they are on a network.
  if (within_host() && emss >= kHostSegment) return kMaxMulpdu;
  return mulpdu_for(emss, agreement_.send_markers);  // [5044-3-b] [5044-5.1-a] an FPDU fits one TCP segment
}

// [6581-9.2-f] [6581-5-a] Sends the Ready to Receive (RTR) indication, if both sides have agreed on one: an RDMA Write,
// Read or Send of zero bytes. It must precede all other work of the initiator. It does, because the send queue is still
// empty when this function is called.
void Stream::post_ready_to_receive(ReadyToReceive kind) {
  switch (kind) {
    case ReadyToReceive::none: return;
    case ReadyToReceive::write: source_.demand_empty_write(); break;
    case ReadyToReceive::read: sends_.post_indication(Work::Kind::read); break;
    case ReadyToReceive::send: sends_.post_indication(Work::Kind::send); break;
  }
  transmit();
}

/// Sends an empty RDMA Write if no segment of the peer arrives within `after`. Repeats the Write at growing intervals
/// until a segment arrives.
///
/// The Write is for Linux siw as the acceptor. If an FPDU of this side directly follows the MPA Reply, siw does not
/// process the FPDU until more bytes arrive. In the client-server model, the acceptor must not send before it has
/// processed an FPDU, so both sides would wait. The Write is repeated because on a slow host the first one may arrive
/// too early as well.
void Stream::start_nudge_timer(std::chrono::milliseconds after) {
  timer_.expires_after(after);
  timer_.async_wait([weak = weak_from_this(), after](error_code error) {
    const auto self = weak.lock();
    if (error || !self || !self->state_.accepts_work() || self->any_segment_) return;
    self->source_.demand_empty_write();
    self->transmit();
    self->start_nudge_timer(std::min(4 * after, kRarestNudge));
    self->progress();
  });
}

}  // namespace rpcrdma::fabric::iwarp
