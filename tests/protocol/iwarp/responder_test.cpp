// SPDX-License-Identifier: BSD-3-Clause
// Connection set-up by the responder: most tests send frames and state the expected answer.
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>

#include "iwarp_test.hpp"

namespace rpcrdma::test {
namespace {

class Responder : public IwarpTest {
 protected:
  /// The peer sends a request that is not answered: the connection is closed, and the request handler does not run.
  void refused(const Bytes& octets) {
    listen();
    ask(octets);
    EXPECT_TRUE(peer_.ends());
    EXPECT_EQ(node().qp, nullptr);
  }
};

// [6581-10-a] [6581-9.1-b] [6581-9.2-c] [5044-7.1.1-a] This side answers an enhanced Request with an enhanced Reply,
// which states the read depths of this side. [8166-5-a] The peer connects by TCP to the port of the listener.
TEST_F(Responder, EnhancedRequest) {
  fabric::QueuePairOptions options;
  options.private_data = from_hex("f6ab0e1801000303");
  listen(options);
  ask(request(0x10, 2, "00800000f6ab0e1801010303"));
  EXPECT_EQ(to_hex(peer_.receive(32)), to_hex(reply(0x10, 2, "00000010f6ab0e1801000303")));
  ASSERT_TRUE(until([&] { return node().established(); }));
  EXPECT_EQ(to_hex(node().info->private_data), "f6ab0e1801010303");
  EXPECT_EQ(node().info->inbound_reads, 0u);
  EXPECT_EQ(node().info->outbound_reads, 16u);
  EXPECT_EQ(node().info->peer_reads, (fabric::ReadDepths{128, 0}));
}

// [6581-6-c] [6581-10-b] This side answers a Request of revision 1 with a Reply of revision 1, which is not enhanced.
TEST_F(Responder, RevisionOne) {
  listen();
  ask(request(0x00, 1, "f6ab0e1801010303"));
  EXPECT_EQ(to_hex(peer_.receive(20)), to_hex(reply(0x00, 1, "")));
}

TEST_F(Responder, RevisionTwoWithoutEnhancedData) {
  listen();
  ask(request(0x00, 2, "aabb"));
  EXPECT_EQ(to_hex(peer_.receive(20)), to_hex(reply(0x00, 2, "")));
  ASSERT_TRUE(until([&] { return node().established(); }));
  EXPECT_EQ(to_hex(node().info->private_data), "aabb");
}

// [5044-7.1.1-e] [5044-7.1.1-f] the responder ignores the reject bit and the reserved bits of an MPA Request
TEST_F(Responder, FlagsThatMeanNothing) {
  listen();
  ask(request(0x2f, 1, ""));
  EXPECT_EQ(to_hex(peer_.receive(20)), to_hex(reply(0x00, 1, "")));
}

// [5044-7.1.2-c] [5044-7.1.1-b] [5044-8-b]
TEST_F(Responder, Garbage) { refused(filled(100, 0xab)); }
// [5044-7.1.2-i]
TEST_F(Responder, AReplyWhereARequestBelongs) { refused(reply(0x10, 2, "00100010")); }
// [5044-7.1.1-h] [5044-7.1.2-k]
TEST_F(Responder, PrivateDataOf513) { refused(request(0x00, 1, std::string(513 * 2, '0'))); }
// [5044-7.1.1-g]
TEST_F(Responder, RevisionZero) { refused(request(0x00, 0, "")); }
TEST_F(Responder, RevisionThree) { refused(request(0x00, 3, "")); }
TEST_F(Responder, Revision255) { refused(request(0x10, 255, "00000000")); }
// [6581-6-d]
TEST_F(Responder, EnhancedWithoutItsWord) { refused(request(0x10, 2, "0000")); }
TEST_F(Responder, OctetsBehindTheRequest) { refused(request(0x10, 2, "00100010") + send(1, {})); }

TEST_F(Responder, PrivateDataOf512) {
  listen();
  ask(request(0x10, 2, "00100010" + std::string(508 * 2, 'a')));
  EXPECT_EQ(peer_.receive(24).size(), 24u);
  ASSERT_TRUE(until([&] { return node().established(); }));
  EXPECT_EQ(node().info->private_data.size(), 508u);
}

TEST_F(Responder, RequestOctetByOctet) {
  listen();
  peer_.connect(listener_->local());
  for (const std::byte octet : request(0x10, 2, "00100010")) {
    peer_.send({octet});
    run_ready(context_);
  }
  EXPECT_EQ(to_hex(peer_.receive(24)), to_hex(reply(0x10, 2, "00100010")));
}

// [5044-7.1.2-j]
TEST_F(Responder, HalfARequestThenSilence) {
  fabric::IwarpOptions options;
  options.request_timeout = std::chrono::milliseconds(50);
  open(options);
  for (const std::size_t size : {0u, 11u, 22u}) {
    listen();
    const Bytes whole = request(0x10, 2, "00100010");
    RawPeer peer(context_);
    peer.connect(listener_->local());
    peer.send({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_TRUE(peer.ends());
  }
}

TEST_F(Responder, TheOldestHalfOpenConnectionGivesWay) {
  fabric::IwarpOptions options;
  options.max_half_open = 2;
  options.request_timeout = std::chrono::minutes(10);
  open(options);
  listen();
  RawPeer oldest(context_);
  RawPeer newest(context_);
  oldest.connect(listener_->local());
  peer_.connect(listener_->local());
  newest.connect(listener_->local());
  EXPECT_TRUE(oldest.ends());
  peer_.send(request(0x10, 2, "00100010"));
  EXPECT_EQ(peer_.receive(24).size(), 24u);
}

// [5044-7.1.2-d] [6581-9.1-a] the handler receives the read depths of the request, and rejects it with private data
TEST_F(Responder, Rejection) {
  open({});
  std::uint32_t inbound = 0;
  std::uint32_t outbound = 0;
  listener_ = std::move(*fabric_->listen({boost::asio::ip::address_v4::loopback(), 0},
                                         [&](std::unique_ptr<fabric::ConnectionRequest> request) {
                                           inbound = request->info().inbound_reads;
                                           outbound = request->info().outbound_reads;
                                           fabric_->reject(std::move(request), from_hex("0102"));
                                         }));
  ask(request(0x50, 2, "00070009"));
  EXPECT_EQ(to_hex(peer_.receive(26)), to_hex(reply(0x70, 2, "000000000102")));
  EXPECT_TRUE(peer_.ends());
  EXPECT_EQ(inbound, 7u);
  EXPECT_EQ(outbound, 9u);
}

// [6581-9.1-h] [6581-9.1-i]
TEST_F(Responder, DepthsThatAreNotNegotiated) {
  listen();
  ask(request(0x10, 2, "3fff3fff"));
  EXPECT_EQ(to_hex(peer_.receive(24)), to_hex(reply(0x10, 2, "3fff3fff")));
  ASSERT_TRUE(until([&] { return node().established(); }));
  EXPECT_EQ(node().info->inbound_reads, 16u);
  EXPECT_EQ(node().info->outbound_reads, 16u);
}

struct CrcCase {
  bool ours;
  bool theirs;
};
class ResponderCrc : public Responder, public testing::WithParamInterface<CrcCase> {};

// [5044-7.1.1-d] [5044-4.4-c] [5044-4.4-d] [5044-4.4-f] [5044-4.1-d] [5044-6-a]
TEST_P(ResponderCrc, Matrix) {
  fabric::IwarpOptions options;
  options.crc = GetParam().ours;
  open(options);
  listen();
  ask(request(GetParam().theirs ? 0x50 : 0x10, 2, "00100010"));
  const bool on = GetParam().ours || GetParam().theirs;
  ASSERT_EQ(to_hex(peer_.receive(24)), to_hex(reply(on ? 0x50 : 0x10, 2, "00100010")));
  ASSERT_TRUE(until([&] { return node().established(); }));
  post_receive(100, 1);
  post_receive(100, 2);
  peer_.send(send(1, filled(10, 0x11)));
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  ASSERT_FALSE(node().send(memory().part(0, 10), 3));
  node().qp->submit();
  EXPECT_EQ(peer_.segment().crc_good, on);
  Bytes spoilt = send(2, filled(10, 0x22));
  spoilt.back() ^= std::byte{1};
  peer_.send(spoilt);
  if (on) {  // [5044-4.4-i] [5044-8-d] the wrong CRC makes the FPDU invalid, and the node sends a Terminate
    const iwarp::Terminate message = terminated(iwarp::terminate::kCrc);
    EXPECT_FALSE(message.has_length);
    EXPECT_EQ(end(), FabricError::protocol_violation);
    EXPECT_EQ(node().result(2).status, FabricError::flushed);
  } else {
    EXPECT_TRUE(until([&] { return node().count(2) == 1; }));
    EXPECT_FALSE(node().result(2).status);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ResponderCrc,
                         testing::Values(CrcCase{false, false}, CrcCase{false, true}, CrcCase{true, false},
                                         CrcCase{true, true}));

// [5044-4.3-a] [5044-4.3-e] [5044-7.1.2-l] [5044-7.1-a] If the peer requests markers, the first bytes that this side
// sends after the Reply are a marker.
TEST_F(Responder, MarkersThatThePeerAsksFor) {
  listen();
  ask(request(0x90, 2, "00100010"));
  ASSERT_EQ(to_hex(peer_.receive(24)), to_hex(reply(0x10, 2, "00100010")));
  ASSERT_TRUE(until([&] { return node().established(); }));
  post_receive(100, 1);
  peer_.send(send(1, {}));  // the peer sends no markers, because the Reply did not request them
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  ASSERT_FALSE(node().send(memory().part(1000, 600), 2));
  node().qp->submit();
  const Bytes stream = peer_.receive(4 + 2 + 18 + 600 + 4 + 4);
  EXPECT_EQ(to_hex(Octets(stream).first(8)), "00000000026a4143");
  EXPECT_EQ(to_hex(Octets(stream).subspan(512, 4)), "000001fc");
}

// [5044-7.1.2-h] This side sends no FPDU before it has received the first FPDU of the initiator. Work that is posted
// earlier waits.
TEST_F(Responder, SilentUntilTheFirstFpdu) {
  serve();
  ASSERT_FALSE(node().send(memory().part(0, 4), 1));
  ASSERT_FALSE(node().write(memory().part(0, 4), {5, 4, 0}, 2));
  node().qp->submit();
  run_ready(context_);
  EXPECT_EQ(peer_.available(), 0u);
  peer_.send(write(0, 0, {}));
  EXPECT_EQ(peer_.segment().opcode(), Opcode::send);
  EXPECT_EQ(peer_.segment().opcode(), Opcode::write);
  EXPECT_TRUE(until([&] { return node().count(2) == 1; }));
  EXPECT_EQ(node().tags(), (std::vector<int>{1, 2}));
}

// The first FPDU has a CRC error: without a valid FPDU from the initiator, this side must not send, not even a
// Terminate.
TEST_F(Responder, FirstFpduSpoilt) {
  serve(true);
  Bytes spoilt = send(1, {});
  spoilt.back() ^= std::byte{1};
  peer_.send(spoilt);
  EXPECT_TRUE(peer_.ends());
  EXPECT_EQ(end(), FabricError::protocol_violation);
}

// An invalidation does not wait for the peer's first FPDU.
TEST_F(Responder, InvalidationBeforeTheFirstFpdu) {
  serve();
  const Exposed exposed = expose(0, 10, fabric::Access::remote_read);
  ASSERT_FALSE(node().qp->invalidate(*exposed.window, node().op(1)));
  node().qp->submit();
  EXPECT_TRUE(until([&] { return node().count(1) == 1; }));
}

struct RtrCase {
  const char* name;
  const char* word;  // flags, IRD and ORD of the request, in hexadecimal
  const char* answer;
};
class ResponderPeerToPeer : public Responder, public testing::WithParamInterface<RtrCase> {};

// [6581-9.2-b] [6581-9.2-c] [6581-9.2-d] [6581-9.2-e] The Reply names the kinds of ready-to-receive indication that the
// responder accepts. The responder sends its first message after it has received an indication of one of these kinds.
TEST_P(ResponderPeerToPeer, ReadyToReceive) {
  listen();
  ask(request(0x10, 2, GetParam().word));
  ASSERT_EQ(to_hex(peer_.receive(24)), to_hex(reply(0x10, 2, GetParam().answer)));
  ASSERT_TRUE(until([&] { return node().established(); }));
  post_receive(10, 1);
  ASSERT_FALSE(node().send(memory().part(0, 4), 2));
  node().qp->submit();
  const std::string name = GetParam().name;
  if (name == "Write") {
    peer_.send(write(0xdead, 0xbeef, {}));
  } else if (name == "Read") {
    peer_.send(read_request(1, {1, 2, 0, 0xdead, 0xbeef}));
    const Heard answer = peer_.segment();
    if (answer.opcode() == Opcode::send) {
      EXPECT_EQ(peer_.segment().opcode(), Opcode::read_response);
      return;
    }
    EXPECT_EQ(answer.opcode(), Opcode::read_response);
  } else {
    peer_.send(send(1, {}));
    EXPECT_TRUE(until([&] { return node().count(1) == 1; }));
  }
  EXPECT_EQ(peer_.segment().opcode(), Opcode::send);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ResponderPeerToPeer,
                         testing::Values(RtrCase{"Write", "80108010", "80108010"},
                                         RtrCase{"Read", "80104000", "80014010"},
                                         RtrCase{"Send", "c0100010", "c0100010"},
                                         RtrCase{"All", "c010c010", "c010c010"},
                                         RtrCase{"None", "80100010", "c010c010"}),
                         [](const auto& param) { return std::string(param.param.name); });

/// While an object of this class exists, the process cannot open descriptors.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDERR_FILENO);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
};

// Without free descriptors the listener neither ends nor uses the CPU in a loop.
TEST_F(Responder, NoDescriptorsLeft) {
  listen();
  peer_.connect(listener_->local());
  {
    const NoMoreDescriptors shortage;
    bool passed = false;
    boost::asio::steady_timer timer(context_, std::chrono::milliseconds(250));
    timer.async_wait([&](error_code) { passed = true; });
    std::size_t handlers = 0;
    context_.restart();
    while (!passed) handlers += context_.run_one();
    EXPECT_LT(handlers, 20u);
  }
  peer_.send(request(0x10, 2, "00100010"));
  EXPECT_EQ(peer_.receive(24).size(), 24u);
}

TEST_F(Responder, PeerGoneBeforeTheReply) {
  listen();
  ask(request(0x10, 2, "00100010"));
  peer_.reset();
  EXPECT_TRUE(until([&] { return node().qp == nullptr || node().disconnected.has_value(); }));
  ask(request(0x10, 2, "00100010"));  // the listener still accepts connections
  EXPECT_EQ(peer_.receive(24).size(), 24u);
}

}  // namespace
}  // namespace rpcrdma::test
