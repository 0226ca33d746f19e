// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Connects the typed client to the typed server, without a transport and without allocations: each decodes what the
// other encodes. A test may modify replies on the way.
#include <array>
#include <cstring>
#include <deque>
#include <functional>

#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::test {

class DirectWire final : public transport::Requester, private transport::IncomingCall {
 public:
  DirectWire(transport::CallHandler& handler, boost::asio::io_context& context, memory::Pool& pool)
      : handler_(handler), context_(context), pool_(pool) {}

  std::function<void(Payload&)> tamper;  ///< modifies a reply

  /// Serves the call that was submitted.
  void pump() {
    call_builder_.start(room(call_memory_), nullptr);
    call_->encode(call_builder_);
    chunks_.clear();
    for (const auto& result : call_->results) {
      std::uint32_t size = 0;
      for (const BufferRef& part : result) size += part.size;
      chunks_.push_back(size);
    }
    handler_.on_call(*this);
  }

  void submit(transport::Call& call) override { call_ = &call; }
  void cancel(transport::Call&) override {}
  std::uint32_t next_xid() noexcept override { return ++xid_; }
  Counters counters() const noexcept override { return {}; }

 private:
  static BufferRef room(std::span<std::byte> memory) {
    return {memory.data(), static_cast<std::uint32_t>(memory.size()), 1};
  }
  std::uint32_t xid() const noexcept override { return xid_; }
  const Payload& payload() const noexcept override { return call_builder_.payload(); }
  const fabric::ConnectionInfo& connection() const noexcept override { return info_; }
  boost::asio::io_context& context() noexcept override { return context_; }
  memory::Pool& pool() noexcept override { return pool_; }
  std::span<const std::uint32_t> write_chunks() const noexcept override { return {chunks_.data(), chunks_.size()}; }
  void reserve_bulk(std::uint32_t, Handler handler) override { handler({}); }
  void pull(std::size_t, std::span<const BufferRef>, Handler handler) override { handler({}); }
  PayloadBuilder& reply() noexcept override {
    reply_builder_.start(room(reply_memory_), nullptr);
    return reply_builder_;
  }
  void discard() override {}
  void fail() override {}
  void send(Handler handler) override {
    const Payload& sent = reply_builder_.payload();
    arrived_.clear();
    std::uint32_t length = 0;
    for (const PayloadPiece& piece : sent.pieces) {
      arrived_.pieces.push_back({length, piece.octets});
      length += piece.octets.size;
    }
    arrived_.length = length;
    for (std::size_t i = 0; i < chunks_.size(); ++i) write(i < sent.items.size() ? &sent.items[i] : nullptr, i);
    if (tamper) tamper(arrived_);
    handler({});
    call_->done({}, &arrived_);
  }
  /// Copies an item to the client's buffer for the chunk with the number `chunk`.
  void write(const PayloadItem* item, std::size_t chunk) {
    PayloadItem& out = arrived_.items.emplace_back();
    out.position = PayloadItem::kNoPosition;
    if (item == nullptr) return;
    out.length = item->length;
    out.parts.push_back(call_->results[chunk][0].slice(0, item->length));
    std::memcpy(out.parts[0].data, item->parts[0].data, item->length);
  }

  transport::CallHandler& handler_;
  boost::asio::io_context& context_;
  memory::Pool& pool_;
  fabric::ConnectionInfo info_;
  transport::Call* call_ = nullptr;
  std::uint32_t xid_ = 100;
  boost::container::small_vector<std::uint32_t, 4> chunks_;
  std::array<std::byte, 4096> call_memory_{};
  std::array<std::byte, 4096> reply_memory_{};
  PayloadBuilder call_builder_;
  PayloadBuilder reply_builder_;
  Payload arrived_;
};

}  // namespace rpcrdma::test
