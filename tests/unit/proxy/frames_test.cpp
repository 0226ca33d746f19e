// SPDX-License-Identifier: BSD-3-Clause
// The proxy's parser and its changes of frames, with the vectors of tests/data/stack.hex, whole, truncated and
// corrupted.
#include <gtest/gtest.h>

#include <random>

#include "crc32c.hpp"
#include "frames.hpp"
#include "rewrite.hpp"
#include "support/hex.hpp"

namespace rpcrdma::proxy {
namespace {

using test::Bytes;

const std::map<std::string, Bytes>& vectors() {
  static const auto loaded = test::load_vectors("stack.hex");
  return loaded;
}

struct Expected {
  const char* name;
  Side side;
  Kind kind;
};

constexpr Expected kFpdus[] = {
    {"getattr_call", Side::to_server, Kind::call},
    {"getattr_reply", Side::to_client, Kind::reply},
    {"write_call_readchunk", Side::to_server, Kind::call},
    {"read_req", Side::to_client, Kind::read_request},
    {"read_resp", Side::to_server, Kind::read_response},
    {"write_reply_inv", Side::to_client, Kind::reply},
    {"read_call_writechunk", Side::to_server, Kind::call},
    {"rdma_write", Side::to_client, Kind::write},
    {"read_reply_writechunk", Side::to_client, Kind::reply},
    {"nomsg_call", Side::to_server, Kind::call},
    {"nomsg_reply", Side::to_client, Kind::reply},
    {"err_vers", Side::to_client, Kind::reply},
    {"err_chunk", Side::to_client, Kind::reply},
    {"terminate_rdmap", Side::to_client, Kind::terminate},
    {"terminate_ddp", Side::to_client, Kind::terminate},
    {"terminate_mpa_ird", Side::to_client, Kind::terminate},
};

/// Returns a reader for the direction `side` that has already read the start-up frame of this direction: the MPA
/// Request or the MPA Reply.
FrameReader started(Side side) {
  FrameReader reader(side);
  EXPECT_TRUE(reader.next(vectors().at(side == Side::to_server ? "mpa_req" : "mpa_rep")));
  return reader;
}

TEST(Frames, StartUp) {
  FrameReader request(Side::to_server), reply(Side::to_client);
  const auto one = request.next(vectors().at("mpa_req"));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->kind, Kind::mpa_request);
  EXPECT_EQ(one->size, vectors().at("mpa_req").size());
  EXPECT_TRUE(request.flags()->crc);
  EXPECT_FALSE(request.flags()->markers);
  const auto two = reply.next(vectors().at("enhanced_mpa_rep"));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->kind, Kind::mpa_reply);
  EXPECT_EQ(two->size, 32u);
}

TEST(Frames, KindAndSizeOfEachVector) {
  for (const auto& [name, side, kind] : kFpdus) {
    FrameReader reader = started(side);
    Bytes bytes = vectors().at(name);
    bytes.resize(bytes.size() + 3);  // the beginning of another frame
    const auto frame = reader.next(bytes);
    ASSERT_TRUE(frame) << name;
    EXPECT_EQ(frame->kind, kind) << name;
    EXPECT_EQ(frame->size, bytes.size() - 3) << name;
    EXPECT_TRUE(frame->first && frame->last) << name;
  }
}

TEST(Frames, NoPrefixIsAFrame) {
  for (const char* name : {"mpa_req", "enhanced_mpa_req"})
    for (std::size_t size = 0; size < vectors().at(name).size(); ++size) {
      FrameReader reader(Side::to_server);
      const test::ExactCopy prefix(Octets(vectors().at(name)).first(size));
      EXPECT_FALSE(reader.next(prefix.octets())) << name << size;
      EXPECT_FALSE(reader.unframed()) << name << size;
      EXPECT_TRUE(reader.next(vectors().at(name))) << name << size;
    }
  for (const auto& [name, side, kind] : kFpdus)
    for (std::size_t size = 0; size < vectors().at(name).size(); ++size) {
      FrameReader reader = started(side);
      const test::ExactCopy prefix(Octets(vectors().at(name)).first(size));
      EXPECT_FALSE(reader.next(prefix.octets())) << name << size;
    }
}

/// Returns an FPDU with the first `size` bytes of the ULPDU of `fpdu`.
Bytes cut_ulpdu(const Bytes& fpdu, std::size_t size) {
  Bytes out(pad4(2 + size) + 4);
  Writer writer(out);
  writer.u16(static_cast<std::uint16_t>(size));
  writer.octets(Octets(fpdu).subspan(2, size));
  return out;
}

TEST(Frames, EachPrefixOfAUlpduIsAFrameOfSomeKind) {
  for (const auto& [name, side, kind] : kFpdus) {
    const Bytes& whole = vectors().at(name);
    for (std::size_t size = 0; size < Reader(whole).u16(); ++size) {
      FrameReader reader = started(side);
      const test::ExactCopy fpdu(cut_ulpdu(whole, size));
      const auto frame = reader.next(fpdu.octets());
      ASSERT_TRUE(frame) << name << size;
      EXPECT_EQ(frame->size, fpdu.octets().size());
      if (size < kTaggedSize) {
        EXPECT_EQ(frame->kind, Kind::other) << name << size;
      }
      if (frame->kind == Kind::call && size < whole.size()) {
        EXPECT_GE(size, kUntaggedSize + 16) << name;
      }
    }
  }
}

TEST(Frames, SurvivesAnyBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    const auto& [name, side, kind] = kFpdus[random() % std::size(kFpdus)];
    Bytes bytes = vectors().at(name);
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= std::byte{1} << random() % 8;
    FrameReader reader = started(side);
    const test::ExactCopy copy(bytes);
    if (const auto frame = reader.next(copy.octets())) {
      EXPECT_LE(frame->size, bytes.size());
    }
  }
}

