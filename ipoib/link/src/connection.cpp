// SPDX-License-Identifier: BSD-3-Clause
// Operation: Receives are posted before the connection is set up. A Receive is posted again once its packet has been
// passed on, at the latest at the end of its batch. Packets are posted from the buffers into which they were read,
// batch by batch.
// Ownership: the connection owns all buffers; a posted buffer belongs to the provider until its completion. A packet's
// buffer is exchanged for a free one, so that sending neither copies nor allocates.
// Error handling: a failure to post ends the connection; on_over reports the number of lost packets.
//
// Credits are used if both sides announce them. A grant counts packets only; each side posts kCreditReceives more
// Receives for the peer's credit messages. A side sends a credit message when it has posted Receives for half of the
// depth since its last one. Between two credit messages that it processes, the peer can send at most one depth of
// packets. Therefore at most two credit messages are in transit to the peer, and each finds a Receive.
#include "connection.hpp"

#include <algorithm>

#include "rpcrdma/ipoib/wire/encapsulation.hpp"

namespace rpcrdma::ipoib {
namespace {

constexpr std::uint32_t kCreditReceives = 4;

/// Whether `one` is ahead of `other`, modulo 2^32.
bool ahead(std::uint32_t one, std::uint32_t other) noexcept { return static_cast<std::int32_t>(one - other) > 0; }

}  // namespace

struct Connection::Receive final : fabric::WorkContext {
  explicit Receive(Connection& of) noexcept : connection(of) {}
  void on_completion(const fabric::Completion& completion) noexcept override { connection.received(*this, completion); }
  Connection& connection;
  memory::RegisteredBuffer buffer;
};

struct Connection::Send final : fabric::WorkContext {
  explicit Send(Connection& of) noexcept : connection(of) {}
  void on_completion(const fabric::Completion& completion) noexcept override { connection.sent(*this, completion); }
  Connection& connection;
  memory::RegisteredBuffer buffer;
};

struct Connection::CreditSend final : fabric::WorkContext {
  void on_completion(const fabric::Completion&) noexcept override { busy = false; }
  memory::RegisteredBuffer buffer;
  bool busy = false;
};

Connection::Connection(fabric::Fabric& fabric, const ConnectionLimits& limits, ConnectionEvents& events)
    : fabric_(fabric), limits_(limits), events_(events) {}

Connection::~Connection() { queue_pair_.reset(); }

std::vector<std::byte> Connection::private_data() const {
  const PrivateData data{
      .qpn = limits_.qpn, .receive_mtu = limits_.receive_mtu, .extension = Extension{.credits = limits_.depth}};
  const auto bytes = encode(data);  // [4755-3.2-a] every message of the set-up carries the queue pair number
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(encoded_size(data))};
}

fabric::QueuePairOptions Connection::options() const {
  return {.number = info_.number,
          .send_depth = limits_.depth + 1u,
          .receive_depth = limits_.depth + kCreditReceives,
          .inbound_reads = 1,
          .outbound_reads = 1,
          .private_data = private_data(),
          .handshake_timeout = limits_.handshake_timeout};
}

error_code Connection::allocate(memory::Pool& pool) {
  const auto buffer_into = [&](memory::RegisteredBuffer& out, std::uint32_t size) -> error_code {
    auto made = pool.allocate(size);
    if (!made) return made.error();
    out = std::move(*made);
    return {};
  };
  for (std::uint32_t i = 0; i < limits_.depth + kCreditReceives; ++i) {
    receives_.push_back(std::make_unique<Receive>(*this));
    if (const error_code failed = buffer_into(receives_.back()->buffer, limits_.receive_mtu)) return failed;
  }
  kept_.reserve(receives_.size());
  free_sends_.reserve(limits_.depth);
  for (std::uint32_t i = 0; i < limits_.depth; ++i) {
    sends_.push_back(std::make_unique<Send>(*this));
    if (const error_code failed = buffer_into(sends_.back()->buffer, limits_.receive_mtu)) return failed;
    free_sends_.push_back(sends_.back().get());
  }
  credit_send_ = std::make_unique<CreditSend>();
  if (const error_code failed = buffer_into(credit_send_->buffer, kCreditFrameSize)) return failed;
  packets_granted_ = grant_announced_ = limits_.depth;
  return {};
}

error_code Connection::post_receives() noexcept {
  for (const auto& receive : receives_)
    if (const error_code failed = queue_pair_->post_receive(receive->buffer.ref(), receive.get())) return failed;
  return {};
}

error_code Connection::connect(const fabric::Endpoint& peer, memory::Pool& pool) {
  info_.number = next_connection_number();
  info_.fabric = fabric_.capabilities().name;
  info_.peer = peer;
  if (const error_code failed = allocate(pool)) return failed;
  auto made = fabric_.make_connector(peer, options(), *this);
  if (!made) return made.error();
  queue_pair_ = std::move(*made);
  if (const error_code failed = post_receives()) return failed;
  fabric_.start(*queue_pair_);
  return {};
}

error_code Connection::accept(std::unique_ptr<fabric::ConnectionRequest> request, const PrivateData& peer) {
  info_ = request->info();
  if (!learn_peer(peer)) return BaseError::invalid_argument;
  auto made = fabric_.make_acceptor(std::move(request), options(), *this);
  if (!made) return made.error();
  queue_pair_ = std::move(*made);
  if (const error_code failed = post_receives()) return failed;
  fabric_.start(*queue_pair_);
  return {};
}

