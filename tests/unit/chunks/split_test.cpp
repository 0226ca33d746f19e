// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/chunks/split.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "memory.hpp"

namespace rpcrdma::transport {
namespace {

/// Memory and segments of random sizes, some of them zero.
struct Transfer {
  explicit Transfer(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto size = [&] { return random() % 3 == 0 ? 0u : static_cast<std::uint32_t>(random() % 50); };
    for (std::size_t i = random() % 6; i > 0; --i) parts.push_back(memory.piece(size()));
    for (std::uint32_t i = 0; i < random() % 6; ++i) segments.push_back({i + 1, size(), random()});
  }
  std::uint64_t octets() const {
    std::uint64_t in_memory = 0, in_segments = 0;
    for (const auto& part : parts) in_memory += part.size;
    for (const auto& segment : segments) in_segments += segment.length;
    return std::min(in_memory, in_segments);
  }
  /// addresses() lists the local address of each byte; places() lists the handle and offset of each byte.
  std::vector<std::byte*> addresses() const {
    std::vector<std::byte*> out;
    for (const auto& part : parts)
      for (std::uint32_t i = 0; i < part.size; ++i) out.push_back(part.data + i);
    return out;
  }
  std::vector<std::pair<std::uint32_t, std::uint64_t>> places() const {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> out;
    for (const auto& segment : segments)
      for (std::uint32_t i = 0; i < segment.length; ++i) out.emplace_back(segment.handle, segment.offset + i);
    return out;
  }
  TestMemory memory;
  std::vector<BufferRef> parts;
  std::vector<Segment> segments;
};

// [8166-3.4.6-c] [8166-3.4.4-a] each byte is written once, in order, never past a segment, within the device's limits
TEST(Splitter, Writes) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Transfer transfer(seed);
    const std::uint32_t max_gather = 1 + seed % 4, max_message = 1 + seed % 70;
    Splitter splitter(transfer.parts, transfer.segments, max_message);
    const auto addresses = transfer.addresses();
    const auto places = transfer.places();
    std::size_t at = 0;
    for (WriteOperation write; splitter.next(write, max_gather);) {
      EXPECT_LE(write.gather.size(), max_gather);
      EXPECT_LE(write.length, max_message);
      ASSERT_NE(write.length, 0u);
      std::uint64_t offset = write.offset;
      for (const BufferRef& part : write.gather) {
        for (std::uint32_t i = 0; i < part.size; ++i, ++at, ++offset) {
          ASSERT_LT(at, addresses.size());
          EXPECT_EQ(part.data + i, addresses[at]);
          EXPECT_EQ(std::make_pair(write.handle, offset), places.at(at));
        }
      }
    }
    EXPECT_EQ(at, transfer.octets()) << seed;
    EXPECT_TRUE(splitter.done());
  }
}

// [8166-3.4.5-d]
TEST(Splitter, Reads) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Transfer transfer(seed);
    Splitter splitter(transfer.parts, transfer.segments, 1 + seed % 70);
    const auto addresses = transfer.addresses();
    const auto places = transfer.places();
    std::size_t at = 0;
    for (ReadOperation read; splitter.next(read);) {
      ASSERT_NE(read.sink.size, 0u);
      EXPECT_LE(read.sink.size, 1 + seed % 70);
      for (std::uint32_t i = 0; i < read.sink.size; ++i, ++at) {
        ASSERT_LT(at, addresses.size());
        EXPECT_EQ(read.sink.data + i, addresses[at]);
        EXPECT_EQ(std::make_pair(read.handle, read.offset + i), places.at(at));
      }
    }
    EXPECT_EQ(at, transfer.octets()) << seed;
    EXPECT_TRUE(splitter.done());
  }
}

TEST(Splitter, SkipsTheStart) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Transfer transfer(seed);
    const auto from = transfer.addresses();
    const auto to = transfer.places();
    for (std::size_t skipped = 0; skipped <= transfer.octets(); ++skipped) {
      Splitter splitter(transfer.parts, transfer.segments, 7);
      splitter.skip(skipped, skipped);
      std::size_t at = skipped;
      for (ReadOperation read; splitter.next(read); at += read.sink.size) {
        ASSERT_EQ(read.sink.data, from.at(at));
        ASSERT_EQ(std::pair(read.handle, read.offset), to.at(at));
      }
      ASSERT_EQ(at, transfer.octets());
    }
  }
}

}  // namespace
}  // namespace rpcrdma::transport
