// SPDX-License-Identifier: BSD-3-Clause
// In the steady state a link of IP over the fabric allocates nothing and copies no packet.
#include <algorithm>

#include "copies.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/ipoib/link/link.hpp"
#include "support/run.hpp"
#include "tally.hpp"

namespace rpcrdma::test {
namespace {

constexpr std::size_t kPacket = 60'000;

/// A packet device from which the link reads the same packet as often as give() has requested. Counts the packets that
/// the link writes to the device.
class CountingDevice final : public ipoib::PacketDevice {
 public:
  explicit CountingDevice(boost::asio::io_context& context) : context_(context), packet_(kPacket) {}

  void set_packet(std::uint8_t from, std::uint8_t to) {
    const std::uint8_t header[] = {
        0x45, 0, kPacket >> 8, kPacket & 0xff, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, from, 10, 9, 0, to};
    std::ranges::transform(header, packet_.begin(), [](std::uint8_t byte) { return static_cast<std::byte>(byte); });
  }
  void give(std::size_t count) {
    left_ = count;
    if (ready_) boost::asio::post(context_, std::move(ready_));
  }

  void wait(UniqueFunction<void()> ready) override { ready_ = std::move(ready); }
  Result<std::size_t> read(MutableOctets out, MutableOctets, ipoib::Offload&) noexcept override {
    if (left_ == 0) return std::size_t{0};
    --left_;
    std::copy(packet_.begin(), packet_.end(), out.begin());
    return packet_.size();
  }
  bool write(std::span<const Octets>, const ipoib::Offload&) noexcept override {
    ++written;
    return true;
  }
  std::size_t written = 0;

 private:
  boost::asio::io_context& context_;
  std::vector<std::byte> packet_;
  std::size_t left_ = 0;
  UniqueFunction<void()> ready_;
};

/// One of the two links, on a fabric of its own; its address is 10.9.0.NUMBER.
struct Side {
  Side(boost::asio::io_context& context, std::uint8_t number)
      : fabric(std::move(*fabric::open_iwarp(context, {}, {}))), device(context) {
    device.set_packet(number, static_cast<std::uint8_t>(3 - number));
    link = std::move(*ipoib::Link::make(*fabric, device, {}, {}));
    endpoint = *link->listen({boost::asio::ip::address_v4::loopback(), 0});
    link->start([](error_code) {});
  }
  std::unique_ptr<fabric::Fabric> fabric;
  CountingDevice device;
  std::unique_ptr<ipoib::Link> link;
  fabric::Endpoint endpoint;
};

TEST(SteadyLink, NoAllocationAndNoCopy) {
  boost::asio::io_context context;
  Side one(context, 1), two(context, 2);
  one.link->add_neighbour({boost::asio::ip::make_address("10.9.0.2"), 32}, two.endpoint);
  two.link->add_neighbour({boost::asio::ip::make_address("10.9.0.1"), 32}, one.endpoint);
  const auto exchange = [&](std::size_t count) {
    const std::size_t done_one = one.device.written + count, done_two = two.device.written + count;
    const std::uint64_t allocations = tally::here().allocations, bytes = copied_octets();
    one.device.give(count);
    two.device.give(count);
    EXPECT_TRUE(run_until(context, [&] { return one.device.written == done_one && two.device.written == done_two; }));
    return std::pair(tally::here().allocations - allocations, copied_octets() - bytes);
  };
  exchange(1);
  exchange(1000);
  constexpr unsigned kRounds = 10;
  // Permitted allocations: the handlers that this test posts, and queues that still double their size.
  constexpr unsigned kPosts = 2 * kRounds, kDoublings = 12;
  std::uint64_t allocations = 0, bytes = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto [made, copies] = exchange(1000);
    allocations += made;
    bytes += copies;
  }
  EXPECT_LE(allocations, kPosts + kDoublings);
  if (kCopiesAreCounted) {
    EXPECT_LE(bytes, kRounds * 2000 * (kPacket + 4096)) << "the devices of this test copy each packet once";
  }
  EXPECT_LT(one.fabric->counters().copied + two.fabric->counters().copied, kPacket)
      << "bytes that TCP delivered together with headers";
}

}  // namespace
}  // namespace rpcrdma::test
