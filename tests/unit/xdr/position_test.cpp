// SPDX-License-Identifier: BSD-3-Clause
// XDR_GETPOS and XDR_SETPOS. XDR routines of other programs use them, for example to write a length after the data.
#include <gtest/gtest.h>

#include "stream.hpp"

namespace rpcrdma::test {
namespace {

using xdr::Decoder;
using xdr::Encoder;

TEST(Position, AnEncodedWordIsReplaced) {
  OutMessage message(8);  // pieces of two words
  Encoder encoder(message.out());
  XDR* xdrs = encoder.xdr();
  for (u_int word : {1u, 2u, 3u, 4u, 5u}) ASSERT_TRUE(xdr_u_int(xdrs, &word));
  const u_int end = XDR_GETPOS(xdrs);
  EXPECT_EQ(end, 20u);
  ASSERT_TRUE(XDR_SETPOS(xdrs, 8));
  EXPECT_EQ(XDR_GETPOS(xdrs), 8u);
  u_int word = 33;
  ASSERT_TRUE(xdr_u_int(xdrs, &word));
  ASSERT_TRUE(XDR_SETPOS(xdrs, end));
  word = 6;
  ASSERT_TRUE(xdr_u_int(xdrs, &word));
  const InMessage in(message.reduced());
  Decoder decoder(in.payload());
  for (u_int expected : {1u, 2u, 33u, 4u, 5u, 6u}) EXPECT_EQ(decoder.u32(), expected);
  EXPECT_EQ(decoder.remaining(), 0u);
}

TEST(Position, ReplacedBytesSpanPiecesAndTheMessageContinues) {
  OutMessage message(8);
  Encoder encoder(message.out());
  for (std::uint32_t i = 0; i < 6; ++i) encoder.u32(0);
  ASSERT_TRUE(XDR_SETPOS(encoder.xdr(), 4));
  char text[] = "twenty-six letters or more";
  char* at = text;
  ASSERT_TRUE(xdr_string(encoder.xdr(), &at, 100));
  EXPECT_TRUE(encoder.ok());
  EXPECT_EQ(encoder.position(), 4u + 4 + 28);
  const InMessage in(message.reduced());
  Decoder decoder(in.payload());
  EXPECT_EQ(decoder.u32(), 0u);
  char* read = nullptr;
  ASSERT_TRUE(xdr_string(decoder.xdr(), &read, 100));
  EXPECT_STREQ(read, text);
  xdr_free(reinterpret_cast<xdrproc_t>(xdr_wrapstring), &read);
}

TEST(Position, BeyondTheMessageFails) {
  OutMessage message;
  Encoder encoder(message.out());
  encoder.u32(1);
  EXPECT_FALSE(XDR_SETPOS(encoder.xdr(), 5));
  EXPECT_TRUE(XDR_SETPOS(encoder.xdr(), 4));
  const InMessage in(message.reduced());
  Decoder decoder(in.payload());
  EXPECT_FALSE(XDR_SETPOS(decoder.xdr(), 5));
  EXPECT_TRUE(XDR_SETPOS(decoder.xdr(), 4));
  EXPECT_TRUE(decoder.ok());
}

/// Treats an opaque of at least 8 bytes, and all bytes before it, as sent as soon as the opaque is encoded.
class Sending final : public xdr::Borrowing {
 public:
  bool borrow(PayloadBuilder& out, Octets octets) override {
    if (octets.size() < 8) return false;
    out.borrow({const_cast<std::byte*>(octets.data()), static_cast<std::uint32_t>(octets.size()), 0});
    sent_ = out.position();
    return true;
  }
  std::uint32_t sent() const noexcept override { return sent_; }

 private:
  std::uint32_t sent_ = 0;
};

// A word that has been sent cannot be replaced, so XDR_SETPOS to it fails.
TEST(Position, BeforeWhatHasBeenSentFails) {
  OutMessage message;
  Encoder encoder(message.out());
  Sending sending;
  encoder.set_borrowing(&sending);
  encoder.u32(1);
  char data[8] = {};
  ASSERT_TRUE(xdr_opaque(encoder.xdr(), data, sizeof data));
  encoder.u32(2);
  EXPECT_FALSE(XDR_SETPOS(encoder.xdr(), 0));
  EXPECT_FALSE(XDR_SETPOS(encoder.xdr(), 11));
  EXPECT_TRUE(XDR_SETPOS(encoder.xdr(), 12));
  EXPECT_TRUE(encoder.ok());
}

/// Takes opaques of 8 bytes or more by reference.
class Lending final : public xdr::Borrowing {
 public:
  bool borrow(PayloadBuilder& out, Octets octets) override {
    if (octets.size() < 8) return false;
    out.borrow({const_cast<std::byte*>(octets.data()), static_cast<std::uint32_t>(octets.size()), 0});
    return true;
  }
};

TEST(Position, WhatWasTakenByReferenceIsNotReplaced) {
  OutMessage message;
  Lending lending;
  Encoder encoder(message.out());
  encoder.set_borrowing(&lending);
  std::byte data[9]{std::byte{1}};
  encoder.counted(data);
  ASSERT_TRUE(encoder.ok());
  EXPECT_EQ(encoder.position(), 4u + 12);
  EXPECT_EQ(message.out().payload().pieces.at(1).octets.data, data);
  ASSERT_TRUE(encoder.set_position(0));
  encoder.u32(9);
  EXPECT_TRUE(encoder.ok());
  encoder.u32(7);
  EXPECT_FALSE(encoder.ok());
  EXPECT_EQ(data[0], std::byte{1});
}

TEST(Position, AnItemIsNotReplaced) {
  OutMessage message;
  Encoder encoder(message.out());
  encoder.u32(1);
  std::byte data[8]{};
  const BufferRef part{data, sizeof data, 0};
  encoder.u32(8);
  message.out().item({&part, 1});
  encoder.u32(2);
  ASSERT_TRUE(XDR_SETPOS(encoder.xdr(), 8));
  encoder.u32(3);
  EXPECT_FALSE(encoder.ok());
}

TEST(Position, DecodingGoesBackAndForth) {
  OutMessage message;
  Encoder encoder(message.out());
  for (std::uint32_t i = 0; i < 10; ++i) encoder.u32(i);
  const Bytes bytes = message.reduced();
  InMessage in;
  in.piece(std::span(bytes).first(12), 0).piece(std::span(bytes).subspan(12), 12);
  Decoder decoder(in.payload());
  for (const std::uint32_t word : {7u, 2u, 9u, 3u, 0u}) {
    ASSERT_TRUE(XDR_SETPOS(decoder.xdr(), 4 * word));
    EXPECT_EQ(decoder.u32(), word);
    EXPECT_EQ(decoder.remaining(), 36 - 4 * word);
  }
}

}  // namespace
}  // namespace rpcrdma::test
