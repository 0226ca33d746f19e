// SPDX-License-Identifier: BSD-3-Clause
// Frames, private data and addresses of IP over the fabric: encoding a decoded value gives bytes that decode to the
// same value. Building an ICMP error about any packet stays within the memory for it.
#include <array>
#include <cstdlib>

#include "ip_packet.hpp"
#include "rpcrdma/ipoib/wire/link_address.hpp"
#include "rpcrdma/ipoib/wire/private_data.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma;
  using namespace rpcrdma::ipoib;
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
  return 0;
}
