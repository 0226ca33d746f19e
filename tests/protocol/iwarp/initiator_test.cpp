// SPDX-License-Identifier: BSD-3-Clause
// Connection set-up by the initiator: most tests send a Reply, and state what this side does. Also nudges: the empty
// Writes that this side sends until the responder sends something.
#include <fcntl.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <fstream>

#include "iwarp_test.hpp"

namespace rpcrdma::test {
namespace {

class Initiator : public IwarpTest {
 protected:
  /// The peer sends a reply that this side cannot accept: this side closes the connection without a Terminate.
  void refused(const Bytes& answer) {
    start();
    ASSERT_EQ(asked().size(), 24u);
    peer_.send(answer);
    EXPECT_TRUE(peer_.ends());
    EXPECT_EQ(end(), FabricError::handshake_failed);
    EXPECT_FALSE(node().established());
  }
};

// [5044-7.1.2-a] [5044-7.1.1-a] [6581-6-a] [6581-9.2-h] [6581-9.1-a]
TEST_F(Initiator, Request) {
  fabric::QueuePairOptions options;
  options.private_data = from_hex("f6ab0e1801010303");
  options.inbound_reads = 128;
  options.outbound_reads = 3;
  start(options);
  EXPECT_EQ(to_hex(asked()), to_hex(request(0x10, 2, "00800003f6ab0e1801010303")));
  peer_.send(reply(0x10, 2, "00020080f6ab0e1801000303"));
  ASSERT_TRUE(until([&] { return node().established(); }));
  EXPECT_EQ(to_hex(node().info->private_data), "f6ab0e1801000303");
  EXPECT_EQ(node().info->outbound_reads, 2u);
  EXPECT_EQ(node().info->inbound_reads, 128u);
  EXPECT_EQ(node().info->peer_reads, (fabric::ReadDepths{2, 128}));
}

/// Returns the descriptor of this process whose socket has the address `local`; -1 if there is none.
int socket_at(const boost::asio::ip::tcp::endpoint& local) {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    boost::asio::ip::tcp::endpoint name;
    socklen_t size = static_cast<socklen_t>(name.capacity());
    if (::getsockname(descriptor, name.data(), &size) == 0 && name == local) return descriptor;
  }
  return -1;
}

// [5044-5.1-a] [5044-7.1.2-m] The options are set after the connection is made, so that the Request need not wait for
// them.
TEST_F(Initiator, SocketOptions) {
  fabric::IwarpOptions options;
  options.keepalive = std::chrono::seconds(30);
  open(options);
  connect();
  const int socket = socket_at(peer_.socket().remote_endpoint());
  ASSERT_NE(socket, -1);
  struct Option {
    int level, name, expected;
  };
  for (const auto& [level, name, expected] :
       {Option{IPPROTO_TCP, TCP_NODELAY, 1}, Option{SOL_SOCKET, SO_KEEPALIVE, 1}, Option{IPPROTO_TCP, TCP_KEEPIDLE, 30},
        Option{IPPROTO_TCP, TCP_KEEPINTVL, 5}, Option{IPPROTO_TCP, TCP_KEEPCNT, 6},
        Option{IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000}}) {
    int value = -1;
    socklen_t size = sizeof value;
    ASSERT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
    EXPECT_EQ(value, expected);
  }
  EXPECT_TRUE(::fcntl(socket, F_GETFL) & O_NONBLOCK);
}

// The sizes of the send buffer on a connection within the host: at first, and once the buffer has been full.
TEST_F(Initiator, SendBuffer) {
  int most = 0;
  std::ifstream("/proc/sys/net/core/wmem_max") >> most;
  ASSERT_GT(most, 0);
  connect();
  const int socket = socket_at(peer_.socket().remote_endpoint());
  const auto send_buffer = [socket] {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(send_buffer(), 2 * std::min(640 * 1024, most));
  const BufferRef part = memory().part(0, 1u << 20);
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(node().qp->post_send({&part, 1}, {}, node().op(i)));
  node().qp->submit();
  context_.poll();  // the peer does not read
  EXPECT_EQ(send_buffer(), 2 * std::min(384 * 1024, most));
}

/// Returns the number of sockets of this process that wait for the answer to a SYN.
int connecting_sockets() {
  int count = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_SYN_SENT) ++count;
  }
  return count;
}

