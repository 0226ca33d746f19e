// SPDX-License-Identifier: BSD-3-Clause
// DDP-eligible items: positions, counts and pads in both directions.
#include <gtest/gtest.h>

#include "support/pattern.hpp"
#include "unit/xdr/stream.hpp"

namespace rpcrdma::test {
namespace {

using xdr::DecodeFailure;
using xdr::Decoder;
using xdr::Encoder;

constexpr std::uint32_t kNone = PayloadItem::kNoPosition;

// [8166-3.4.4.1-a] The count word of a reduced item stays in the stream. [8166-3.4.4.4-b] The pad of the item is
// removed. [8166-3.4.5-a] The positions of later items count the bytes of the item and of its pad.
TEST(BulkOut, ByReference) {
  Bytes memory(13);
  fill_pattern(memory, 1);
  const BufferRef parts[] = {ref_of(std::span(memory).first(4)), ref_of(std::span(memory).subspan(4))};
  bulk_data first{};
  first.set_parts(parts);
  bulk_data second{};
  second.set_parts({parts, 1});
  OutMessage message;
  Encoder out(message.out());
  out.u32(7);
  ASSERT_TRUE(out.encode(xdr_bulk_data, first));
  out.u32(8);
  ASSERT_TRUE(out.encode(xdr_bulk_data, second));
  const Payload& payload = message.payload();
  ASSERT_EQ(payload.items.size(), 2u);
  EXPECT_EQ(payload.items[0].position, 8u);
  EXPECT_EQ(payload.items[0].length, 13u);
  EXPECT_EQ(payload.items[0].parts[1].data, memory.data() + 4);  // the item refers to the memory
  EXPECT_EQ(payload.items[1].position, 8u + 16 + 4 + 4);
  EXPECT_EQ(payload.length, 36u);
  EXPECT_EQ(to_hex(message.reduced()), to_hex(from_hex("00000007 0000000d 00000008 00000004")));
}

TEST(BulkOut, UnregisteredMemoryIsCopied) {
  bulk_data path{};
  path.set_text("a/path");
  OutMessage message;
  Encoder out(message.out());
  ASSERT_TRUE(out.encode(xdr_bulk_data, path));
  EXPECT_TRUE(message.payload().items.empty());
  EXPECT_EQ(to_hex(message.reduced()), to_hex(from_hex("00000006 612f7061 74680000")));
}

class Stage final : public xdr::Staging {
 public:
  explicit Stage(std::size_t room) : memory(room) {}
  BufferRef stage(std::uint32_t size) override {
    return size <= memory.size() ? ref_of(std::span(memory).first(size)) : BufferRef{};
  }
  Bytes memory;
};

// [8166-4.3.2-a] an eligible result goes into a chunk, also from unregistered memory
TEST(BulkOut, StagedForAChunk) {
  Stage stage(16);
  bulk_data path{};
  path.set_text("target");
  OutMessage message;
  Encoder out(message.out(), &stage);
  ASSERT_TRUE(out.encode(xdr_bulk_data, path));
  ASSERT_EQ(message.payload().items.size(), 1u);
  EXPECT_EQ(message.payload().items[0].parts[0].data, stage.memory.data());
  EXPECT_EQ(to_hex(Octets(stage.memory).first(6)), to_hex(std::as_bytes(std::span("target", 6))));
  path.set_text("this one does not fit");
  EXPECT_FALSE(out.encode(xdr_bulk_data, path));
}

// [8166-3.4.5-a] an empty item stays in the stream
TEST(BulkOut, EmptyItemsStayInline) {
  bulk_data none{};
  none.set_parts({});
  OutMessage message;
  Encoder out(message.out());
  ASSERT_TRUE(out.encode(xdr_bulk_data, none));
  EXPECT_TRUE(message.payload().items.empty());
  EXPECT_EQ(message.payload().length, 4u);
}

TEST(BulkOut, IncomingItemsCannotBeSent) {
  bulk_data item{};
  item.kind = bulk_kind::item;
  item.length = 5;
  OutMessage message;
  Encoder out(message.out());
  EXPECT_FALSE(out.encode(xdr_bulk_data, item));
}

/// A message of u32 1, a bulk of `count` bytes, and u32 2. The bulk is in a Read chunk of `chunk` bytes at `position`.
struct Reduced {
  std::uint32_t count;
  std::uint32_t chunk;
  std::uint32_t position = 8;
};

DecodeFailure decode_reduced(const Reduced& r, bulk_data& data, std::uint32_t& behind) {
  Bytes wire(12);
  Writer out(wire);
  out.u32(1);
  out.u32(r.count);
  out.u32(2);
  InMessage message;
  message.piece(Octets(wire).first(8), 0);
  message.piece(Octets(wire).subspan(8), 8 + static_cast<std::uint32_t>(pad4(r.chunk)));
  message.item(r.position, r.chunk);
  Decoder in(message.payload());
  EXPECT_EQ(in.u32(), 1u);
  in.decode(xdr_bulk_data, data);
  behind = in.u32();
  in.finish();
  return in.failure();
}

// [8166-3.4.5.2-d] a Read chunk with or without the pad; [8166-4.5.2-b] any other length does not decode
TEST(BulkIn, ReadChunkLengths) {
  for (std::uint32_t count = 1; count < 12; ++count) {
    for (std::uint32_t chunk = 1; chunk < 16; ++chunk) {
      bulk_data data{};
      std::uint32_t behind = 0;
      const DecodeFailure failure = decode_reduced({count, chunk}, data, behind);
      const bool good = chunk == count || chunk == pad4(count);
      ASSERT_EQ(failure == DecodeFailure::none, good) << count << " in " << chunk;
      if (!good) {
        EXPECT_EQ(failure, DecodeFailure::bad_item);
        continue;
      }
      EXPECT_EQ(data.kind, bulk_kind::item);
      EXPECT_EQ(data.length, count);
      EXPECT_EQ(data.item, 0u);
      EXPECT_EQ(behind, 2u);
    }
  }
}

// [8166-6.1-b] The decoder rejects a Read chunk whose Position is not that of the eligible item. It also rejects a Read
// chunk for an item whose count word is 0, or so large that the count plus the pad exceeds 32 bits.
TEST(BulkIn, ReadChunkPositions) {
  for (const std::uint32_t position : {0u, 4u, 12u, 16u, 1000u}) {
    bulk_data data{};
    std::uint32_t behind = 0;
    EXPECT_NE(decode_reduced({8, 8, position}, data, behind), DecodeFailure::none) << position;
  }
  for (const std::uint32_t count : {0u, 0xfffffffdu, 0xffffffffu}) {
    bulk_data data{};
    std::uint32_t behind = 0;
    EXPECT_NE(decode_reduced({count, 8}, data, behind), DecodeFailure::none) << count;
  }
}

TEST(BulkIn, OtherReducedValuesAreRejected) {
  InMessage message;
  message.piece(Bytes(4), 0).piece(Bytes(16), 12).item(4, 8);
  Decoder in(message.payload());
  in.u32();
  in.u64();
  EXPECT_EQ(in.failure(), DecodeFailure::bad_item);
}

TEST(BulkIn, ReadItemAtTheEndAndTwoOfThem) {
  InMessage message;
  message.piece(from_hex("00000005"), 0).piece(from_hex("00000003"), 12).item(4, 5).item(16, 3);
  Decoder in(message.payload());
  bulk_data first{};
  bulk_data second{};
  ASSERT_TRUE(in.decode(xdr_bulk_data, first));
  EXPECT_EQ(in.position(), 12u);
  ASSERT_TRUE(in.decode(xdr_bulk_data, second));
  EXPECT_EQ(in.position(), 20u);
  EXPECT_EQ(second.item, 1u);
  EXPECT_TRUE(in.finish());
}

TEST(BulkIn, ExtraItemsAreRejected) {
  InMessage message;
  message.piece(from_hex("00000000"), 0).item(4, 5);
  Decoder in(message.payload());
  bulk_data data{};
  ASSERT_TRUE(in.decode(xdr_bulk_data, data));
  EXPECT_FALSE(in.finish());
  EXPECT_EQ(in.failure(), DecodeFailure::bad_item);
}

TEST(BulkIn, InlineIsInPlaceAndBounded) {
  for (const std::uint32_t count : {0u, 1u, 7u, 8u, 9u, 0x80000000u, 0xffffffffu}) {
    Bytes wire(12);
    Writer(wire).u32(count);
    const InMessage message{wire};
    Decoder in(message.payload());
    bulk_data data{};
    EXPECT_EQ(in.decode(xdr_bulk_data, data), count <= 8) << count;
    if (count == 0 || count > 8) continue;
    EXPECT_EQ(data.octets, message.payload().pieces[0].octets.data + 4);
    EXPECT_FALSE(data.owned);
    EXPECT_EQ(in.position(), 4 + pad4(count));
  }
}

// [8166-3.4.6.2-c] a Write chunk contains exactly the item
TEST(BulkIn, WriteChunkLengths) {
  Bytes room(16);
  const BufferRef buffer = ref_of(room);
  for (std::uint32_t written = 1; written <= 16; ++written) {
    InMessage message(from_hex("00000007 00000009"));
    message.write_item({&buffer, 1}, written);
    Decoder in(message.payload());
    bulk_data data{};
    ASSERT_EQ(in.decode(xdr_bulk_data, data), written == 7) << written;
    if (written != 7) {
      EXPECT_EQ(in.failure(), DecodeFailure::bad_item);
      continue;
    }
    EXPECT_EQ(data.kind, bulk_kind::placed);
    EXPECT_EQ(data.length, 7u);
    EXPECT_EQ(in.u32(), 9u);  // the next word follows without a pad
    EXPECT_TRUE(in.finish());
  }
}

// [8166-6.1-d] the reply has the data inline, although the call offered a Write chunk
TEST(BulkIn, IgnoredWriteChunk) {
  Bytes room(16);
  const BufferRef buffer = ref_of(room);
  InMessage message(from_hex("00000004 61626364"));
  message.write_item({&buffer, 1}, 0);
  Decoder in(message.payload());
  bulk_data data{};
  EXPECT_FALSE(in.decode(xdr_bulk_data, data));
  EXPECT_EQ(in.failure(), DecodeFailure::ignored_chunk);
}

// [8166-6.1-d] the reply has the data inline, and only set_destinations() names the memory of the offered Write chunk
TEST(BulkIn, IgnoredWriteChunkWithDestination) {
  Bytes room(16);
  const BufferRef buffer = ref_of(room);
  const std::span<const BufferRef> destinations[] = {{&buffer, 1}};
  InMessage message(from_hex("00000004 61626364"));
  message.write_item({}, 0);
  Decoder in(message.payload());
  in.set_destinations(destinations);
  bulk_data data{};
  EXPECT_FALSE(in.decode(xdr_bulk_data, data));
  EXPECT_EQ(in.failure(), DecodeFailure::ignored_chunk);
}

TEST(BulkIn, UnusedAndEmptyWriteChunks) {
  Bytes room(16);
  const BufferRef buffer = ref_of(room);
  InMessage unused(from_hex("00000000"));
  unused.write_item({&buffer, 1}, 0);
  Decoder nothing(unused.payload());
  bulk_data data{};
  EXPECT_TRUE(nothing.decode(xdr_bulk_data, data));
  EXPECT_TRUE(nothing.finish());
  InMessage empty(from_hex("00000004 61626364"));
  empty.write_item({}, 0);  // [8166-4.3.2.3-a] the chunk has no segments, so the data is inline
  Decoder inlined(empty.payload());
  EXPECT_TRUE(inlined.decode(xdr_bulk_data, data));
  EXPECT_EQ(data.text(), "abcd");
}

// [8166-6.1-c] a Write chunk with data, but no eligible result
TEST(BulkIn, WriteChunkWithoutResult) {
  Bytes room(16);
  const BufferRef buffer = ref_of(room);
  InMessage message(from_hex("00000001"));
  message.write_item({&buffer, 1}, 8);
  Decoder in(message.payload());
  in.u32();
  EXPECT_FALSE(in.finish());
}

// [8166-4.3.2.1-a] [8166-4.3.2.2-a] results use chunks in order; an empty result uses none
TEST(BulkIn, TwoResults) {
  Bytes room(16);
  const BufferRef buffers[] = {ref_of(std::span(room).first(8)), ref_of(std::span(room).subspan(8))};
  InMessage message(from_hex("00000000 00000005"));
  message.write_item({&buffers[0], 1}, 5).write_item({&buffers[1], 1}, 0);
  Decoder in(message.payload());
  bulk_data first{};
  bulk_data second{};
  ASSERT_TRUE(in.decode(xdr_bulk_data, first));
  ASSERT_TRUE(in.decode(xdr_bulk_data, second));
  EXPECT_EQ(first.length, 0u);
  EXPECT_EQ(second.item, 0u);
  EXPECT_TRUE(in.finish());
}

TEST(BulkIn, InlineResultsAreCopiedToTheirDestination) {
  const InMessage message(from_hex("00000007 61626364 65666700 0000002a"));
  Bytes room(16, std::byte{0xee});
  const BufferRef parts[] = {ref_of(std::span(room).first(3)), ref_of(std::span(room).subspan(3))};
  const std::span<const BufferRef> destinations[] = {parts};
  Decoder in(message.payload());
  in.set_destinations(destinations);
  bulk_data data{};
  ASSERT_TRUE(in.decode(xdr_bulk_data, data));
  EXPECT_EQ(data.kind, bulk_kind::placed);
  EXPECT_EQ(data.length, 7u);
  EXPECT_EQ(to_hex(Octets(room).first(8)), to_hex(from_hex("61626364656667ee")));
  EXPECT_EQ(in.u32(), 42u);
  const InMessage longer(from_hex("00000014 61626364 65666700 0000002a 61626364 65666700 61626364"));
  Decoder over(longer.payload());
  over.set_destinations(destinations);
  EXPECT_FALSE(over.decode(xdr_bulk_data, data));
}

}  // namespace
}  // namespace rpcrdma::test
