// SPDX-License-Identifier: BSD-3-Clause
// What the XDR routines that rpcrdma-gen generates for shapes.x refuse.
#include <gtest/gtest.h>

#include "shapes.rpcrdma.hpp"
#include "unit/xdr/stream.hpp"

namespace rpcrdma::test {
namespace {

template <class T>
bool decodes(bool_t (*routine)(XDR*, T*), const std::vector<std::uint32_t>& words) {
  OutMessage out;
  xdr::Encoder encoder(out.out());
  for (const std::uint32_t word : words) encoder.u32(word);
  const Bytes wire = out.reduced();
  const InMessage message{wire};
  xdr::Decoder in(message.payload());
  T value{};
  const bool done = in.decode(routine, value);
  xdr_release(routine, value);
  return done;
}

TEST(Hostile, ListsEndBeforeTheStackDoes) {
  const auto list = [](std::size_t elements) {
    std::vector<std::uint32_t> words;
    for (std::size_t i = 0; i < elements; ++i) words.insert(words.end(), {7, i + 1 < elements ? 1u : 0u});
    return words;
  };
  EXPECT_TRUE(decodes(&xdr_entry, list(10'000)));
  EXPECT_FALSE(decodes(&xdr_entry, list(1u << 17)));
}

TEST(Hostile, ArraysAreNotLongerThanTheMessage) {
  EXPECT_TRUE(decodes(&xdr_items, {2, 0, 0}));
  EXPECT_FALSE(decodes(&xdr_items, {3, 0, 0}));
  items claimed{};
  const Bytes wire = from_hex("04000000 00000000");
  const InMessage message{wire};
  xdr::Decoder in(message.payload());
  EXPECT_FALSE(in.decode(&xdr_items, claimed));
  EXPECT_EQ(claimed.all.all_val, nullptr);
}

// A service frees what was decoded of refused arguments, which must not touch the memory of the other items.
TEST(Hostile, OnlyTheDecodedItemsOfAnArrayCount) {
  items some{};
  OutMessage out;
  xdr::Encoder encoder(out.out());
  for (const std::uint32_t word : {4u, 0u, 0xFFFFFFFFu, 0u, 0u}) encoder.u32(word);
  const Bytes wire = out.reduced();
  const InMessage message{wire};
  xdr::Decoder in(message.payload());
  EXPECT_FALSE(in.decode(&xdr_items, some));
  EXPECT_EQ(some.all.all_len, 2u);
  xdr_release(&xdr_items, some);
}

TEST(Hostile, TruthsAreZeroOrOne) {
  EXPECT_TRUE(decodes(&xdr_truths, {0, 1, 2, 1, 0, 1, 1}));
  for (const std::size_t place : {0u, 1u, 3u, 4u, 5u, 6u}) {
    std::vector<std::uint32_t> words{0, 1, 2, 1, 0, 1, 1};
    words[place] = 2;
    EXPECT_FALSE(decodes(&xdr_truths, words)) << place;
  }
}

}  // namespace
}  // namespace rpcrdma::test