/// The peer's backlog is full when the node connects. Elsewhere in these tests the connection is established when
/// connect() returns.
class BusyPeer : public Initiator {
 protected:
  BusyPeer() {
    open({});
    const auto address = peer_.listen(1);
    // Linux keeps one connection more than the backlog, and drops the next SYN.
    for (auto& other : others_) other.connect(address);
    start_to(address);
    context_.poll();
  }

  std::array<boost::asio::ip::tcp::socket, 2> others_{boost::asio::ip::tcp::socket(context_),
                                                      boost::asio::ip::tcp::socket(context_)};
};

TEST_F(BusyPeer, AcceptsLater) {
  ASSERT_EQ(connecting_sockets(), 1);
  for (std::size_t i = 0; i < others_.size(); ++i) peer_.accept();
  // TCP repeats the SYN after a second.
  EXPECT_EQ(to_hex(asked()), to_hex(request(0x10, 2, "00100010")));
  peer_.send(reply(0x10, 2, "00100010"));
  EXPECT_TRUE(until([&] { return node().established(); }));
}

TEST_F(BusyPeer, ConnectionIsAborted) {
  ASSERT_EQ(connecting_sockets(), 1);
  node().qp->abort();
  EXPECT_EQ(end(), BaseError::cancelled);
  EXPECT_EQ(connecting_sockets(), 0);
}

// [5044-4.4-b] the option switches CRCs on, even between loopback addresses
TEST_F(Initiator, CrcOn) {
  fabric::IwarpOptions options;
  options.crc = true;
  open(options);
  start();
  EXPECT_EQ(to_hex(asked()), to_hex(request(0x50, 2, "00100010")));
  peer_.send(reply(0x10, 2, "00100010"));
  EXPECT_TRUE(peer_.segment().crc_good);  // this side uses CRCs, even if the peer does not request them
}

// [6581-10-c] [5044-7.1.1-g]
TEST_F(Initiator, RevisionOne) {
  fabric::IwarpOptions options;
  options.enhanced = false;
  open(options);
  start();
  EXPECT_EQ(to_hex(asked()), to_hex(request(0x00, 1, "")));
  peer_.send(reply(0x00, 1, "aa"));
  EXPECT_TRUE(until([&] { return node().established(); }));
}

TEST_F(Initiator, Source) {
  fabric::IwarpOptions options;
  options.source = boost::asio::ip::make_address("127.0.0.2");
  open(options);
  start();
  asked();
  peer_.send(reply(0x10, 2, "00100010"));
  ASSERT_TRUE(until([&] { return node().established(); }));
  EXPECT_EQ(node().info->local.address().to_string(), "127.0.0.2");
}

TEST_F(Initiator, SourceOfAnotherHost) {
  fabric::IwarpOptions options;
  options.source = boost::asio::ip::make_address("192.0.2.1");
  open(options);
  start();
  EXPECT_TRUE(end() == boost::system::errc::address_not_available);
}

TEST_F(Initiator, ReplyOctetByOctet) {
  start();
  asked();
  for (const std::byte octet : reply(0x10, 2, "00100010aabb")) {
    peer_.send({octet});
    run_ready(context_);
  }
  ASSERT_TRUE(until([&] { return node().established(); }));
  EXPECT_EQ(to_hex(node().info->private_data), "aabb");
}

