// SPDX-License-Identifier: BSD-3-Clause
// The encodings of RFC 4391, RFC 4755 and this project's extension, with vectors from tests/data/generate-ipoib.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "rpcrdma/ipoib/link/ip_address.hpp"
#include "rpcrdma/ipoib/wire/encapsulation.hpp"
#include "rpcrdma/ipoib/wire/link_address.hpp"
#include "rpcrdma/ipoib/wire/private_data.hpp"
#include "rpcrdma/ipoib/wire/service_id.hpp"
#include "support/hex.hpp"

namespace rpcrdma::ipoib {
namespace {

using test::Bytes;
using test::ExactCopy;

Bytes vector_of(const std::string& name) { return test::load_vectors("ipoib.hex").at(name); }

template <class Array>
Bytes bytes_of(const Array& array, std::size_t size) {
  return {array.begin(), array.begin() + static_cast<std::ptrdiff_t>(size)};
}
Bytes bytes_of(const PrivateData& data) { return bytes_of(encode(data), encoded_size(data)); }
Bytes bytes_of(const LinkAddress& address) { return bytes_of(encode(address), kLinkAddressSize); }

Gid gid_of(const char* text) { return ip_bytes(boost::asio::ip::make_address(text)); }

// [4391-6-a] [4755-4-a]
TEST(IpoibHeader, Vectors) {
  const std::pair<const char*, FrameType> cases[] = {{"header_ipv4", FrameType::ipv4},
                                                     {"header_ipv6", FrameType::ipv6},
                                                     {"header_arp", FrameType::arp},
                                                     {"header_rarp", FrameType::rarp}};
  for (const auto& [name, type] : cases) {
    std::array<std::byte, kHeaderSize> out;
    encode_header(type, out);
    EXPECT_EQ(bytes_of(out, out.size()), vector_of(name)) << name;
    EXPECT_EQ(decode_header(vector_of(name)), type) << name;
  }
  EXPECT_EQ(decode_header(vector_of("header_reserved_set")), FrameType::ipv4);
}

TEST(IpoibHeader, TruncatedPrefixes) {
  const Bytes header = vector_of("header_ipv6");
  for (std::size_t size = 0; size < header.size(); ++size)
    EXPECT_FALSE(decode_header(ExactCopy(Octets(header).first(size)).octets())) << size;
}

TEST(IpoibHeader, Credit) {
  const Bytes credit = vector_of("credit");
  std::array<std::byte, kCreditFrameSize> out;
  encode_credit(0x01020304, out);
  EXPECT_EQ(bytes_of(out, out.size()), credit);
  EXPECT_EQ(decode_credit(credit), 0x01020304u);
  for (std::size_t size = 0; size < credit.size(); ++size)
    EXPECT_FALSE(decode_credit(ExactCopy(Octets(credit).first(size)).octets())) << size;
  Bytes longer = credit;
  longer.push_back({});
  EXPECT_FALSE(decode_credit(longer));
  Bytes other = credit;
  other[0] = std::byte{0x08};
  EXPECT_FALSE(decode_credit(other));
}

// [4391-9.1.1-a] [4755-3.1-a]
TEST(IpoibLinkAddress, Vectors) {
  const LinkAddress rc{true, false, 0x4e51, gid_of("192.0.2.7")};
  const LinkAddress both{true, true, 0xffffff, gid_of("2001:db8::1")};
  const LinkAddress ud{false, false, 1, gid_of("fe80::2:c903:0:1")};
  EXPECT_EQ(bytes_of(rc), vector_of("address_rc"));
  EXPECT_EQ(bytes_of(both), vector_of("address_both"));
  EXPECT_EQ(bytes_of(ud), vector_of("address_ud"));
  EXPECT_EQ(decode_link_address(vector_of("address_rc")), rc);
  EXPECT_EQ(decode_link_address(vector_of("address_both")), both);
  EXPECT_EQ(decode_link_address(vector_of("address_ud")), ud);
  EXPECT_EQ(decode_link_address(vector_of("address_reserved_set")), rc);
}

TEST(IpoibLinkAddress, OnlyTwentyBytes) {
  Bytes address = vector_of("address_rc");
  for (std::size_t size = 0; size < address.size(); ++size)
    EXPECT_FALSE(decode_link_address(ExactCopy(Octets(address).first(size)).octets())) << size;
  address.push_back({});
  EXPECT_FALSE(decode_link_address(address));
}

// [4755-3.3-a] the QPN is compared first, then the GID; the flags are ignored; exactly one side accepts
TEST(IpoibLinkAddress, CrossingRequests) {
  const LinkAddress least{false, false, 1, gid_of("ffff::")};
  const LinkAddress middle{true, true, 2, gid_of("::1")};
  const LinkAddress most{false, false, 2, gid_of("::2")};
  const LinkAddress* const ascending[] = {&least, &middle, &most};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_EQ(accepts_crossing_request(*ascending[i], *ascending[j]), i < j) << i << j;
  LinkAddress flagged = middle;
  flagged.reliable_connected = flagged.unreliable_connected = false;
  EXPECT_EQ(compare_without_flags(flagged, middle), std::strong_ordering::equal);
}

// [4755-6-a] [4755-3.2-a] [4755-5.1-a]
TEST(IpoibPrivateData, Vectors) {
  const PrivateData plain{0xab, 65524};
  EXPECT_EQ(bytes_of(plain), vector_of("private_data"));
  EXPECT_EQ(bytes_of(PrivateData{0x123456, 2048}), vector_of("private_data_default"));
  EXPECT_EQ(decode_private_data(vector_of("private_data")), plain);
  EXPECT_EQ(decode_private_data(vector_of("private_data_reserved_set")), plain);
  const PrivateData extended{0xab, 65524, Extension{Refusal::none, 64}};
  EXPECT_EQ(bytes_of(extended), vector_of("private_data_extended"));
  EXPECT_EQ(decode_private_data(vector_of("private_data_extended")), extended);
  const PrivateData refusal{0xab, 65524, Extension{Refusal::unknown, 32}};
  EXPECT_EQ(bytes_of(refusal), vector_of("private_data_refusal"));
  EXPECT_EQ(decode_private_data(vector_of("private_data_refusal")), refusal);
}

// Fewer than eight bytes do not decode. Bytes after the first eight are ignored, unless they begin with a complete
// extension.
TEST(IpoibPrivateData, EveryLength) {
  Bytes data = vector_of("private_data_extended");
  for (std::size_t size = 0; size < data.size(); ++size) {
    const auto decoded = decode_private_data(ExactCopy(Octets(data).first(size)).octets());
    EXPECT_EQ(decoded.has_value(), size >= kPrivateDataSize) << size;
    if (decoded) {
      EXPECT_EQ(*decoded, (PrivateData{0xab, 65524})) << size;
    }
  }
  data.resize(512);
  EXPECT_TRUE(decode_private_data(data)->extension);
  Bytes padded = vector_of("private_data");
  padded.resize(92);
  EXPECT_EQ(decode_private_data(padded), (PrivateData{0xab, 65524}));
}

TEST(IpoibPrivateData, UnusableExtensionIsNone) {
  for (const char* tail : {"cd000040", "ce000000", "ce060040", "00000000"}) {
    Bytes data = vector_of("private_data");
    const Bytes more = test::from_hex(tail);
    data.insert(data.end(), more.begin(), more.end());
    EXPECT_EQ(decode_private_data(data), (PrivateData{0xab, 65524})) << tail;
  }
}

// [4755-5.1-a] the MTU is the smaller Receive MTU minus the header; a connection without room for a packet is refused
TEST(IpoibPrivateData, ConnectionMtu) {
  EXPECT_EQ(connection_mtu(65524, 2048), 2044u);
  EXPECT_EQ(connection_mtu(2048, 65524), 2044u);
  EXPECT_EQ(connection_mtu(5, 65524), 1u);
  for (std::uint32_t least = 0; least <= 4; ++least) {
    EXPECT_FALSE(connection_mtu(65524, least));
    EXPECT_FALSE(connection_mtu(least, 65524));
  }
  EXPECT_EQ(connection_mtu(0xffffffff, 0xffffffff), (1u << 31) - 4);
}

// [4755-3.5-a]
TEST(IpoibServiceId, Vectors) {
  const auto number = [](const char* name) { return Reader(vector_of(name)).u64(); };
  EXPECT_EQ(service_id(0xab), number("service_id"));
  EXPECT_EQ(service_id(0xab, ServicePrefix::linux_ipoib), number("service_id_linux"));
  EXPECT_EQ(qpn_of_service_id(number("service_id")), 0xabu);
  EXPECT_FALSE(qpn_of_service_id(number("service_id_linux")));
  EXPECT_EQ(qpn_of_service_id(number("service_id_linux"), ServicePrefix::linux_ipoib), 0xabu);
  for (unsigned bit = 24; bit < 64; ++bit)
    EXPECT_FALSE(qpn_of_service_id(number("service_id") ^ std::uint64_t{1} << bit)) << bit;
  EXPECT_EQ(service_id(0xff0000ab), number("service_id")) << "a QPN has 24 bits";
}

}  // namespace
}  // namespace rpcrdma::ipoib
