// SPDX-License-Identifier: BSD-3-Clause
// Decoding a message that is still arriving, and XDR_INLINE.
#include <gtest/gtest.h>

#include <vector>

#include "stream.hpp"

namespace rpcrdma::test {
namespace {

using xdr::Decoder;
using xdr::Encoder;

/// A message `all` that arrives in pieces of `step` bytes, one piece for each call of more(). If `direct` is true,
/// place() delivers all bytes of a long opaque that have not arrived yet in one step, directly to their target.
class Arriving final : public xdr::Source {
 public:
  Arriving(std::vector<std::byte>& all, std::uint32_t step, bool direct) : all_(all), step_(step), direct_(direct) {
    message_.length = static_cast<std::uint32_t>(all.size());
  }
  const Payload& message() const { return message_; }
  std::uint32_t left_out = 0;  // bytes that place() copied to their target, so that message_ has no piece for them
  bool lost = false;

  bool more() override {
    if (lost || come_ == all_.size()) return false;
    const std::uint32_t count = std::min(step_, static_cast<std::uint32_t>(all_.size()) - come_);
    message_.pieces.push_back({come_, {all_.data() + come_, count, 0}});
    come_ += count;
    return true;
  }
  std::uint32_t place(std::uint32_t position, MutableOctets to) override {
    const auto size = static_cast<std::uint32_t>(to.size());
    const std::uint32_t first = direct_ ? std::min(come_ - position, size) : size;
    std::memcpy(to.data() + first, all_.data() + position + first, size - first);
    come_ += size - first;
    left_out += size - first;
    return first;
  }
  bool arrived() override { return !lost; }

 private:
  std::vector<std::byte>& all_;
  const std::uint32_t step_;
  const bool direct_;
  Payload message_;
  std::uint32_t come_ = 0;
};

std::vector<std::byte> three_values(u_int size) {
  std::vector<std::byte> out(4 + 4 + (size + 3) / 4 * 4 + 4);
  Writer(MutableOctets(out).first(8)).u32(17);
  Writer(MutableOctets(out).subspan(4, 4)).u32(size);
  for (u_int i = 0; i < size; ++i) out[8 + i] = static_cast<std::byte>(i * 31 + i / 256);
  Writer(MutableOctets(out).last(4)).u32(18);
  return out;
}

TEST(Source, AMessageIsReadWhileItArrives) {
  for (const bool direct : {false, true}) {
    for (const u_int size : {0u, 5u, 65'535u, 65'536u, 200'001u}) {
      std::vector<std::byte> all = three_values(size);
      Arriving source(all, 100, direct);
      Decoder decoder(source.message());
      decoder.set_source(source);
      EXPECT_EQ(decoder.u32(), 17u);
      char* bytes = nullptr;
      u_int length = 0;
      ASSERT_TRUE(xdr_bytes(decoder.xdr(), &bytes, &length, ~0u));
      ASSERT_EQ(length, size);
      EXPECT_TRUE(size == 0 || std::memcmp(bytes, all.data() + 8, size) == 0);
      EXPECT_EQ(decoder.u32(), 18u);
      EXPECT_EQ(decoder.remaining(), 0u);
      EXPECT_EQ(source.left_out != 0, direct && size >= 65'536);
      std::free(bytes);
    }
  }
}

// Reads the first word, goes back to the start, and reads the whole message.
TEST(Source, TheStartIsReadAgain) {
  for (const bool direct : {false, true}) {
    std::vector<std::byte> all = three_values(200'000);
    Arriving source(all, 100, direct);
    Decoder decoder(source.message());
    decoder.set_source(source);
    EXPECT_EQ(decoder.u32(), 17u);
    ASSERT_TRUE(XDR_SETPOS(decoder.xdr(), 0));
    EXPECT_EQ(decoder.remaining(), all.size());
    EXPECT_EQ(decoder.u32(), 17u);
    EXPECT_EQ(decoder.u32(), 200'000u);
    std::vector<std::byte> out(200'000);
    EXPECT_TRUE(decoder.copy(out));
    EXPECT_EQ(std::memcmp(out.data(), all.data() + 8, out.size()), 0);
    EXPECT_EQ(decoder.u32(), 18u);
  }
}

TEST(Source, DecodingFailsWhereTheMessageEnds) {
  for (const bool direct : {false, true}) {
    std::vector<std::byte> all = three_values(100'000);
    Arriving source(all, 100, direct);
    Decoder decoder(source.message());
    decoder.set_source(source);
    EXPECT_EQ(decoder.u32(), 17u);
    EXPECT_EQ(decoder.u32(), 100'000u);
    source.lost = true;
    std::vector<std::byte> out(100'000);
    EXPECT_FALSE(decoder.copy(out));
    EXPECT_FALSE(decoder.ok());
  }
}

TEST(Source, ACountBeyondTheMessageFails) {
  std::vector<std::byte> all = three_values(100);
  Arriving source(all, 100, true);
  Decoder decoder(source.message());
  decoder.set_source(source);
  std::vector<std::byte> out(1 << 20);
  EXPECT_FALSE(decoder.copy(out));
}

TEST(Inline, WordsInOnePieceAreInPlace) {
  OutMessage message(16);  // pieces of four words
  Encoder encoder(message.out());
  XDR* xdrs = encoder.xdr();
  encoder.u32(1);
  std::int32_t* words = XDR_INLINE(xdrs, 8);
  ASSERT_NE(words, nullptr);
  IXDR_PUT_U_INT32(words, 2u);
  IXDR_PUT_U_INT32(words, 3u);
  EXPECT_EQ(XDR_GETPOS(xdrs), 12u);
  EXPECT_EQ(XDR_INLINE(xdrs, 8), nullptr);  // the eight bytes would extend across two pieces
  EXPECT_EQ(XDR_INLINE(xdrs, 3), nullptr);
  encoder.u32(4);
  encoder.u32(5);
  ASSERT_TRUE(encoder.ok());
  ASSERT_TRUE(XDR_SETPOS(xdrs, 4));
  EXPECT_EQ(XDR_INLINE(xdrs, 4), nullptr);  // encoded bytes can be replaced, but not reserved again

  Decoder decoder(message.out().payload());
  XDR* in = decoder.xdr();
  words = XDR_INLINE(in, 12);
  ASSERT_NE(words, nullptr);
  EXPECT_EQ(IXDR_GET_U_INT32(words), 1u);
  EXPECT_EQ(IXDR_GET_U_INT32(words), 2u);
  EXPECT_EQ(IXDR_GET_U_INT32(words), 3u);
  EXPECT_EQ(XDR_INLINE(in, 8), nullptr);
  EXPECT_EQ(XDR_GETPOS(in), 12u);
  EXPECT_EQ(decoder.u32(), 4u);
  EXPECT_EQ(XDR_INLINE(in, 8), nullptr);  // beyond the end
  EXPECT_TRUE(decoder.ok());
  EXPECT_EQ(decoder.u32(), 5u);
}

}  // namespace
}  // namespace rpcrdma::test