// [5044-7.1.2-g] [6581-9.1-a] the user receives the private data and the read depths of a rejection
TEST_F(Initiator, Rejection) {
  start();
  asked();
  peer_.send(reply(0x30, 2, "00000010aabb"));
  EXPECT_TRUE(peer_.ends());
  EXPECT_EQ(end(), FabricError::rejected);
  ASSERT_TRUE(node().rejected);
  EXPECT_EQ(node().rejected->peer_reads, (fabric::ReadDepths{0, 16}));
  EXPECT_EQ(to_hex(node().rejected->private_data), "aabb");
  EXPECT_FALSE(node().info);
}

TEST_F(Initiator, RejectionWithoutDepths) {
  fabric::IwarpOptions options;
  options.enhanced = false;
  open(options);
  start();
  asked();
  peer_.send(reply(0x20, 1, ""));
  EXPECT_EQ(end(), FabricError::rejected);
  ASSERT_TRUE(node().rejected);
  EXPECT_FALSE(node().rejected->peer_reads);
}

// [5044-7.1.2-f] [5044-7.1.1-b]
TEST_F(Initiator, Garbage) { refused(filled(64, 0x5a)); }
// [5044-7.1.2-i] the peer is an initiator, too
TEST_F(Initiator, AnotherInitiator) { refused(request(0x10, 2, "00100010")); }
// [6581-10-a]
TEST_F(Initiator, ReplyOfRevisionOne) { refused(reply(0x00, 1, "")); }
TEST_F(Initiator, ReplyWithoutEnhancedData) { refused(reply(0x00, 2, "")); }
TEST_F(Initiator, PrivateDataOf513) { refused(reply(0x10, 2, std::string(513 * 2, '0'))); }
// [5044-7.1.2-h]
TEST_F(Initiator, OctetsBehindTheReply) { refused(reply(0x10, 2, "00100010") + send(1, {})); }

// [5044-7.1.2-j]
TEST_F(Initiator, Silence) {
  fabric::QueuePairOptions options;
  options.handshake_timeout = std::chrono::milliseconds(50);
  start(options);
  asked();
  EXPECT_EQ(end(), FabricError::handshake_timeout);
  EXPECT_TRUE(peer_.ends());
}

TEST_F(Initiator, HalfAReplyThenAnEnd) {
  start();
  asked();
  const Bytes whole = reply(0x10, 2, "00100010");
  peer_.send({whole.begin(), whole.begin() + 22});
  peer_.close();
  EXPECT_EQ(end(), FabricError::handshake_failed);
}

TEST_F(Initiator, MayGoAtAnyStep) {
  start();
  node().qp.reset();
  open({});
  RawPeer other(context_);
  auto qp = fabric_->make_connector(other.listen(), {}, node());
  node().qp = std::move(*qp);
  fabric_->start(*node().qp);
  other.accept();
  other.receive(24);
  node().qp.reset();
  EXPECT_TRUE(other.ends());
  EXPECT_FALSE(node().disconnected);
}

TEST_F(Initiator, AbortsWhileItConnects) {
  start();
  asked();
  node().qp->abort();
  EXPECT_EQ(end(), BaseError::cancelled);
  EXPECT_TRUE(peer_.ends());
}

// [6581-10-e] a responder that knows only RFC 5044 closes the connection; the initiator tries again without RFC 6581
TEST_F(Initiator, FallsBack) {
  fabric::IwarpOptions options;
  options.fall_back = true;
  open(options);
  start();
  EXPECT_EQ(asked().size(), 24u);
  peer_.close();
  EXPECT_EQ(to_hex(asked()), to_hex(request(0x00, 1, "")));
  peer_.send(reply(0x00, 1, ""));
  EXPECT_TRUE(until([&] { return node().established(); }));
}

TEST_F(Initiator, DoesNotFallBackUnasked) {
  start();
  asked();
  peer_.close();
  EXPECT_EQ(end(), FabricError::handshake_failed);
}

