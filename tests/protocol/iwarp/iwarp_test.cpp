// SPDX-License-Identifier: BSD-3-Clause
#include "iwarp_test.hpp"

#include <cstdlib>

namespace rpcrdma::test {

void IwarpTest::open(const fabric::IwarpOptions& options) {
  const bool loud = std::getenv("RPCRDMA_TEST_LOG") != nullptr;
  fabric_ =
      fabric::open_iwarp(context_, options, Log(make_stderr_sink(loud ? LogLevel::debug : LogLevel::error, "test")))
          .value();
  memory_ = std::make_unique<Memory>(*fabric_, 8u << 20, std::byte{0xee});
  node_ = std::make_unique<Node>(*fabric_);
}

void IwarpTest::listen(fabric::QueuePairOptions options) {
  if (!fabric_) open({});
  auto handler = [this, options](std::unique_ptr<fabric::ConnectionRequest> request) {
    auto qp = fabric_->make_acceptor(std::move(request), options, node());
    ASSERT_TRUE(qp) << qp.error().message();
    node().qp = std::move(*qp);
    fabric_->start(*node().qp);
  };
  auto listener = fabric_->listen({boost::asio::ip::address_v4::loopback(), 0}, std::move(handler));
  ASSERT_TRUE(listener) << listener.error().message();
  listener_ = std::move(*listener);
}

void IwarpTest::ask(const Bytes& octets) {
  peer_.connect(listener_->local());
  peer_.send(octets);
}

void IwarpTest::serve(bool crc, fabric::QueuePairOptions options) {
  listen(std::move(options));
  ask(request(crc ? 0x50 : 0x10, 2, "00100010"));
  ASSERT_EQ(to_hex(peer_.receive(24)), to_hex(reply(crc ? 0x50 : 0x10, 2, "00100010")));
  ASSERT_TRUE(until([&] { return node().established(); }));
}

void IwarpTest::start(fabric::QueuePairOptions options) {
  if (!fabric_) open({});
  start_to(peer_.listen(), std::move(options));
}

void IwarpTest::start_to(const fabric::Endpoint& peer, fabric::QueuePairOptions options) {
  auto qp = fabric_->make_connector(peer, std::move(options), node());
  ASSERT_TRUE(qp);
  node().qp = std::move(*qp);
  fabric_->start(*node().qp);
}

Bytes IwarpTest::asked() {
  peer_.accept();
  Bytes header = peer_.receive(20);
  if (header.size() < 20) return header;
  Reader in(header);
  in.skip(18);
  return header + peer_.receive(in.u16());
}

void IwarpTest::connect(fabric::QueuePairOptions options) {
  start(std::move(options));
  ASSERT_EQ(to_hex(asked()), to_hex(request(0x10, 2, "00100010")));
  peer_.send(reply(0x10, 2, "00100010"));
  ASSERT_TRUE(until([&] { return node().established(); }));
}

error_code IwarpTest::end() {
  EXPECT_TRUE(until([&] { return node().disconnected.has_value(); }));
  return node().disconnected.value_or(error_code{});
}

void IwarpTest::post_receive(std::uint32_t size, int tag) {
  ASSERT_FALSE(node().qp->post_receive(memory().part(used_, size), node().op(tag)));
  used_ += size;
}

iwarp::Terminate IwarpTest::terminated(const iwarp::TerminateCode& code) {
  Heard last;
  do {
    last = peer_.segment();
  } while (last.opcode() != Opcode::terminate && !HasFailure());
  terminate_ = last.payload;
  iwarp::Terminate message;
  EXPECT_TRUE(iwarp::decode(terminate_, message));
  EXPECT_EQ(iwarp::describe(message.code), iwarp::describe(code));
  EXPECT_EQ(last.header.queue, 2u);
  EXPECT_EQ(last.header.msn, 1u);
  EXPECT_TRUE(peer_.ends()) << "bytes follow the Terminate";
  EXPECT_FALSE(peer_.was_reset());
  return message;
}

}  // namespace rpcrdma::test
