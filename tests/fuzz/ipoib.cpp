// SPDX-License-Identifier: BSD-3-Clause
// Frames, private data, addresses and packets of IP over the fabric. Private data and addresses that can be decoded
// encode to bytes that decode to the same value. An ICMP error about any packet fits into kMaxIcmpError bytes. A packet
// that is cut and joined again is cut into the same segments.
#include <array>
#include <cstdlib>
#include <vector>

#include "ip_packet.hpp"
#include "joiner.hpp"
#include "rpcrdma/ipoib/wire/link_address.hpp"
#include "rpcrdma/ipoib/wire/private_data.hpp"
#include "segmenter.hpp"

namespace {

using namespace rpcrdma;
using namespace rpcrdma::ipoib;

std::vector<std::vector<std::byte>> cut(Octets packet, const Offload& offload, std::size_t most) {
  Segmenter segmenter;
  std::vector<std::vector<std::byte>> out;
  if (!segmenter.begin(packet, offload, most)) return out;
  while (!segmenter.done()) {
    out.emplace_back(most);
    out.back().resize(segmenter.next(out.back()));
  }
  return out;
}

/// Cuts a packet into segments. If all of them can be joined again, cuts the joined packet, and aborts if its segments
/// differ. The first five bytes of `octets` are the Offload parameters; the packet follows.
void cut_and_join(Octets octets) {
  if (octets.size() < 5) return;
  const auto number = [&](std::size_t at) { return static_cast<std::uint8_t>(octets[at]); };
  const Offload offload{number(0) % 2 != 0 ? Offload::Cut::udp : Offload::Cut::tcp, number(1), number(2) % 8 != 0,
                        number(3), number(4)};
  constexpr std::size_t kMost = 300;
  const auto segments = cut(octets.subspan(5), offload, kMost);
  Joiner joiner;
  std::vector<Octets> joined;
  for (const auto& segment : segments) {
    const auto joinable = parse_joinable(segment);
    if (!joinable || joined.size() == Joiner::kMaxSegments) return;
    if (joiner.empty())
      joiner.start(*joinable);
    else if (!joiner.append(*joinable))
      return;
    joined.push_back(segment);
  }
  if (joined.size() < 2) return;
  std::vector<std::byte> whole;
  for (const Octets part : joiner.parts()) whole.insert(whole.end(), part.begin(), part.end());
  if (cut(whole, joiner.offload(), kMost) != segments) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Octets octets{reinterpret_cast<const std::byte*>(data), size};
  if (const auto found = decode_private_data(octets)) {
    const auto bytes = encode(*found);
    if (decode_private_data(Octets(bytes).first(encoded_size(*found))) != found) std::abort();
    if (const auto mtu = connection_mtu(found->receive_mtu, kMaxReceiveMtu); mtu && *mtu == 0) std::abort();
  }
  if (const auto address = decode_link_address(octets); address && decode_link_address(encode(*address)) != address)
    std::abort();
  if (decode_credit(octets) && decode_header(octets) != FrameType::credit) std::abort();
  static_cast<void>(parse_ip(octets));
  std::array<std::byte, kMaxIcmpError> out;
  for (const IcmpError error : {IcmpError::too_big, IcmpError::unreachable})
    if (make_icmp_error(error, 1500, octets, out) > out.size()) std::abort();
  cut_and_join(octets);
  return 0;
}
