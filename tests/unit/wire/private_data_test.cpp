// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/private_data.hpp"

#include <gtest/gtest.h>

#include "support/hex.hpp"

namespace rpcrdma::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;

Bytes encoded(const PrivateData& data) {
  const auto octets = encode(data);
  return {octets.begin(), octets.end()};
}

// [8797-4-c]
TEST(PrivateDataTest, GoldenBytes) {
  EXPECT_EQ(encoded({true, 4096, 4096}), from_hex("f6ab0e18 01010303"));
  EXPECT_EQ(encoded({false, 1024, 262144}), from_hex("f6ab0e18 010000ff"));
  EXPECT_EQ(*find_private_data(from_hex("f6ab0e18 01010303")), (PrivateData{true, 4096, 4096}));
  EXPECT_EQ(*find_private_data(from_hex("f6ab0e18 010000ff")), (PrivateData{false, 1024, 262144}));
}

// [8797-4.2-a] sizes are rounded down to multiples of 1024
TEST(PrivateDataTest, SizesAreTruncated) {
  EXPECT_EQ(advertised_size(4100), 4096u);
  EXPECT_EQ(advertised_size(1024), 1024u);
  EXPECT_EQ(advertised_size(0), 1024u);
  EXPECT_EQ(advertised_size(262144), 262144u);
  EXPECT_EQ(advertised_size(0xffffffff), 262144u);
  EXPECT_EQ(encoded({false, 4100, 2047}), from_hex("f6ab0e18 01000300"));
}

// [8797-4-a] reserved bits are ignored
TEST(PrivateDataTest, ReservedBits) {
  EXPECT_EQ(*find_private_data(from_hex("f6ab0e18 01fe0303")), (PrivateData{false, 4096, 4096}));
  EXPECT_EQ(*find_private_data(from_hex("f6ab0e18 01ff0303")), (PrivateData{true, 4096, 4096}));
}

// [8797-5.2-b] private data is found at any offset, also behind bytes equal to the first byte of its identifier
TEST(PrivateDataTest, FoundAnywhere) {
  for (std::size_t before = 0; before < 12; ++before) {
    for (std::size_t behind = 0; behind < 5; ++behind) {
      Bytes octets(before, std::byte{0xf6});
      const Bytes data = encoded({true, 8192, 2048});
      octets.insert(octets.end(), data.begin(), data.end());
      octets.insert(octets.end(), behind, std::byte{0});
      const auto found = find_private_data(ExactCopy(octets).octets());
      ASSERT_TRUE(found) << before;
      EXPECT_EQ(*found, (PrivateData{true, 8192, 2048}));
    }
  }
}

// [8797-5.1-a] [8797-5.2-a] [8797-5.2-c] find_private_data() finds nothing if the structure is absent, has an unknown
// version, or is truncated.
TEST(PrivateDataTest, NotFound) {
  EXPECT_FALSE(find_private_data({}));
  EXPECT_FALSE(find_private_data(from_hex("f6ab0e18 02010303")));
  EXPECT_FALSE(find_private_data(from_hex("f6ab0e18 00010303")));
  EXPECT_FALSE(find_private_data(from_hex("f6ab0e19 01010303 00000000 00000000")));
  const Bytes octets = from_hex("00000000 00f6ab0e 18010103 03");
  for (std::size_t size = 0; size < octets.size(); ++size)
    EXPECT_FALSE(find_private_data(ExactCopy(Octets(octets).first(size)).octets())) << size;
  EXPECT_TRUE(find_private_data(octets));
}

// The search continues after a structure of another version.
TEST(PrivateDataTest, SearchGoesOn) {
  EXPECT_EQ(*find_private_data(from_hex("f6ab0e18 f6ab0e18 01010303")), (PrivateData{true, 4096, 4096}));
}

// [8797-4.2-b] [8797-4.2-c] [8166-3.3.2-b] The inline threshold of a direction is the smaller of the send size of the
// sender and the receive size of the receiver. Both sides compute the same thresholds.
TEST(PrivateDataTest, Thresholds) {
  const PrivateData client{true, 4096, 16384};
  const PrivateData server{true, 8192, 2048};
  const Thresholds at_client = negotiate(client, server);
  EXPECT_EQ(at_client.send, 2048u);
  EXPECT_EQ(at_client.receive, 8192u);
  const Thresholds at_server = negotiate(server, client);
  EXPECT_EQ(at_server.send, at_client.receive);
  EXPECT_EQ(at_server.receive, at_client.send);
}

// [8166-3.3.3-d] without private data the threshold is 1024 bytes in both directions
TEST(PrivateDataTest, Defaults) {
  const Thresholds out = negotiate({true, 65536, 65536}, PrivateData{});
  EXPECT_EQ(out.send, 1024u);
  EXPECT_EQ(out.receive, 1024u);
  EXPECT_FALSE(out.remote_invalidation);
}

// [8797-4.1-a] [8797-4.1-c] Send with Invalidate is permitted only if both sides have set flag R
TEST(PrivateDataTest, RemoteInvalidationNeedsBoth) {
  for (const bool ours : {false, true})
    for (const bool peers : {false, true})
      EXPECT_EQ(negotiate({ours, 1024, 1024}, {peers, 1024, 1024}).remote_invalidation, ours && peers);
}

}  // namespace
}  // namespace rpcrdma::wire
