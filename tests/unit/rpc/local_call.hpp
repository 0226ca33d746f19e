// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A minimal transport: delivers calls to a handler in the same process and stores the replies.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/responder/responder.hpp"
#include "rpcrdma/rpc/block_memory.hpp"
#include "rpcrdma/rpc/message.hpp"
#include "support/run.hpp"
#include "unit/xdr/stream.hpp"

namespace rpcrdma::test {

/// One call as the handler sees it. The test sets the message, the Write chunks and the data of the Read chunks, and
/// reads the reply from the members below.
class LocalCall final : public transport::IncomingCall, private PayloadMemory {
 public:
  enum class End : std::uint8_t { none, sent, discarded, failed };

  LocalCall(boost::asio::io_context& context, memory::Pool& pool, fabric::Endpoint peer)
      : context_(context), pool_(pool) {
    info_.peer = peer;
  }

  InMessage message;
  std::vector<std::uint32_t> chunks;  ///< bytes of each Write chunk offered
  std::vector<Bytes> items;           ///< the data that pull() delivers
  End end = End::none;
  std::uint32_t xid_word = 0;
  Bytes reply_octets;                              ///< the reply's reduced stream
  Payload reply_items;                             ///< the reply's items
  error_code outcome;                              ///< the status that send() reports
  bool hold = false;                               ///< if true, finish() instead of send() runs the handler of send()
  std::optional<std::uint32_t> reply_room;         ///< bytes of memory for the reply; default: unbounded
  BaseError no_more = BaseError::buffer_overflow;  ///< the error of an allocation beyond reply_room
  BuildFailure failure = BuildFailure::none;       ///< why the reply could not be built; set by send()

  void finish() {
    Handler handler = std::move(handler_);
    handler(outcome);
  }

  std::uint32_t xid() const noexcept override { return xid_word; }
  const Payload& payload() const noexcept override { return message.payload(); }
  const fabric::ConnectionInfo& connection() const noexcept override { return info_; }
  boost::asio::io_context& context() noexcept override { return context_; }
  memory::Pool& pool() noexcept override { return pool_; }
  std::span<const std::uint32_t> write_chunks() const noexcept override { return chunks; }
  void reserve_bulk(std::uint32_t, Handler handler) override { handler({}); }
  void pull(std::size_t index, std::span<const BufferRef> destination, Handler handler) override {
    Octets from = items.at(index);
    for (const BufferRef& part : destination) {
      const std::size_t step = std::min<std::size_t>(from.size(), part.size);
      std::memcpy(part.data, from.data(), step);
      from = from.subspan(step);
    }
    handler({});
  }
  PayloadBuilder& reply() noexcept override {
    if (reply_room) {
      room_.assign(*reply_room, std::byte{0});
      builder_.start({room_.data(), *reply_room, 1}, this);
    } else {
      memory_.start(builder_);
    }
    return builder_;
  }
  void send(Handler handler) override {
    end = End::sent;
    failure = builder_.failure();
    for (const PayloadPiece& piece : builder_.payload().pieces)
      reply_octets.insert(reply_octets.end(), piece.octets.data, piece.octets.data + piece.octets.size);
    reply_items = builder_.payload();
    handler_ = std::move(handler);
    if (!hold) finish();
  }
  void discard() override { end = End::discarded; }
  void fail() override { end = End::failed; }

 private:
  Result<BufferRef> more_payload_memory(std::uint32_t) override { return no_more; }

  boost::asio::io_context& context_;
  memory::Pool& pool_;
  fabric::ConnectionInfo info_;
  PayloadBuilder builder_;
  rpc::BlockMemory memory_;
  Bytes room_;
  Handler handler_;
};

/// Stands in for the server side of a transport. make() makes a call in memory, and deliver() passes it to the handler
/// under test. Owns the calls.
class LocalTransport {
 public:
  explicit LocalTransport(transport::CallHandler& handler) : handler_(handler) {}

  boost::asio::io_context context;
  rpc::Credential credential = rpc::Credential::sys(1000, 100, {}, "local");
  fabric::Endpoint peer{boost::asio::ip::make_address("192.0.2.7"), 700};

  LocalCall& make() { return calls_.emplace_back(context, pool_, peer); }
  /// A call with `header` and the arguments that `args` writes.
  LocalCall& make(const rpc::CallHeader& header, const std::function<void(xdr::Encoder&)>& args = {}) {
    OutMessage out;
    xdr::Encoder encoder(out.out());
    rpc::encode(encoder, header);
    if (args) args(encoder);
    LocalCall& call = make();
    call.xid_word = header.xid;
    call.message.piece(out.reduced(), 0);
    return call;
  }
  template <rpc::Procedure P>
  LocalCall& make(const typename P::Args& args, std::uint32_t xid) {
    return make({xid, 2, P::kInfo.program, P::kInfo.version, P::kInfo.number, credential},
                [&args](xdr::Encoder& out) { out.encode(&P::xdr_args, args); });
  }
  LocalCall& deliver(LocalCall& call) {
    handler_.on_call(call);
    run_ready(context);
    return call;
  }

 private:
  transport::CallHandler& handler_;
  fabric::LoopbackNetwork network_{context};
  std::unique_ptr<fabric::LoopbackFabric> fabric_ = network_.make_fabric();
  memory::Pool pool_{*fabric_};
  std::deque<LocalCall> calls_;
};

/// Returns the RPC header of a reply; fails if none was sent.
inline rpc::ReplyHeader header_of(const LocalCall& call) {
  EXPECT_EQ(call.end, LocalCall::End::sent);
  const InMessage message{call.reply_octets};
  xdr::Decoder in(message.payload());
  rpc::ReplyHeader header;
  EXPECT_TRUE(rpc::decode(in, header));
  return header;
}

}  // namespace rpcrdma::test
