// SPDX-License-Identifier: BSD-3-Clause
#include "raw_peer.hpp"

#include <algorithm>
#include <cstring>

namespace rpcrdma::test {

struct RawPeer::Receive final : fabric::WorkContext {
  Receive(RawPeer& of, memory::RegisteredBuffer buffer) : peer(of), memory(std::move(buffer)) {}
  void on_completion(const fabric::Completion& completion) noexcept override {
    if (completion.status) return;
    Message& message = peer.messages.emplace_back();
    const BufferRef all = memory.ref();
    message.octets.assign(all.data, all.data + completion.length);
    message.invalidated = completion.invalidated;
    if (const auto size = wire::decode(message.octets, message.header))
      message.payload.assign(message.octets.begin() + static_cast<std::ptrdiff_t>(*size), message.octets.end());
    peer.queue_pair_->post_receive(memory.ref(), this);
  }
  RawPeer& peer;
  memory::RegisteredBuffer memory;
};

struct RawPeer::Work final : fabric::WorkContext {
  explicit Work(RawPeer& of) : peer(of) {}
  void on_completion(const fabric::Completion& completion) noexcept override {
    if (into != nullptr && !completion.status) {
      std::memcpy(into->data(), memory.ref().data, into->size());
      peer.read_ended_ = true;
    }
  }
  RawPeer& peer;
  memory::RegisteredBuffer memory;
  Bytes* into = nullptr;
};

RawPeer::RawPeer(fabric::Fabric& fabric) : fabric_(fabric), pool_(fabric) {}
RawPeer::~RawPeer() { close(); }

void RawPeer::close() {
  windows_.clear();
  queue_pair_.reset();
}

fabric::QueuePairOptions RawPeer::options() const {
  fabric::QueuePairOptions out;
  out.send_depth = 256;
  out.receive_depth = receives;
  out.inbound_reads = inbound_reads;
  out.private_data = private_data;
  return out;
}

void RawPeer::connect(const fabric::Endpoint& server) {
  close();
  open(*fabric_.make_connector(server, options(), *this));
}

fabric::Endpoint RawPeer::listen() {
  listener_ = *fabric_.listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                              [this](std::unique_ptr<fabric::ConnectionRequest> request) {
                                close();
                                open(*fabric_.make_acceptor(std::move(request), options(), *this));
                              });
  return listener_->local();
}

void RawPeer::open(std::unique_ptr<fabric::QueuePair> queue_pair) {
  connected_ = ended_ = read_ended_ = false;
  queue_pair_ = std::move(queue_pair);
  while (receive_slots_.size() < receives)
    receive_slots_.push_back(std::make_unique<Receive>(*this, *pool_.allocate(receive_size)));
  for (const auto& slot : receive_slots_) queue_pair_->post_receive(slot->memory.ref(), slot.get());
  fabric_.start(*queue_pair_);
}

void RawPeer::on_established(const fabric::ConnectionInfo& info) noexcept {
  info_ = info;
  connected_ = true;
  ++connections_;
}

void RawPeer::on_disconnected(error_code) noexcept {
  connected_ = false;
  ended_ = true;
}

void RawPeer::abort() { queue_pair_->abort(); }

void RawPeer::send(Octets message, std::optional<std::uint32_t> invalidate) {
  auto& work = work_.emplace_back(std::make_unique<Work>(*this));
  work->memory = *pool_.allocate(std::max<std::uint32_t>(static_cast<std::uint32_t>(message.size()), 1));
  if (!message.empty()) std::memcpy(work->memory.ref().data, message.data(), message.size());
  const BufferRef buffer = work->memory.first(static_cast<std::uint32_t>(message.size()));
  fabric::SendOptions send_options;
  send_options.invalidate = invalidate;
  queue_pair_->post_send({&buffer, message.empty() ? 0u : 1u}, send_options, work.get());
  queue_pair_->submit();
}

void RawPeer::send(const wire::Header& header, Octets payload, std::optional<std::uint32_t> invalidate) {
  Bytes message(wire::encoded_size(header));
  wire::encode(header, message).value();
  message.insert(message.end(), payload.begin(), payload.end());
  send(message, invalidate);
}

RawPeer::Message RawPeer::take() {
  if (messages.empty()) return {};
  Message out = std::move(messages.front());
  messages.pop_front();
  return out;
}

RawPeer::Exposed RawPeer::expose(std::uint32_t size, fabric::Access access) {
  Exposed out;
  out.memory = *pool_.allocate(size);
  windows_.push_back(*queue_pair_->make_window());
  out.window = windows_.back().get();
  out.segment = queue_pair_->bind(*out.window, out.memory.ref(), access).value();
  return out;
}

void RawPeer::write(const Segment& to, Octets data) {
  auto& work = work_.emplace_back(std::make_unique<Work>(*this));
  work->memory = *pool_.allocate(static_cast<std::uint32_t>(data.size()));
  std::memcpy(work->memory.ref().data, data.data(), data.size());
  const BufferRef buffer = work->memory.ref();
  queue_pair_->post_write({&buffer, 1}, to.handle, to.offset, work.get());
  queue_pair_->submit();
}

void RawPeer::read(const Segment& from, Bytes& into) {
  into.resize(from.length);
  auto& work = work_.emplace_back(std::make_unique<Work>(*this));
  work->memory = *pool_.allocate(from.length);
  work->into = &into;
  read_ended_ = false;
  queue_pair_->post_read(work->memory.ref(), from.handle, from.offset, work.get());
  queue_pair_->submit();
}

Bytes words(std::initializer_list<std::uint32_t> values) {
  Bytes out(values.size() * 4);
  Writer writer(out);
  for (const std::uint32_t value : values) writer.u32(value);
  return out;
}

}  // namespace rpcrdma::test
