// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/private_data.hpp"

#include <algorithm>

namespace rpcrdma::wire {
namespace {

constexpr std::uint32_t kFormatIdentifier = 0xf6ab0e18;
constexpr std::uint8_t kFormatVersion = 1;
constexpr std::uint8_t kRemoteInvalidationFlag = 0x01;
constexpr std::uint32_t kUnit = 1024;

std::uint8_t encode_size(std::uint32_t octets) noexcept {
  return static_cast<std::uint8_t>(advertised_size(octets) / kUnit - 1);
}

std::uint32_t decode_size(std::uint8_t value) noexcept { return (std::uint32_t{value} + 1) * kUnit; }

}  // namespace

std::uint32_t advertised_size(std::uint32_t size) noexcept {
  // [8797-4.2-a] the field encodes multiples of 1024
  return std::clamp(size, kMinThreshold, kMaxThreshold) / kUnit * kUnit;
}

std::array<std::byte, kPrivateDataSize> encode(const PrivateData& data) noexcept {
  std::array<std::byte, kPrivateDataSize> out{};
  Writer writer(out);
  // [8797-4-c] the order of the fields
  writer.u32(kFormatIdentifier);
  writer.u8(kFormatVersion);
  writer.u8(data.remote_invalidation ? kRemoteInvalidationFlag : 0);  // [8797-4-a] reserved bits are zero
  writer.u8(encode_size(data.send_size));
  writer.u8(encode_size(data.receive_size));
  return out;
}

std::optional<PrivateData> find_private_data(Octets received) noexcept {
  // [8797-5.2-b] the structure may begin at any offset; [8797-5.2-c] the whole structure must fit
  for (; received.size() >= kPrivateDataSize; received = received.subspan(1)) {
    Reader reader(received);
    if (reader.u32() != kFormatIdentifier || reader.u8() != kFormatVersion) continue;
    PrivateData out;
    out.remote_invalidation = (reader.u8() & kRemoteInvalidationFlag) != 0;  // [8797-4-a] the reserved bits are ignored
    out.send_size = decode_size(reader.u8());
    out.receive_size = decode_size(reader.u8());
    return out;
  }
  return std::nullopt;  // [8797-5.1-a] [8797-5.2-a] the receiver assumes the defaults
}

// [8166-3.3.2-b] [8167-4.2-a] The thresholds apply to the messages of the forward and of the reverse direction.
Thresholds negotiate(const PrivateData& ours, const PrivateData& peers) noexcept {
  Thresholds out;
  // [8797-4.2-b] [8797-4.2-c] the smaller of the sender's Send size and the receiver's Receive size
  out.send = std::min(advertised_size(ours.send_size), advertised_size(peers.receive_size));
  out.receive = std::min(advertised_size(peers.send_size), advertised_size(ours.receive_size));
  // [8797-4.1-a] [8797-4.1-c] both sides must set R
  out.remote_invalidation = ours.remote_invalidation && peers.remote_invalidation;
  return out;
}

}  // namespace rpcrdma::wire
