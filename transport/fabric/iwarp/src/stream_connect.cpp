// SPDX-License-Identifier: BSD-3-Clause
// Operation: a connector runs an Initiator; an acceptor answers its Request at once. Either way establish() follows.
// Ownership: the socket comes from the Initiator or the Request.
// Error handling: on_disconnected reports whatever went wrong.
#include <algorithm>

#include "stream.hpp"

namespace rpcrdma::fabric::iwarp {

namespace {

constexpr std::chrono::milliseconds kRarestNudge{std::chrono::seconds(5)};

}  // namespace

void Stream::connect(const Endpoint& peer) {
  state_ = State::connecting;
  initiator_ =
      std::make_shared<Initiator>(fabric_, peer, options_, [weak = weak_from_this()](Initiator::Outcome outcome) {
        if (const auto self = weak.lock()) self->connected(std::move(outcome));
      });
  initiator_->start();
}

void Stream::connected(Initiator::Outcome outcome) {
  if (state_ != State::connecting) return;
  initiator_.reset();
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
}

void Stream::accept() {
  state_ = State::connecting;
  const auto request = std::move(request_);
  ConnectionInfo info = request->info();
  error_code error;
  Descriptor descriptor = request->take_socket();
  socket_.assign(info.local.protocol(), descriptor.get(), error);
  if (!error) {
    descriptor.release();
    error = prepare(socket_, fabric_->options.keepalive);
  }
  Agreement agreement;
  if (!error) {
    const SetupWishes wishes = fabric_->wishes(options_, info.local, info.peer);
    const StartupFrame reply = make_reply(request->frame(), wishes, options_.private_data, agreement);
    error = write_all(socket_.native_handle(), encode(reply));  // [5044-7.1.2-e]
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
  if (fabric_->options.max_ulpdu != 0)
    mulpdu_ = clamp_mulpdu(fabric_->options.max_ulpdu);
  else if (info_.peer.address().is_loopback() || info_.peer.address() == info_.local.address())
    mulpdu_ = kMaxMulpdu;  // nothing aligns segments to FPDUs on this path
  else
    mulpdu_ = mulpdu_for(segment_size(socket_), agreement.send_markers);  // [5044-3-b] [5044-5.1-a]
  // Responses that are made but not yet written still take a place.
  reads_in_.reserve(agreement.inbound_reads + FpduWriter::kMaxFrames);
  reads_out_.reserve(std::max(agreement.outbound_reads, 1u));
  response_cursor_ = 0;
  writer_.start(agreement.crc, agreement.send_markers);
  reader_.start(agreement.crc, agreement.receive_markers);
  state_ = State::established;
  established_pending_ = true;
  fabric_->log.debug("iwarp {}: connected to {} port {}, crc {}, reads in {} out {}, segments of {}", number_,
                     info_.peer.address().to_string(), info_.peer.port(), agreement.crc ? "on" : "off",
                     agreement.inbound_reads, agreement.outbound_reads, mulpdu_);
  read();
}

// [6581-9.2-f] [6581-5-a] before anything else; the queue is empty yet
void Stream::post_ready_to_receive(ReadyToReceive kind) {
  if (kind == ReadyToReceive::none) return;
  if (kind == ReadyToReceive::write) {
    empty_write_due_ = true;
  } else {
    Work& work = add_work(kind == ReadyToReceive::read ? Work::Kind::read : Work::Kind::send, nullptr);
    --send_slots_;
    work.holds_slot = false;
    work.handle = 0;
    work.offset = 0;
    submitted_ = works_.tail();
  }
  transmit();
}

/// Linux siw leaves an FPDU that comes right behind its Reply unread until more octets follow, and an acceptor of
/// the client-server model may not send before it has seen one. On a slow host the octets that follow may come too
/// early as well.
void Stream::start_nudge_timer(std::chrono::milliseconds after) {
  timer_.expires_after(after);
  timer_.async_wait([weak = weak_from_this(), after](error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->state_ != State::established || self->any_segment_) return;
    self->empty_write_due_ = true;
    self->transmit();
    self->start_nudge_timer(std::min(4 * after, kRarestNudge));
    self->progress();
  });
}

}  // namespace rpcrdma::fabric::iwarp