// [6581-9.1-g] [6581-8-a] The Reply requires a larger IRD than the initiator supports. The initiator sends a Terminate
// and ends the connection.
TEST_F(Initiator, InsufficientInboundReads) {
  start();
  asked();
  peer_.send(reply(0x10, 2, "00100081"));
  const iwarp::Terminate message = terminated(iwarp::terminate::kReadDepth);
  EXPECT_FALSE(message.has_length);
  EXPECT_EQ(end(), FabricError::too_many_reads);
  EXPECT_EQ(node().disconnected->message(), "peer requires more outstanding RDMA Reads than this side supports");
}

// [5044-7.1.1-c] [5044-4.3-a] the peer requests markers: this side sends them
TEST_F(Initiator, MarkersThatThePeerAsksFor) {
  start();
  asked();
  peer_.send(reply(0x90, 2, "00100010"));
  ASSERT_TRUE(until([&] { return node().established(); }));
  ASSERT_FALSE(node().send(memory().part(0, 4), 1));
  node().qp->submit();
  EXPECT_EQ(to_hex(peer_.receive(8)), "0000000000164143");
}

/// An initiator in the peer-to-peer model (RFC 6581): its first FPDU is a ready-to-receive indication. agree() lets the
/// peer reply with the enhanced data `word`, which names the kinds of indication that the peer accepts.
class PeerToPeer : public Initiator {
 protected:
  void agree(std::string_view word) {
    fabric::IwarpOptions options;
    options.peer_to_peer = true;
    options.nudge_after = std::chrono::hours(1);
    open(options);
    start();
    ASSERT_EQ(to_hex(asked()), to_hex(request(0x10, 2, "c010c010")));  // [6581-9.2-a]
    peer_.send(reply(0x10, 2, word));
  }
};

// [6581-9.2-f] [6581-5-a] the initiator sends the ready-to-receive Write although the user has posted nothing
TEST_F(PeerToPeer, Write) {
  agree("c010c010");
  const Heard first = peer_.segment();
  EXPECT_EQ(first.opcode(), Opcode::write);
  EXPECT_TRUE(first.payload.empty());
}

// The ready-to-receive Write precedes work that the user posts as soon as the connection is established.
TEST_F(PeerToPeer, WriteBeforeAnythingElse) {
  agree("c010c010");
  ASSERT_TRUE(until([&] { return node().established(); }));
  ASSERT_FALSE(node().send(memory().part(0, 4), 1));
  node().qp->submit();
  EXPECT_EQ(peer_.segment().opcode(), Opcode::write);
  EXPECT_EQ(peer_.segment().opcode(), Opcode::send);
}

TEST_F(PeerToPeer, Read) {
  agree("80104010");
  const Heard first = peer_.segment();
  ASSERT_EQ(first.opcode(), Opcode::read_request);
  Reader in(first.payload);
  const iwarp::ReadRequest request = iwarp::decode_read_request(in);
  EXPECT_EQ(request.size, 0u);
  // The Response to the ready-to-receive Read completes no work of the user, and later work is not disturbed.
  ASSERT_TRUE(until([&] { return node().established(); }));
  ASSERT_FALSE(node().read(memory().part(0, 4), {7, 4, 0}, 1));
  node().qp->submit();
  peer_.send(response(request.sink_stag, request.sink_offset, {}));
  const Heard second = peer_.segment();
  ASSERT_EQ(second.opcode(), Opcode::read_request);
  EXPECT_EQ(second.header.msn, 2u);
  Reader again(second.payload);
  const iwarp::ReadRequest real = iwarp::decode_read_request(again);
  peer_.send(response(real.sink_stag, real.sink_offset, filled(4, 0x33)));
  EXPECT_TRUE(until([&] { return node().count(1) == 1; }));
  EXPECT_EQ(node().tags(), std::vector<int>{1});
}

TEST_F(PeerToPeer, Send) {
  agree("c0100010");
  const Heard first = peer_.segment();
  EXPECT_EQ(first.opcode(), Opcode::send);
  EXPECT_TRUE(first.payload.empty());
}

// [6581-9.2-g] the two sides accept no common indication
TEST_F(PeerToPeer, NothingInCommon) {
  agree("80100010");
  terminated(iwarp::terminate::kReadyToReceive);
  EXPECT_EQ(end(), FabricError::handshake_failed);
}

