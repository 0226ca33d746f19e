// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/payload_builder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "support/hex.hpp"
#include "support/pattern.hpp"

namespace rpcrdma {
namespace {

class Lender final : public PayloadMemory {
 public:
  explicit Lender(std::uint32_t size, int most = 1000) : size_(size), left_(most) {}
  Result<BufferRef> more_payload_memory(std::uint32_t at_least) override {
    if (left_-- <= 0) return BaseError::out_of_memory;
    auto& memory = lent_.emplace_back(std::max(size_, at_least));
    return BufferRef{memory.data(), static_cast<std::uint32_t>(memory.size()), 7};
  }
  std::size_t count() const { return lent_.size(); }

 private:
  std::uint32_t size_;
  int left_;
  std::deque<std::vector<std::byte>> lent_;
};

/// The unreduced stream of `payload`.
test::Bytes unreduced(const Payload& payload) {
  test::Bytes out(payload.length, std::byte{0});
  const auto put = [&](std::uint32_t at, const BufferRef& from) {
    std::copy(from.octets().begin(), from.octets().end(), out.begin() + at);
  };
  for (const PayloadPiece& piece : payload.pieces) put(piece.position, piece.octets);
  for (const PayloadItem& item : payload.items) {
    std::uint32_t at = item.position;
    for (const BufferRef& part : item.parts) {
      put(at, part);
      at += part.size;
    }
  }
  return out;
}

class PayloadBuilderTest : public testing::Test {
 protected:
  BufferRef first(std::uint32_t size) { return {room_.data(), size, 1}; }
  std::array<std::byte, 256> room_{};
  PayloadBuilder builder_;
};

TEST_F(PayloadBuilderTest, SmallValuesGoIntoOnePiece) {
  builder_.start(first(256), nullptr);
  builder_.u32(0xa0000001);
  builder_.octets(test::from_hex("0102030405"));
  EXPECT_EQ(builder_.position(), 9u);
  ASSERT_TRUE(builder_.ok());
  ASSERT_EQ(builder_.payload().pieces.size(), 1u);
  EXPECT_EQ(test::to_hex(builder_.payload().pieces[0].octets.octets()), "a00000010102030405");
}

TEST_F(PayloadBuilderTest, ItemsAreTakenByReference) {
  std::array<std::byte, 5> data{};
  test::fill_pattern(data, 3);
  const std::array<BufferRef, 2> parts{BufferRef{data.data(), 2, 9}, BufferRef{data.data() + 2, 3, 9}};
  builder_.start(first(256), nullptr);
  builder_.u32(1);
  builder_.u32(5);
  builder_.item(parts);
  builder_.u32(2);
  ASSERT_TRUE(builder_.ok());
  const Payload& payload = builder_.payload();
  EXPECT_EQ(payload.length, 4u + 4u + 8u + 4u);
  EXPECT_EQ(payload.reduced_length(), 12u);
  ASSERT_EQ(payload.items.size(), 1u);
  EXPECT_EQ(payload.items[0].position, 8u);
  EXPECT_EQ(payload.items[0].length, 5u);
  EXPECT_EQ(payload.items[0].parts[1].data, data.data() + 2);
  ASSERT_EQ(payload.pieces.size(), 2u);
  EXPECT_EQ(payload.pieces[1].position, 16u);
  EXPECT_EQ(test::to_hex(unreduced(payload)), "0000000100000005" + test::to_hex(data) + "00000000000002");
}

TEST_F(PayloadBuilderTest, EmptyItemsVanish) {
  builder_.start(first(256), nullptr);
  builder_.u32(0);
  builder_.item({});
  EXPECT_TRUE(builder_.ok());
  EXPECT_TRUE(builder_.payload().items.empty());
  EXPECT_EQ(builder_.position(), 4u);
}

TEST_F(PayloadBuilderTest, ItemsStandAtMultiplesOfFour) {
  std::array<std::byte, 4> data{};
  const BufferRef part{data.data(), 4, 9};
  builder_.start(first(256), nullptr);
  builder_.octets(test::from_hex("01"));
  builder_.item({&part, 1});
  EXPECT_FALSE(builder_.ok());
}

TEST_F(PayloadBuilderTest, BorrowsWhenTheFirstBufferIsFull) {
  Lender lender(64);
  builder_.start(first(10), &lender);
  std::vector<std::byte> data(1000);
  test::fill_pattern(data, 4);
  builder_.octets(data);
  ASSERT_TRUE(builder_.ok());
  EXPECT_GT(lender.count(), 0u);
  EXPECT_EQ(unreduced(builder_.payload()), data);
  std::uint32_t at = 0;
  for (const PayloadPiece& piece : builder_.payload().pieces) {
    EXPECT_EQ(piece.position, at);
    at += piece.octets.size;
  }
}

TEST_F(PayloadBuilderTest, FailsWhenNothingIsLent) {
  Lender lender(64, 2);
  builder_.start(first(10), &lender);
  builder_.octets(std::vector<std::byte>(20000));
  EXPECT_FALSE(builder_.ok());
  builder_.u32(1);
  EXPECT_FALSE(builder_.ok());
  builder_.start(first(10), nullptr);
  builder_.u32(1);
  EXPECT_TRUE(builder_.ok());
  EXPECT_EQ(builder_.position(), 4u);
  EXPECT_EQ(builder_.reserve(7), nullptr);
  EXPECT_FALSE(builder_.ok());
}

}  // namespace
}  // namespace rpcrdma
