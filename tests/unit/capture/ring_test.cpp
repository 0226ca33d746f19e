// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "byte_ring.hpp"

namespace rpcrdma::capture {
namespace {

constexpr std::uint32_t kHead = sizeof(Record);

bool put(ByteRing& ring, std::uint32_t number, std::uint32_t content) {
  const std::uint32_t size = kHead + content;
  std::byte* const at = ring.reserve(size);
  if (at == nullptr) return false;
  new (at) Record{{size, RecordKind::frame}, number, nullptr, 0, 0, 0, content, 0, 0};
  std::memset(at + kHead, static_cast<int>(number & 0xff), content);
  ring.commit(size);
  return true;
}

/// Takes the front record, and returns its number.
std::int64_t take(ByteRing& ring) {
  const Record* const front = ring.front(ring.end());
  if (front == nullptr) return -1;
  for (const std::byte octet : front->content()) EXPECT_EQ(octet, static_cast<std::byte>(front->when & 0xff));
  const std::int64_t number = front->when;
  ring.pop(*front);
  return number;
}

TEST(ByteRing, InOrderAndBounded) {
  ByteRing ring(1024);
  EXPECT_EQ(take(ring), -1);
  std::uint32_t stored = 0;
  while (put(ring, stored, 40)) ++stored;
  EXPECT_EQ(stored, 1024 / (kHead + 40));
  EXPECT_TRUE(ring.half_full());
  for (std::uint32_t i = 0; i < stored; ++i) EXPECT_EQ(take(ring), i);
  EXPECT_EQ(take(ring), -1);
  EXPECT_FALSE(ring.half_full());
}

TEST(ByteRing, RecordsStayContiguousAtTheEnd) {
  ByteRing ring(1024);
  std::int64_t next = 0;
  for (std::uint32_t i = 0; i < 1000; ++i)
    while (!put(ring, i, 8 * (i % 40))) EXPECT_EQ(take(ring), next++);
  while (next < 1000) EXPECT_EQ(take(ring), next++);
  EXPECT_EQ(take(ring), -1);
}

TEST(ByteRing, BetweenThreads) {
  constexpr std::uint32_t kCount = 20000;
  ByteRing ring(4096);
  std::thread producer([&ring] {
    std::minstd_rand random(7);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const auto content = static_cast<std::uint32_t>(8 * (random() % 100));
      while (!put(ring, i, content)) std::this_thread::yield();
    }
  });
  for (std::uint32_t i = 0; i < kCount;) {
    const std::int64_t number = take(ring);
    if (number < 0) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(number, i);
    ++i;
  }
  producer.join();
}

}  // namespace
}  // namespace rpcrdma::capture