// The responder stays silent after the first FPDU. It receives empty Writes, called nudges, until it sends something.
TEST_F(Initiator, NudgesUntilThePeerAnswers) {
  connect();
  post_receive(10, 3);
  ASSERT_FALSE(node().send(memory().part(0, 4), 1));
  node().qp->submit();
  EXPECT_EQ(peer_.segment().opcode(), Opcode::send);
  for (int i = 0; i < 3; ++i) {
    const Heard nudge = peer_.segment();
    EXPECT_EQ(nudge.opcode(), Opcode::write);
    EXPECT_TRUE(nudge.payload.empty());
  }
  peer_.send(send(1, {}));
  ASSERT_TRUE(until([&] { return node().count(3) == 1; }));
  ASSERT_FALSE(node().send(memory().part(0, 4), 2));
  node().qp->submit();
  Heard next = peer_.segment();
  while (next.opcode() == Opcode::write) next = peer_.segment();  // a nudge may have been in transit
  EXPECT_EQ(next.opcode(), Opcode::send);
  node().qp->disconnect();
  EXPECT_TRUE(peer_.ends());
}

TEST_F(Initiator, DoesNotNudgeAPeerThatHasAnswered) {
  fabric::IwarpOptions options;
  options.nudge_after = std::chrono::milliseconds(100);
  open(options);
  connect();
  post_receive(10, 1);
  ASSERT_FALSE(node().send(memory().part(0, 4), 2));
  node().qp->submit();
  EXPECT_EQ(peer_.segment().opcode(), Opcode::send);
  peer_.send(send(1, {}));
  ASSERT_TRUE(until([&] { return node().count(1) == 1; }));
  bool passed = false;
  boost::asio::steady_timer timer(context_, std::chrono::milliseconds(200));
  timer.async_wait([&](error_code) { passed = true; });
  ASSERT_TRUE(until([&] { return passed; }));
  EXPECT_EQ(peer_.available(), 0u);
}

// An initiator sends a nudge, which is an empty RDMA Write, to a peer that stays silent. If a nudge is due while a part
// of a message waits for room in the socket, the initiator sends the nudge after the last segment of the message.
TEST_F(Initiator, NudgesBetweenMessages) {
  connect();
  const std::uint32_t all = 8u << 20;
  ASSERT_FALSE(node().send(memory().part(0, all), 1));
  node().qp->submit();
  bool due = false;
  boost::asio::steady_timer timer(context_, std::chrono::milliseconds(200));
  timer.async_wait([&](error_code) { due = true; });
  ASSERT_TRUE(until([&] { return due; }));
  ASSERT_EQ(node().count(1), 0u) << "the socket has taken all of it";
  std::size_t octets = 0;
  while (octets < all && !HasFailure()) {
    const Heard part = peer_.segment();
    EXPECT_EQ(part.opcode(), Opcode::send);
    octets += part.payload.size();
  }
  EXPECT_EQ(peer_.segment().opcode(), Opcode::write);
}

// An initiator sends nudges, which are empty Writes, to a peer that stays silent. A nudge does not wait behind Reads
// that exceed the ORD.
TEST_F(Initiator, NudgesPastWaitingReads) {
  fabric::QueuePairOptions options;
  options.outbound_reads = 1;
  start(options);
  asked();
  peer_.send(reply(0x10, 2, "00010010"));
  ASSERT_TRUE(until([&] { return node().established(); }));
  ASSERT_FALSE(node().read(memory().part(0, 4), {7, 4, 0}, 1));
  ASSERT_FALSE(node().read(memory().part(0, 4), {7, 4, 0}, 2));
  node().qp->submit();
  EXPECT_EQ(peer_.segment().opcode(), Opcode::read_request);
  EXPECT_EQ(peer_.segment().opcode(), Opcode::write);
}

}  // namespace
}  // namespace rpcrdma::test
