// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <random>

#include "rpcrdma/wire/header.hpp"
#include "support/hex.hpp"

namespace rpcrdma::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::to_hex;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  Header header() {
    Header out;
    out.xid = word();
    out.credits = word();
    switch (below(4)) {
      case 0: make_error(out); return out;
      case 1: out.procedure = Procedure::nomsg; break;
      default: out.procedure = Procedure::msg; break;
    }
    for (std::uint32_t i = below(5); i > 0; --i) out.chunks.reads.push_back({word() & ~3u, segment()});
    for (std::uint32_t i = below(4); i > 0; --i) {
      out.chunks.begin_write_chunk();
      for (std::uint32_t j = below(5); j > 0; --j) out.chunks.add_write_segment(segment());
    }
    if (below(2) == 1 || out.chunks.empty()) {
      out.chunks.begin_reply_chunk();
      for (std::uint32_t j = below(5); j > 0; --j) out.chunks.add_reply_segment(segment());
    }
    return out;
  }
  std::uint32_t below(std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_);
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }

 private:
  void make_error(Header& out) {
    out.procedure = Procedure::error;
    out.version = word();
    out.direction = Direction::reply;
    out.error = below(2) == 0 ? ErrorKind::vers : ErrorKind::chunk;
    if (out.error == ErrorKind::vers) {
      out.lowest_version = word();
      out.highest_version = word();
    }
  }
  Segment segment() { return {word(), word(), std::uint64_t{word()} << 32 | word()}; }

  std::mt19937 random_;
};

/// Returns the encoded header. After the header of an RDMA_MSG, the payload is the XID alone.
Bytes message(const Header& header) {
  Bytes out(encoded_size(header) + 4);
  const auto size = encode(header, out);
  EXPECT_TRUE(size);
  EXPECT_EQ(*size, out.size() - 4);
  if (header.procedure == Procedure::msg) {
    Writer(MutableOctets(out).last(4)).u32(header.xid);
  } else {
    out.resize(*size);
  }
  return out;
}

// [8166-4.5-b] decoding an encoded header gives the same header
TEST(HeaderRoundTrip, RandomHeaders) {
  Generator generator(8166);
  Header out;
  for (int i = 0; i < 5000; ++i) {
    const Header header = generator.header();
    const Bytes octets = message(header);
    const auto length = decode(ExactCopy(octets).octets(), out);
    ASSERT_TRUE(length) << to_hex(octets);
    EXPECT_EQ(*length, encoded_size(header));
    EXPECT_EQ(out, header);
    EXPECT_EQ(message(out), octets);
  }
}

// [8166-4.5.2-a] each truncated prefix is refused, and no byte beyond its end is read
TEST(HeaderRoundTrip, TruncatedPrefixesAreRefused) {
  Generator generator(20049);
  Header out;
  for (int i = 0; i < 300; ++i) {
    const Bytes octets = message(generator.header());
    for (std::size_t size = 0; size < octets.size(); ++size) {
      const ExactCopy prefix(Octets(octets).first(size));
      EXPECT_FALSE(decode(prefix.octets(), out)) << size << " of " << to_hex(octets);
    }
  }
}

// [8166-4.5-b] a header with a random byte is refused, or decodes to a header that encodes to the same bytes
TEST(HeaderRoundTrip, MutatedHeaders) {
  Generator generator(1);
  Header out;
  std::size_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes octets = message(generator.header());
    octets[generator.below(static_cast<std::uint32_t>(octets.size()))] = static_cast<std::byte>(generator.word());
    const ExactCopy copy(octets);
    const auto length = decode(copy.octets(), out);
    if (!length) {
      ++refused;
      continue;
    }
    ASSERT_LE(*length, octets.size());
    Bytes again(*length);
    ASSERT_TRUE(encode(out, again));
    EXPECT_TRUE(std::equal(again.begin(), again.end(), octets.begin()));
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace rpcrdma::wire
