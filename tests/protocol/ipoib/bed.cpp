// SPDX-License-Identifier: BSD-3-Clause
#include "bed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpcrdma::test {
namespace {

using boost::asio::ip::make_address;

std::string address_text(Octets octets) {
  std::string out;
  if (octets.size() == 4) {
    for (const std::byte byte : octets) out += fmt::format("{}{}", out.empty() ? "" : ".", static_cast<int>(byte));
    return out;
  }
  boost::asio::ip::address_v6::bytes_type bytes;
  std::ranges::transform(octets, bytes.begin(), [](std::byte byte) { return static_cast<std::uint8_t>(byte); });
  return boost::asio::ip::address_v6(bytes).to_string();
}

}  // namespace

Bytes ip_packet(const std::string& from, const std::string& to, std::size_t size, std::uint8_t mark) {
  const auto source = make_address(from);
  Bytes out = from_hex(source.is_v4() ? "45000000 00004000 40110000" : "60000000 00001140");
  const auto append = [&out](const auto& bytes) {
    for (const auto byte : bytes) out.push_back(static_cast<std::byte>(byte));
  };
  for (const auto& address : {source, make_address(to)}) {
    if (address.is_v4())
      append(address.to_v4().to_bytes());
    else
      append(address.to_v6().to_bytes());
  }
  EXPECT_GT(size, out.size());
  out.resize(size);
  out.back() = static_cast<std::byte>(mark);
  return out;
}

std::string describe(Octets packet) {
  const bool four = static_cast<int>(packet[0]) >> 4 == 4;
  const std::size_t header = four ? 20 : 40;
  const std::string ends = four ? address_text(packet.subspan(12, 4)) + " > " + address_text(packet.subspan(16, 4))
                                : address_text(packet.subspan(8, 16)) + " > " + address_text(packet.subspan(24, 16));
  const int protocol = static_cast<int>(packet[four ? 9 : 6]);
  if (protocol == 17 || protocol == 6)
    return fmt::format("{} {} {}", ends, packet.size(), static_cast<int>(packet.back()));
  Reader reader(packet.subspan(header));
  const int type = reader.u8(), code = reader.u8();
  reader.u16();
  return fmt::format("{} ICMP {}/{} {}", ends, type, code, reader.u32());
}

void HandDevice::give(Bytes packet) {
  unread.push_back(std::move(packet));
  wake();
}

void HandDevice::fail(error_code why) {
  failure_ = why;
  wake();
}

void HandDevice::wake() {
  if (ready_) boost::asio::post(context_, [ready = std::move(ready_)]() mutable { ready(); });
}

void HandDevice::wait(UniqueFunction<void()> ready) {
  ++waits;
  ready_ = std::move(ready);
  if (!unread.empty()) wake();
}

Result<std::size_t> HandDevice::read(MutableOctets out, MutableOctets rest, ipoib::Offload& offload) noexcept {
  if (failure_) return failure_;
  if (unread.empty()) return std::size_t{0};
  const Bytes packet = std::move(unread.front());
  unread.pop_front();
  if (packet.size() > out.size() + rest.size())
    return boost::system::errc::make_error_code(boost::system::errc::bad_address);
  const Octets first = Octets(packet).first(std::min(packet.size(), out.size()));
  std::ranges::copy(first, out.begin());
  std::ranges::copy(Octets(packet).subspan(first.size()), rest.begin());
  offload = std::exchange(next_offload, {});
  return packet.size();
}

bool HandDevice::write(std::span<const Octets> packet, const ipoib::Offload& offload) noexcept {
  if (!takes) return false;
  Bytes whole;
  for (const Octets part : packet) whole.insert(whole.end(), part.begin(), part.end());
  written.push_back(describe(whole));
  written_offload = offload;
  return takes;
}

Host::Host(fabric::Fabric& on, const std::string& address, ipoib::LinkOptions options, const fabric::Endpoint& local)
    : fabric(on), ip(address), device(on.context()) {
  auto made = ipoib::Link::make(on, device, std::move(options), {});
  EXPECT_TRUE(made);
  link = std::move(*made);
  const auto at = link->listen(local);
  EXPECT_TRUE(at) << at.error().message();
  endpoint = *at;
  link->start([this](error_code why) { failed = why; });
}

void Host::knows(const Host& other) {
  const auto address = make_address(other.ip);
  link->add_neighbour({address, static_cast<std::uint8_t>(address.is_v4() ? 32 : 128)}, other.endpoint);
}

std::uint64_t refused_crossing(boost::asio::io_context& context, const Host& one, const Host& other) {
  const auto both = [&](std::uint64_t ipoib::Statistics::*counter) {
    return one.counts().*counter + other.counts().*counter;
  };
  using ipoib::Statistics;
  EXPECT_TRUE(run_until(context, [&] {
    return one.counts().received == 1 && other.counts().received == 1 &&
           both(&Statistics::connected) == both(&Statistics::accepted) &&
           both(&Statistics::refused_crossing) == both(&Statistics::rejected);
  }));
  EXPECT_LE(both(&Statistics::connected), 2u);
  EXPECT_EQ(both(&Statistics::failed) + both(&Statistics::unreachable) + both(&Statistics::lost), 0u);
  return both(&Statistics::refused_crossing);
}

}  // namespace rpcrdma::test