/// Adopts the limits that the peer has announced. Returns false if its Receive MTU is too small for a packet.
bool Connection::learn_peer(const PrivateData& peer) noexcept {
  peer_ = peer;
  // [4755-5.1-a] the smaller Receive MTU limits the packets
  const auto mtu = connection_mtu(limits_.receive_mtu, peer.receive_mtu);
  if (!mtu) return false;
  mtu_ = *mtu;
  credits_in_use_ = peer.extension && peer.extension->credits != 0;
  if (credits_in_use_) packets_allowed_ = peer.extension->credits;
  return true;
}

void Connection::on_established(const fabric::ConnectionInfo& info) noexcept {
  if (!peer_) {  // this side sent the request: the reply states the limits of the peer
    const auto peer = decode_private_data(info.private_data);
    if (!peer || !learn_peer(*peer)) {
      failed_ = true;
      return queue_pair_->abort();
    }
  }
  state_ = State::established;
  made_ = true;
  events_.on_established(*this);
}

void Connection::on_rejected(const fabric::ConnectionInfo& peer) noexcept {
  peer_ = decode_private_data(peer.private_data);
}

void Connection::on_disconnected(error_code why) noexcept {
  state_ = State::over;
  // If the connection was never established, failed_ means that the peer's reply was unusable, which is an error. If
  // the connection was established, failed_ means that a work request could not be posted. That is not necessarily an
  // error, because it also happens after an orderly end of the connection.
  if (failed_ && !made_ && !why) why = fabric::FabricError::protocol_violation;
  events_.on_over(*this, why, lost_);
}

void Connection::on_batch_end() noexcept {
  events_.on_batch_end(*this);
  if (state_ == State::established) {
    if (std::exchange(room_, false) && has_room()) events_.on_room(*this);
    return_credits();
  }
  submit();
}

bool Connection::has_room() const noexcept {
  return state_ == State::established && !failed_ && !free_sends_.empty() &&
         (!credits_in_use_ || ahead(packets_allowed_, packets_sent_));
}

void Connection::send(Packet& packet) noexcept {
  Send& send = *free_sends_.back();
  free_sends_.pop_back();
  std::swap(send.buffer, packet.buffer);
  encode_header(packet.type, send.buffer.octets().first<kHeaderSize>());
  const BufferRef frame = send.buffer.first(static_cast<std::uint32_t>(kHeaderSize) + packet.length);
  ++packets_sent_;
  active_ = posted_ = true;
  if (!queue_pair_->post_send({&frame, 1}, {}, &send)) return;
  free_sends_.push_back(&send);
  ++lost_;
  failed_ = true;
}

void Connection::submit() noexcept {
  if (state_ == State::setting_up || state_ == State::over) return;
  if (std::exchange(posted_, false)) queue_pair_->submit();
  if (failed_) queue_pair_->abort();
}

void Connection::disconnect() noexcept {
  if (state_ == State::established) {
    state_ = State::closing;
    queue_pair_->disconnect();
  } else if (state_ == State::setting_up) {
    queue_pair_->abort();
  }
}

void Connection::quiesce() noexcept {
  state_ = State::over;
  if (queue_pair_) queue_pair_->quiesce();
}

void Connection::sent(Send& send, const fabric::Completion& completion) noexcept {
  free_sends_.push_back(&send);
  if (completion.status) ++lost_;
  room_ = true;
}

void Connection::received(Receive& receive, const fabric::Completion& completion) noexcept {
  // A Receive that has failed is not posted again, because on_disconnected() follows.
  if (completion.status || state_ == State::over) return;
  const Octets frame = receive.buffer.octets().first(std::min(completion.length, receive.buffer.ref().size));
  if (credits_in_use_ && decode_header(frame) == FrameType::credit) {
    received_credit(frame);
  } else {
    active_ = true;
    if (events_.on_frame(*this, frame)) return kept_.push_back(&receive);
    ++packets_granted_;
  }
  return_receive(receive);
}

void Connection::return_receive(Receive& receive) noexcept {
  if (queue_pair_->post_receive(receive.buffer.ref(), &receive)) failed_ = true;
  posted_ = true;
}

void Connection::return_frames() noexcept {
  for (Receive* const receive : kept_) {
    ++packets_granted_;
    return_receive(*receive);
  }
  kept_.clear();
}

void Connection::received_credit(Octets frame) noexcept {
  const auto limit = decode_credit(frame);
  if (!limit || !ahead(*limit, packets_allowed_)) return;
  packets_allowed_ = *limit;
  room_ = true;
}

void Connection::return_credits() noexcept {
  if (!credits_in_use_ || credit_send_->busy || packets_granted_ - grant_announced_ < limits_.depth / 2u) return;
  encode_credit(packets_granted_, credit_send_->buffer.octets().first<kCreditFrameSize>());
  const BufferRef frame = credit_send_->buffer.first(kCreditFrameSize);
  credit_send_->busy = posted_ = true;
  grant_announced_ = packets_granted_;
  if (queue_pair_->post_send({&frame, 1}, {}, credit_send_.get())) failed_ = true;
}

}  // namespace rpcrdma::ipoib
