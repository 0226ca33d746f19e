// SPDX-License-Identifier: BSD-3-Clause
// The tests drive a neighbour that breaks the rules. The link serves other neighbours as before. Runs on any fabric.
#include <gmock/gmock.h>

#include <boost/asio/ip/tcp.hpp>

#include "bed.hpp"
#include "controlled_fabric.hpp"
#include "fabric_under_test.hpp"
#include "raw_neighbour.hpp"

namespace rpcrdma::test {
namespace {

using ipoib::Extension;
using ipoib::PrivateData;
using ipoib::Refusal;
using std::chrono::milliseconds;

constexpr std::uint32_t kReceiveMtu = 65524;
const ipoib::LinkOptions kPatient{.handshake_timeout = std::chrono::minutes(5)};

class IpoibHostile : public testing::Test {
 protected:
  IpoibHostile() {
    using boost::asio::ip::tcp;
    port_holder_.open(tcp::v4());
    port_holder_.set_option(tcp::acceptor::reuse_address(true));
    port_holder_.bind({on_.address, 0});
    hostile_port = port_holder_.local_endpoint().port();
    victim_->link->add_neighbour({boost::asio::ip::make_address("10.9.0.9"), 32}, hostile_address());
    acquaint(*victim_, *honest_);
    honest_->send(*victim_, 100);
    EXPECT_TRUE(until([&] { return victim_->counts().received == 1; }));
  }
  ~IpoibHostile() override { expect_honest_is_served(); }

  static std::unique_ptr<fabric::Fabric> make_fabric(boost::asio::io_context& context) {
    return fabric_under_test().open(context, fabric_under_test().address);
  }
  static fabric::Endpoint hostile_address() { return {fabric_under_test().address, hostile_port}; }
  template <class Predicate>
  bool until(Predicate done) {
    return run_until(context_, done);
  }
  static Bytes own(std::uint32_t qpn = hostile_port, std::uint32_t mtu = kReceiveMtu,
                   std::optional<Extension> more = {}) {
    return private_data_of({qpn, mtu, more});
  }
  std::unique_ptr<RawNeighbour> neighbour(Bytes private_data) {
    return std::make_unique<RawNeighbour>(*hostile_fabric_, victim_->endpoint, std::move(private_data));
  }
  std::unique_ptr<RawNeighbour> connected() {
    const std::uint64_t before = victim_->counts().accepted;
    auto made = neighbour(own(hostile_port, kReceiveMtu, Extension{.credits = 60}));
    EXPECT_TRUE(until([&] { return made->node.established() && victim_->counts().accepted > before; }));
    return made;
  }
  /// Sends a request with this private data; returns why the victim rejected it, if it did.
  std::optional<Refusal> refusal(const Bytes& private_data) {
    const ipoib::Statistics before = victim_->counts();
    const auto made = neighbour(private_data);
    EXPECT_TRUE(until([&] {
      return made->node.disconnected || (made->node.established() && victim_->counts().accepted > before.accepted);
    }));
    if (made->node.established()) return std::nullopt;
    EXPECT_EQ(made->node.disconnected, fabric::FabricError::rejected);
    const Refusal counted = counted_since(before);
    const auto data = ipoib::decode_private_data(made->node.rejected->private_data);
    EXPECT_TRUE(data && data->extension);
    EXPECT_EQ(data->qpn, victim_->endpoint.port());  // [4755-3.2-a]
    EXPECT_EQ(data->receive_mtu, kReceiveMtu);
    EXPECT_EQ(data->extension->refusal, counted);
    return counted;
  }
  Refusal counted_since(const ipoib::Statistics& before) const {
    using ipoib::Statistics;
    constexpr std::pair<Refusal, std::uint64_t Statistics::*> kCounters[] = {
        {Refusal::unknown, &Statistics::refused_unknown},
        {Refusal::receive_mtu, &Statistics::refused_mtu},
        {Refusal::busy, &Statistics::refused_busy},
        {Refusal::malformed, &Statistics::refused_malformed}};
    for (const auto& [refusal, counter] : kCounters)
      if (victim_->counts().*counter > before.*counter) return refusal;
    return Refusal::none;
  }
  void expect_honest_is_served() {
    const std::uint64_t before = victim_->counts().received;
    honest_->send(*victim_, 1000);
    EXPECT_TRUE(until([&] { return victim_->counts().received > before; }));
    EXPECT_EQ(honest_->counts().connected, 1u);
    EXPECT_EQ(honest_->counts().ended, 0u);
  }