TEST(Frames, ProcedureOfACall) {
  FrameReader reader = started(Side::to_server);
  const auto frame = reader.next(vectors().at("read_call_writechunk"));
  ASSERT_TRUE(frame && frame->rpc && frame->rpc->procedure);
  EXPECT_EQ(frame->rpc->xid, 0xa0000003u);
  EXPECT_EQ(frame->rpc->procedure->program, 100003u);
  EXPECT_EQ(frame->rpc->procedure->version, 3u);
  EXPECT_EQ(frame->rpc->procedure->number, 6u);
  EXPECT_FALSE(is_non_idempotent(*frame->rpc->procedure));
  EXPECT_TRUE(is_non_idempotent({100003, 3, 9}));
  EXPECT_FALSE(is_non_idempotent({100005, 3, 9}));
  EXPECT_FALSE(started(Side::to_server).next(vectors().at("nomsg_call"))->rpc->procedure);
}

TEST(Frames, ReverseCallsAreToldByTheirRpcHeader) {
  EXPECT_EQ(started(Side::to_client).next(vectors().at("getattr_call"))->kind, Kind::call);
  EXPECT_EQ(started(Side::to_server).next(vectors().at("getattr_reply"))->kind, Kind::reply);
}

TEST(Frames, SegmentsOfAMessage) {
  Bytes first = vectors().at("getattr_call"), second = first, write = vectors().at("rdma_write");
  first[2] &= ~std::byte{0x40};                           // clears the Last flag
  Writer(MutableOctets(second).subspan(16, 4)).u32(100);  // sets the message offset
  FrameReader reader = started(Side::to_server);
  auto frame = reader.next(first);
  EXPECT_TRUE(frame->first && !frame->last);
  frame = reader.next(second);
  EXPECT_EQ(frame->kind, Kind::call);
  EXPECT_TRUE(!frame->first && frame->last && !frame->rpc);
  Bytes more = write;
  more[2] &= ~std::byte{0x40};
  EXPECT_TRUE(reader.next(more)->first);
  EXPECT_FALSE(reader.next(more)->first);
  EXPECT_FALSE(reader.next(write)->first);
  EXPECT_TRUE(reader.next(write)->first);
}

TEST(Frames, WithoutStartUpFrameNothingIsFramed) {
  FrameReader http(Side::to_server);
  const Bytes text = test::from_hex("47455420");
  EXPECT_FALSE(http.next(text));
  EXPECT_TRUE(http.unframed());
  FrameReader wrong_way(Side::to_client);
  EXPECT_FALSE(wrong_way.next(vectors().at("mpa_req")));
  EXPECT_TRUE(wrong_way.unframed());
  Bytes long_private = vectors().at("mpa_req");
  Writer(MutableOctets(long_private).subspan(18, 2)).u16(513);
  FrameReader reader(Side::to_server);
  EXPECT_FALSE(reader.next(long_private));
  EXPECT_TRUE(reader.unframed());
}

TEST(Rewrite, CrcOfEachVectorIsThatOfTheVector) {
  for (const auto& [name, side, kind] : kFpdus) {
    Bytes bytes = vectors().at(name);
    for (std::byte& byte : MutableOctets(bytes).last(4)) byte = {};
    write_crc(bytes);
    EXPECT_EQ(test::to_hex(bytes), test::to_hex(vectors().at(name))) << name;
  }
  EXPECT_EQ(crc32c(std::as_bytes(std::span("123456789", 9))), 0xE3069283u);
}

TEST(Rewrite, Credits) {
  Bytes bytes = vectors().at("getattr_reply");
  EXPECT_EQ(lower_credits(bytes, 16), std::nullopt);
  EXPECT_EQ(lower_credits(bytes, 3), 16u);
  EXPECT_EQ(Reader(Octets(bytes).subspan(28)).u32(), 3u);
  for (std::size_t size = 0; size < 32; ++size) {
    Bytes cut = vectors().at("getattr_reply");
    EXPECT_EQ(lower_credits(MutableOctets(cut).first(size), 3), std::nullopt);
  }
}

TEST(Rewrite, FlippedBits) {
  for (const auto& [name, side, kind] : kFpdus) {
    const auto frame = started(side).next(vectors().at(name));
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      Fault fault{{}, Dice(seed, {}), 1, true};
      const auto any = bit_to_flip(fault, *frame);
      ASSERT_TRUE(any);
      EXPECT_GE(*any, 16u) << "no bit of the length field is flipped";
      EXPECT_LT(*any, frame->size * 8);
      Fault fixed{{}, Dice(seed, {}), 1, true};
      fixed.rule.fix_crc = true;
      EXPECT_LT(*bit_to_flip(fixed, *frame), (frame->size - 4) * 8) << "no bit of a CRC that is corrected is flipped";
      fixed.rule.bit = static_cast<std::uint32_t>((frame->size - 4) * 8);
      EXPECT_FALSE(bit_to_flip(fixed, *frame));
      fault.rule.field = Field::ddp_version;
      EXPECT_EQ(*bit_to_flip(fault, *frame) / 2, 11u);
      fault.rule.field = Field::stag;
      const auto stag = bit_to_flip(fault, *frame);
      EXPECT_EQ(stag.has_value(), kind == Kind::write || kind == Kind::read_response);
      fault.rule.bit = static_cast<std::uint32_t>(frame->size * 8);
      EXPECT_FALSE(bit_to_flip(fault, *frame));
    }
  }
  Bytes bytes = test::from_hex("0000");
  flip_bit(bytes, 9);
  EXPECT_EQ(test::to_hex(bytes), "0040");
}

}  // namespace
}  // namespace rpcrdma::proxy
