// SPDX-License-Identifier: BSD-3-Clause
// Large packets of the IP stack: the sending link cuts them into segments, and the receiving link joins the segments
// again.
#include <gmock/gmock.h>

#include "bed.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::test {
namespace {

using Cut = ipoib::Offload::Cut;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kHeaders = 40;

/// Returns a TCP packet over IPv4, without options; its last byte is `mark`. The checksum field holds the sum of the
/// pseudo header, as the stack leaves it to an adapter.
Bytes tcp_packet(std::size_t payload, std::uint32_t sequence = 0, std::uint8_t mark = 0) {
  Bytes out = from_hex("45000000 00014000 40060000 0a090001 0a090002 1b581b59 00000000 00000001 50101000 00000000");
  out.resize(kHeaders + payload);
  out[2] = static_cast<std::byte>(out.size() >> 8);
  out[3] = static_cast<std::byte>(out.size() & 0xff);
  for (std::size_t i = 0; i < 4; ++i) out[24 + i] = static_cast<std::byte>(sequence >> (24 - 8 * i) & 0xff);
  out.back() = static_cast<std::byte>(mark);
  std::uint32_t sum = 0x0a09 + 0x0001 + 0x0a09 + 0x0002 + 6 + static_cast<std::uint32_t>(out.size()) - 20;
  sum = (sum & 0xffff) + (sum >> 16);
  out[36] = static_cast<std::byte>(sum >> 8);
  out[37] = static_cast<std::byte>(sum & 0xff);
  return out;
}

class IpoibStream : public testing::Test {
 protected:
  IpoibStream() { make({.mtu = 1500}, {.mtu = 1500}); }
  void make(ipoib::LinkOptions of_sender, ipoib::LinkOptions of_receiver) {
    sender_ = std::make_unique<Host>(*fabrics_[0], "10.9.0.1", std::move(of_sender));
    receiver_ = std::make_unique<Host>(*fabrics_[1], "10.9.0.2", std::move(of_receiver));
    acquaint(*sender_, *receiver_);
    sender_->send(*receiver_, 100);  // makes the connection
    run_ready(context_);
    receiver_->device.written.clear();
  }
  void give(Bytes packet, ipoib::Offload offload) {
    sender_->device.next_offload = offload;
    sender_->device.give(std::move(packet));
    run_ready(context_);
  }
  static ipoib::Offload tcp(std::uint16_t size) { return {Cut::tcp, size, true, 20, 16}; }

