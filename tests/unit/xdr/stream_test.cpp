// SPDX-License-Identifier: BSD-3-Clause
// Encoder and Decoder as XDR streams: bytes, positions, pieces, failure.
#include <gtest/gtest.h>

#include "unit/xdr/stream.hpp"

namespace rpcrdma::test {
namespace {

using xdr::DecodeFailure;
using xdr::Decoder;
using xdr::Encoder;

TEST(EncoderTest, IsAnXdrStream) {
  OutMessage message;
  Encoder out(message.out());
  XDR* xdrs = out.xdr();
  int number = -2;
  u_quad_t large = 0x0102030405060708;
  bool_t truth = TRUE;
  char fixed[5] = {'a', 'b', 'c', 'd', 'e'};
  ASSERT_TRUE(xdr_int(xdrs, &number));
  ASSERT_TRUE(xdr_u_quad_t(xdrs, &large));
  ASSERT_TRUE(xdr_bool(xdrs, &truth));
  EXPECT_EQ(xdr_getpos(xdrs), 16u);
  ASSERT_TRUE(xdr_opaque(xdrs, fixed, sizeof fixed));
  EXPECT_EQ(out.position(), 24u);
  EXPECT_EQ(to_hex(message.reduced()), to_hex(from_hex("fffffffe 01020304 05060708 00000001 61626364 65000000")));
  EXPECT_FALSE(xdr_setpos(xdrs, 25));
  EXPECT_EQ(Encoder::of(xdrs), &out);
  EXPECT_EQ(Decoder::of(xdrs), nullptr);
}

TEST(EncoderTest, CountedBytesArePadded) {
  for (std::size_t size = 0; size < 9; ++size) {
    OutMessage message;
    Encoder out(message.out());
    out.counted(Bytes(size, std::byte{0xff}));
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(message.payload().length, 4 + pad4(size));
    const Bytes wire = message.reduced();
    EXPECT_TRUE(std::all_of(wire.begin() + 4 + static_cast<std::ptrdiff_t>(size), wire.end(),
                            [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(EncoderTest, FailureIsSticky) {
  Bytes room(8);
  PayloadBuilder builder;
  builder.start(ref_of(room), nullptr);
  Encoder out(builder);
  out.u32(1);
  out.u32(2);
  EXPECT_TRUE(out.ok());
  out.u32(3);
  EXPECT_FALSE(out.ok());
  int more = 4;
  EXPECT_FALSE(xdr_int(out.xdr(), &more));
}

TEST(DecoderTest, IsAnXdrStream) {
  const InMessage message(from_hex("fffffffe 01020304 05060708 00000007 61626364 65000000"));
  Decoder in(message.payload());
  XDR* xdrs = in.xdr();
  int number = 0;
  u_quad_t large = 0;
  bool_t truth = FALSE;
  char fixed[5];
  ASSERT_TRUE(xdr_int(xdrs, &number));
  ASSERT_TRUE(xdr_u_quad_t(xdrs, &large));
  ASSERT_TRUE(xdr_bool(xdrs, &truth));
  ASSERT_TRUE(xdr_opaque(xdrs, fixed, sizeof fixed));
  EXPECT_EQ(number, -2);
  EXPECT_EQ(large, 0x0102030405060708u);
  EXPECT_EQ(truth, TRUE);
  EXPECT_EQ(std::string(fixed, 5), "abcde");
  EXPECT_EQ(xdr_getpos(xdrs), 24u);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_FALSE(xdr_int(xdrs, &number));
  EXPECT_EQ(in.failure(), DecodeFailure::malformed);
  EXPECT_EQ(Decoder::of(xdrs), &in);
}

TEST(DecoderTest, CrossesPieces) {
  const Bytes wire = from_hex("0000000a 68656c6c 6f20776f 72000000 00000005");
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    InMessage message;
    message.piece(Octets(wire).first(cut), 0).piece(Octets(wire).subspan(cut), static_cast<std::uint32_t>(cut));
    Decoder in(message.payload());
    text_data text{};
    ASSERT_TRUE(in.text(text, 100)) << cut;
    EXPECT_EQ(text.view(), std::string_view("hello wor\0", 10));
    EXPECT_EQ(text.owned, cut > 4 && cut < 14) << cut;
    EXPECT_EQ(in.u32(), 5u);
    EXPECT_TRUE(in.finish());
    xdr_release(xdr_text_data, text);
  }
}

// The second piece follows a reduced item of 8 bytes. Words cannot be read from the bytes of the item.
TEST(DecoderTest, AWordThatIsCutShortIsZero) {
  const Bytes wire(20, std::byte{0x5a});
  for (const std::uint32_t cut : {5u, 6u, 7u, 8u}) {
    InMessage message;
    message.piece(Octets(wire).first(cut), 0).piece(Octets(wire).subspan(cut), cut + 8).item(cut, 8);
    Decoder in(message.payload());
    EXPECT_EQ(in.u32(), 0x5a5a5a5au);
    EXPECT_EQ(in.u32(), cut == 8 ? 0x5a5a5a5au : 0u) << cut;
    EXPECT_EQ(in.u64(), 0u);
    EXPECT_EQ(in.failure(), DecodeFailure::bad_item);
    EXPECT_EQ(in.remaining(), 0u);
    EXPECT_EQ(in.u32(), 0u);
  }
}

TEST(DecoderTest, PaddingIsLeftOutOfSharedMemory) {
  for (u_int size = 1; size <= 8; ++size) {
    const Bytes wire(pad4(size) + 4, std::byte{0x5a});
    InMessage message{Octets(wire)};
    Decoder in(message.payload());
    char value[8] = {};
    ASSERT_TRUE(xdr_opaque(in.xdr(), value, size));
    EXPECT_EQ(in.position(), pad4(size));
    EXPECT_EQ(std::string(value, size), std::string(size, 0x5a));
    EXPECT_EQ(in.u32(), 0x5a5a5a5au);
    EXPECT_TRUE(in.ok());
  }
}

TEST(DecoderTest, EmptyMessages) {
  const InMessage none;
  Decoder in(none.payload());
  EXPECT_EQ(in.u32(), 0u);
  EXPECT_FALSE(in.ok());
  const InMessage empty{Octets()};
  Decoder still(empty.payload());
  EXPECT_TRUE(still.ok());
  EXPECT_TRUE(still.finish());
}

TEST(DecoderTest, MessagesBeginAtZero) {
  InMessage message;
  message.piece(Bytes(8), 4);
  Decoder in(message.payload());
  EXPECT_FALSE(in.ok());
}

TEST(DecoderTest, TextsAreBoundedByTheMessage) {
  for (const std::uint32_t length : {5u, 8u, 9u, 0x7fffffffu, 0xfffffffdu, 0xffffffffu}) {
    Bytes wire(4 + 8);
    Writer(wire).u32(length);
    const InMessage message{wire};
    Decoder in(message.payload());
    text_data text{};
    EXPECT_EQ(in.text(text, 0xffffffff), length <= 8) << length;
    EXPECT_EQ(text.length, length <= 8 ? length : 0);
  }
}

TEST(OtherStreams, AreRejected) {
  char memory[64] = {};
  XDR xdrs;
  for (const xdr_op op : {XDR_ENCODE, XDR_DECODE}) {
    xdrmem_create(&xdrs, memory, sizeof memory, op);
    bulk_data bulk{};
    text_data text{};
    EXPECT_FALSE(xdr_bulk_data(&xdrs, &bulk));
    EXPECT_FALSE(xdr_text_data(&xdrs, &text));
  }
  bulk_data bulk{};
  xdr_release(xdr_bulk_data, bulk);
}

class Keeper final : public xdr::MessageKeeper {
 public:
  const Payload* keep(const Payload& from) override {
    ++asked;
    for (const PayloadPiece& piece : from.pieces) copy_.piece(Octets(piece.octets.octets()), piece.position);
    return &copy_.payload();
  }
  int asked = 0;

 private:
  InMessage copy_;
};

TEST(DecoderTest, ValuesInPlaceMayOutliveTheMessage) {
  Keeper keeper;
  text_data first{};
  text_data second{};
  {
    const InMessage message(from_hex("00000001 00000003 61626300 00000002 64650000"));
    Decoder in(message.payload(), &keeper);
    EXPECT_EQ(in.u32(), 1u);
    EXPECT_EQ(keeper.asked, 0);
    ASSERT_TRUE(in.text(first, 10));
    ASSERT_TRUE(in.text(second, 10));
  }
  EXPECT_EQ(keeper.asked, 1);
  EXPECT_EQ(first.view(), "abc");
  EXPECT_EQ(second.view(), "de");
}

}  // namespace
}  // namespace rpcrdma::test
