// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/cursor.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/hex.hpp"

namespace rpcrdma {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;

TEST(ReaderTest, ReadsNetworkOrder) {
  const Bytes octets = from_hex("01 0203 04050607 08090a0b0c0d0e0f 1011");
  Reader reader(octets);
  EXPECT_EQ(reader.u8(), 0x01);
  EXPECT_EQ(reader.u16(), 0x0203);
  EXPECT_EQ(reader.u32(), 0x04050607u);
  EXPECT_EQ(reader.u64(), 0x08090a0b0c0d0e0fu);
  EXPECT_EQ(reader.remaining(), 2u);
  EXPECT_EQ(test::to_hex(reader.rest()), "1011");
  reader.skip(1);
  EXPECT_EQ(test::to_hex(reader.octets(1)), "11");
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.octets(0).empty());
  EXPECT_TRUE(reader.ok());
}

TEST(ReaderTest, FailureIsSticky) {
  const ExactCopy copy(from_hex("010203"));
  Reader reader(copy.octets());
  EXPECT_EQ(reader.u32(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0u);
  EXPECT_TRUE(reader.octets(1).empty());
  EXPECT_TRUE(reader.rest().empty());
  EXPECT_FALSE(reader.ok());
}

TEST(ReaderTest, HugeLengthsAreRefused) {
  const Bytes octets = from_hex("0102");
  Reader reader(octets);
  EXPECT_TRUE(reader.octets(~std::size_t{0}).empty());
  EXPECT_FALSE(reader.ok());
  Reader other(octets);
  other.skip(~std::size_t{0} - 1);
  EXPECT_FALSE(other.ok());
}

TEST(ReaderTest, CallersMayFailIt) {
  const Bytes octets = from_hex("0102");
  Reader reader(octets);
  reader.fail();
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(WriterTest, WritesNetworkOrder) {
  std::array<std::byte, 20> room{};
  Writer writer(room);
  writer.u8(1);
  writer.u16(0x0203);
  writer.u32(0x04050607);
  writer.u64(0x08090a0b0c0d0e0f);
  writer.octets(from_hex("1011"));
  writer.zeros(2);
  EXPECT_TRUE(writer.ok());
  EXPECT_EQ(writer.size(), 19u);
  EXPECT_EQ(writer.remaining(), 1u);
  EXPECT_EQ(test::to_hex(writer.written()), "0102030405060708090a0b0c0d0e0f10110000");
}

TEST(WriterTest, NeverWritesPastTheEnd) {
  const auto room = std::make_unique<std::byte[]>(6);
  Writer writer({room.get(), 6});
  writer.u32(1);
  writer.u32(2);
  EXPECT_FALSE(writer.ok());
  writer.u8(3);
  writer.octets(from_hex("01"));
  writer.zeros(1);
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(writer.size(), 4u);
}

TEST(Pad4, RoundsUp) {
  EXPECT_EQ(pad4(0u), 0u);
  EXPECT_EQ(pad4(1u), 4u);
  EXPECT_EQ(pad4(4u), 4u);
  EXPECT_EQ(pad4(std::size_t{5}), 8u);
}

}  // namespace
}  // namespace rpcrdma