  boost::asio::io_context context_;
  fabric::LoopbackNetwork network_{context_};
  std::unique_ptr<fabric::LoopbackFabric> fabrics_[2] = {network_.make_fabric("sender"),
                                                         network_.make_fabric("receiver")};
  std::unique_ptr<Host> sender_, receiver_;
};

// A packet that was cut arrives as one packet again.
TEST_F(IpoibStream, CutAndJoined) {
  give(tcp_packet(20'000, 7, 99), tcp(1460));
  EXPECT_THAT(receiver_->device.written, ElementsAre("10.9.0.1 > 10.9.0.2 20040 99"));
  EXPECT_EQ(receiver_->device.written_offload.cut, Cut::tcp);
  EXPECT_EQ(receiver_->device.written_offload.cut_size, 1460);
  EXPECT_EQ(sender_->counts().cut, 1u);
  EXPECT_EQ(sender_->counts().sent, 1 + 14u);
  EXPECT_EQ(sender_->counts().sent_bytes, 100 + 20'000 + 14 * kHeaders);
  EXPECT_EQ(receiver_->counts().joined, 1u);
  EXPECT_EQ(receiver_->counts().received, 1 + 14u);
  EXPECT_EQ(receiver_->counts().received_bytes, sender_->counts().sent_bytes);
}

TEST_F(IpoibStream, NotJoined) {
  make({.mtu = 1500}, {.mtu = 1500, .join = false});
  give(tcp_packet(4000), tcp(1460));
  EXPECT_THAT(receiver_->device.written, ElementsAre(HasSubstr(" 1500 "), HasSubstr(" 1500 "), HasSubstr(" 1120 ")));
  EXPECT_EQ(receiver_->counts().joined, 0u);
}

// The link cuts a packet into more segments than the connection takes at a time. The link waits for room, and sends
// each segment once.
TEST_F(IpoibStream, MoreSegmentsThanRoom) {
  network_.pause(fabric::LoopbackPause::before_arrival);
  give(tcp_packet(30'000, 1, 5), tcp(30));
  sender_->send(*receiver_, 90, 6);
  run_ready(context_);
  EXPECT_EQ(sender_->counts().pauses, 1u);
  EXPECT_LT(sender_->counts().sent, 300u);
  EXPECT_EQ(sender_->device.unread.size(), 1u);
  network_.resume();
  run_ready(context_);
  EXPECT_EQ(receiver_->counts().received, 1 + 1000 + 1u);
  EXPECT_EQ(receiver_->device.written.back(), "10.9.0.1 > 10.9.0.2 90 6");
  std::size_t payload = 0;
  for (const std::string& line : receiver_->device.written) payload += std::stoul(line.substr(20)) - kHeaders;
  EXPECT_EQ(payload, 30'000 + 90 - kHeaders);
  EXPECT_EQ(sender_->counts().stalled + sender_->counts().lost, 0u);
}

// The end of a connection arrives together with the segments of a packet. The receiver still joins the segments, and
// writes the packet to its device.
TEST_F(IpoibStream, ConnectionEndsBehindSegments) {
  network_.pause(fabric::LoopbackPause::before_arrival);
  give(tcp_packet(3000, 1, 8), tcp(1460));
  bool closed = false;
  sender_->link->close([&] { closed = true; });
  run_ready(context_);
  EXPECT_THAT(receiver_->device.written, testing::IsEmpty());
  network_.resume();
  run_ready(context_);
  EXPECT_TRUE(closed);
  EXPECT_EQ(receiver_->link->connections(), 0u);
  EXPECT_THAT(receiver_->device.written, ElementsAre("10.9.0.1 > 10.9.0.2 3040 8"));
  EXPECT_EQ(receiver_->counts().joined, 1u);
}

// One ICMP message reports all segments that are too large.
TEST_F(IpoibStream, PathMtu) {
  make({.mtu = 9000}, {.mtu = 1500});
  give(tcp_packet(20'000), tcp(8960));
  EXPECT_THAT(sender_->device.written, ElementsAre("10.9.0.2 > 10.9.0.1 ICMP 3/4 1500"));
  EXPECT_EQ(sender_->counts().too_big, 3u);
  EXPECT_EQ(receiver_->counts().received, 1u);
}

// The link completes a checksum that the IP stack left to the device. The link drops a packet that does not match its
// ipoib::Offload, and a packet that exceeds the MTU or has a segment that does.
TEST_F(IpoibStream, ChecksumsAndBadPackets) {
  give(tcp_packet(100, 0, 1), {Cut::none, 0, true, 20, 16});
  give(tcp_packet(1000, 100, 2), {Cut::none, 0, true, 20, 16});
  EXPECT_THAT(receiver_->device.written, ElementsAre("10.9.0.1 > 10.9.0.2 140 1", "10.9.0.1 > 10.9.0.2 1040 2"));
  EXPECT_EQ(sender_->counts().invalid, 0u);
  const ipoib::Offload bad[] = {
      {Cut::none, 0, true, 0xffff, 0xffff}, tcp(0), {Cut::tcp, 100, true, 24, 16}, {Cut::udp, 100, true, 20, 6}, {}};
  for (const ipoib::Offload& offload : bad) give(tcp_packet(3000), offload);
  give(tcp_packet(3000), tcp(1461));
  EXPECT_EQ(sender_->counts().invalid, 6u);
  EXPECT_EQ(receiver_->counts().received, 3u);
}

// The segments of two streams arrive alternately: the link passes them on in the order of arrival.
TEST_F(IpoibStream, OrderOfStreams) {
  network_.pause(fabric::LoopbackPause::before_arrival);
  for (std::uint8_t i = 0; i < 6; ++i) {
    Bytes packet = tcp_packet(100, 100u * (i / 2), i);
    if (i % 2 != 0) packet[20] = std::byte{0x33};
    give(std::move(packet), {Cut::none, 0, true, 20, 16});
  }
  network_.resume();
  run_ready(context_);
  EXPECT_THAT(receiver_->device.written, Each(HasSubstr(" 140 ")));
  ASSERT_EQ(receiver_->device.written.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_THAT(receiver_->device.written[i], testing::EndsWith(" " + std::to_string(i)));
}

}  // namespace
}  // namespace rpcrdma::test