  static inline std::uint16_t hostile_port = 0;
  const FabricUnderTest& on_ = fabric_under_test();
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor port_holder_{context_};  // reserves the port: bound, but not listening
  std::unique_ptr<ControlledFabric> victim_fabric_ = std::make_unique<ControlledFabric>(make_fabric(context_));
  std::unique_ptr<fabric::Fabric> honest_fabric_ = make_fabric(context_);
  std::unique_ptr<fabric::Fabric> hostile_fabric_ = make_fabric(context_);
  std::unique_ptr<Host> victim_ =
      std::make_unique<Host>(*victim_fabric_, "10.9.0.1", kPatient, fabric::Endpoint(on_.address, 0));
  std::unique_ptr<Host> honest_ =
      std::make_unique<Host>(*honest_fabric_, "10.9.0.2", kPatient, fabric::Endpoint(on_.address, 0));
};

// [4755-6-a] Private data of many lengths. Fewer than 8 bytes are refused as malformed. Bytes after the 8th, which are
// no Extension here, are ignored. If the fabric pads private data with zeros, 7 bytes suffice: the missing byte is the
// last one of the Receive MTU, which then is only smaller. With fewer bytes, the Receive MTU has no room for a packet,
// and the link refuses the request for this reason.
TEST_F(IpoibHostile, PrivateDataOfEveryLength) {
  Bytes data = own();
  data.resize(on_.max_private_data, std::byte{0xee});
  const std::size_t enough = on_.exact_private_data ? 8 : 7;
  const Refusal refused = on_.exact_private_data ? Refusal::malformed : Refusal::receive_mtu;
  for (std::size_t size = 0; size <= data.size(); size += size < 20 ? 1 : 36) {
    const Bytes part(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(refusal(part), size < enough ? std::optional(refused) : std::nullopt) << size;
  }
}

// [4755-5.1-a]
TEST_F(IpoibHostile, ReceiveMtuWithoutRoom) {
  for (std::uint32_t mtu = 0; mtu <= 4; ++mtu) EXPECT_EQ(refusal(own(hostile_port, mtu)), Refusal::receive_mtu) << mtu;
  EXPECT_EQ(refusal(own(hostile_port, 5)), std::nullopt);
  EXPECT_EQ(refusal(own(hostile_port, 0xffffffff)), std::nullopt);
  EXPECT_EQ(victim_->counts().refused_mtu, 5u);
}

// [4755-3.3-b] QPNs that no known neighbour has, and a QPN above 65535, which cannot be the port number of a peer
TEST_F(IpoibHostile, ForgedLinkLayerAddress) {
  EXPECT_EQ(refusal(own(hostile_port ^ 1u)), Refusal::unknown);
  EXPECT_EQ(refusal(own(0)), Refusal::unknown);
  EXPECT_EQ(refusal(own(0x10000 + hostile_port)), Refusal::malformed);
  EXPECT_EQ(victim_->counts().refused_unknown, 2u);
}

// [4755-4-a] [4391-6-a] [4755-7-b] [4755-2.1-a]
TEST_F(IpoibHostile, Frames) {
  const auto peer = connected();
  const Bytes good = ip_packet("10.9.0.9", "10.9.0.1", 100, 1);
  const Bytes six = ip_packet("fd00::9", "fd00::1", 100);
  const std::vector<std::pair<Bytes, std::uint64_t ipoib::Statistics::*>> cases = {
      {{}, &ipoib::Statistics::bad_frames},
      {Bytes(3), &ipoib::Statistics::bad_frames},
      {frame_of(0x0800, {}), &ipoib::Statistics::bad_frames},
      {frame_of(0x0800, Bytes(19, std::byte{0x45})), &ipoib::Statistics::bad_frames},
      {frame_of(0x86dd, Bytes(39, std::byte{0x60})), &ipoib::Statistics::bad_frames},
      {frame_of(0x86dd, good), &ipoib::Statistics::bad_frames},
      {frame_of(0x0800, six), &ipoib::Statistics::bad_frames},
      {frame_of(0x0806, good), &ipoib::Statistics::bad_types},
      {frame_of(0x8035, good), &ipoib::Statistics::bad_types},
      {frame_of(0x0000, good), &ipoib::Statistics::bad_types},
      {frame_of(0x0800, ip_packet("10.9.0.9", "224.0.0.1", 40)), &ipoib::Statistics::bad_types},
      {frame_of(0x0800, ip_packet("10.9.0.2", "10.9.0.1", 40)), &ipoib::Statistics::bad_sources},
      {frame_of(0x86dd, six), &ipoib::Statistics::bad_sources}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::uint64_t before = victim_->counts().*cases[i].second;
    peer->send(cases[i].first);
    ASSERT_TRUE(until([&] { return peer->node.count(2) == i + 1 && victim_->counts().*cases[i].second == before + 1; }))
        << i;
  }
  EXPECT_EQ(victim_->counts().received, 1u);
  Bytes reserved = frame_of(0x0800, good);
  reserved[2] = reserved[3] = std::byte{0xff};
  peer->send(reserved);
  ASSERT_TRUE(until([&] { return victim_->counts().received == 2; }));
  EXPECT_EQ(victim_->device.written.back(), "10.9.0.9 > 10.9.0.1 100 1");
  EXPECT_FALSE(peer->node.disconnected);
}

// A frame is longer than the Receive MTU: the fabric ends that connection, and no other.
TEST_F(IpoibHostile, FrameLongerThanTheMtu) {
  const auto peer = connected();
  peer->send(frame_of(0x0800, ip_packet("10.9.0.9", "10.9.0.1", 65521)));
  ASSERT_TRUE(until([&] { return peer->node.disconnected.has_value(); }));
  ASSERT_TRUE(until([&] { return victim_->counts().ended == 1; }));
  EXPECT_EQ(victim_->counts().received, 1u);
  EXPECT_EQ(victim_->link->connections(), 1u);
}

// A peer sends credit messages that withdraw credits, are too short or too long, or announce very many credits. The
// link ignores them, and still receives the packets of other peers.
TEST_F(IpoibHostile, Credits) {
  const auto peer = connected();
  for (const char* text : {"88b50000 00000000", "88b50000", "88b50000 0000003d ff", "88b50000 ffffffff"})
    peer->send(from_hex(text));
  ASSERT_TRUE(until([&] { return peer->node.count(2) == 4; }));
  for (int i = 0; i < 100; ++i) {
    victim_->device.give(ip_packet("10.9.0.1", "10.9.0.9", 100));
    honest_->send(*victim_, 100);
  }
  ASSERT_TRUE(until([&] { return victim_->counts().received == 101; }));
  EXPECT_EQ(peer->node.count(1), 60u) << "the peer has announced 60 credits";
}

// A peer sends more packets than it has credits. The connection ends when a packet arrives and the link has no Receive
// posted. On a fast machine this may not happen, because the link may repost its Receives before the packets arrive.
TEST_F(IpoibHostile, MorePacketsThanCredits) {
  const auto peer = connected();
  const Bytes frame = frame_of(0x0800, ip_packet("10.9.0.9", "10.9.0.1", 21));
  std::ranges::copy(frame, peer->frames.octets.begin());
  ASSERT_TRUE(until([&] {
    while (!peer->node.disconnected &&
           !peer->node.send(peer->frames.part(0, static_cast<std::uint32_t>(frame.size())), 2)) {
    }
    peer->node.qp->submit();
    return peer->node.disconnected.has_value() || victim_->counts().received > 3000;
  }));
  auto& written = victim_->device.written;
  EXPECT_EQ(written.size(), victim_->counts().received);
  ASSERT_FALSE(written.empty());
  written.erase(written.begin());  // the packet of the honest neighbour, which the constructor has sent
  EXPECT_THAT(written, testing::Each("10.9.0.9 > 10.9.0.1 21 0"));
  if (!peer->node.disconnected) return;
  EXPECT_TRUE(until([&] { return victim_->counts().ended == 1; }));
  EXPECT_EQ(victim_->link->connections(), 1u);
}

// [4755-3.2-b] If a connected peer requests another connection, the link assumes that the peer has lost the first one,
// and replaces it with the new one. Of many connections that one peer requests at once, only one therefore remains.
TEST_F(IpoibHostile, FloodOfConnects) {
  std::vector<std::unique_ptr<RawNeighbour>> flood;
  const auto half = static_cast<std::uint64_t>(on_.requests_at_once / 2);
  for (int i = 0; i < on_.requests_at_once; ++i)
    flood.push_back(neighbour(own(i % 2 == 0 ? hostile_port : hostile_port ^ 1u)));
  const auto settled = [&] {
    return std::ranges::all_of(flood,
                               [](const auto& one) { return one->node.disconnected || one->node.established(); });
  };
  ASSERT_TRUE(until(settled));
  EXPECT_EQ(victim_->counts().refused_unknown, half);
  EXPECT_TRUE(until([&] { return victim_->counts().accepted + victim_->counts().refused_busy == half + 1; }));
  EXPECT_LE(victim_->link->connections(), 2u);
  const auto open = [&] {
    return std::ranges::count_if(flood, [](const auto& one) { return !one->node.disconnected; });
  };
  ASSERT_TRUE(until([&] { return open() == 1; })) << open();
  flood.clear();
  ASSERT_TRUE(until([&] { return victim_->link->connections() == 1; }));
}

// [4755-3.2-a] [4755-3.2-c] without memory for another connection, the request is rejected with a reason; the existing
// connection stays
TEST_F(IpoibHostile, NoMemoryForAnotherConnection) {
  const auto peer = connected();
  victim_fabric_->out_of_memory = true;
  EXPECT_EQ(refusal(own()), Refusal::busy);
  victim_fabric_->out_of_memory = false;
  EXPECT_EQ(victim_->counts().refused_busy, 1u);
  peer->send(frame_of(0x0800, ip_packet("10.9.0.9", "10.9.0.1", 100)));
  ASSERT_TRUE(until([&] { return peer->node.disconnected || victim_->counts().received == 2; }));
  EXPECT_FALSE(peer->node.disconnected);
}

// [4755-3.3-a] The peer rejects the link's request with the reason `crossing`: the peer's own request takes precedence.
// The packet of the link then waits for the peer's request. After a rejection with another reason, the link would soon
// send a second request.
TEST_F(IpoibHostile, AwaitsTheCrossingRequest) {
  int requests = 0;
  auto listener = hostile_fabric_->listen(hostile_address(), [&](std::unique_ptr<fabric::ConnectionRequest> request) {
    ++requests;
    const Bytes why = own(hostile_port, kReceiveMtu, Extension{.refusal = Refusal::crossing, .credits = 60});
    hostile_fabric_->reject(std::move(request), why);
  });
  ASSERT_TRUE(listener) << listener.error().message();
  victim_->device.give(ip_packet("10.9.0.1", "10.9.0.9", 100));
  ASSERT_TRUE(until([&] { return victim_->counts().rejected == 1; }));
  boost::asio::steady_timer several_retries(context_, milliseconds(300));
  bool passed = false;
  several_retries.async_wait([&](error_code) { passed = true; });
  ASSERT_TRUE(until([&] { return passed; }));
  EXPECT_EQ(requests, 1);
  const auto peer = connected();
  ASSERT_TRUE(until([&] { return peer->node.count(1) == 1 || victim_->counts().unreachable != 0; }));
  EXPECT_EQ(victim_->counts().unreachable, 0u);
}

// The link abandons a connection if the peer's reply has no usable private data.
TEST_F(IpoibHostile, ReplyWithoutPrivateData) {
  for (const Bytes& reply : {Bytes{}, Bytes(7), own(hostile_port, 4)}) {
    Node acceptor(*hostile_fabric_);
    auto listener = hostile_fabric_->listen(hostile_address(), [&](std::unique_ptr<fabric::ConnectionRequest> request) {
      fabric::QueuePairOptions options;
      options.private_data = reply;
      acceptor.qp = std::move(*hostile_fabric_->make_acceptor(std::move(request), options, acceptor));
      hostile_fabric_->start(*acceptor.qp);
    });
    ASSERT_TRUE(listener) << listener.error().message();
    const std::uint64_t before = victim_->counts().unreachable;
    ASSERT_TRUE(until([&] {
      victim_->device.give(ip_packet("10.9.0.1", "10.9.0.9", 100));
      return acceptor.disconnected.has_value();
    }));
    ASSERT_TRUE(until([&] { return victim_->counts().unreachable > before; }));
  }
  EXPECT_EQ(victim_->counts().connected, 0u);
}

}  // namespace
}  // namespace rpcrdma::test
