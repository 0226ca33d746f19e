// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/v2/options.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "rpcrdma/wire/header.hpp"
#include "support/hex.hpp"

namespace rpcrdma::wire::v2 {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;

/// Returns the content of the RDMA2_OPTIONAL in the test vector `name`.
Bytes content_of(const std::string& name, OptionType type) {
  static const auto vectors = test::load_vectors("v2.hex");
  Header header;
  EXPECT_TRUE(decode(vectors.at(name), header, {.highest_version = kVersionTwo}));
  EXPECT_EQ(header.option_type, static_cast<std::uint32_t>(type));
  return {header.option.begin(), header.option.end()};
}

/// Decodes the content of the test vector `name`, encodes it again, and checks that no prefix decodes.
template <class Option>
void check(const std::string& name, const Option& expected) {
  const Bytes content = content_of(name, Option::kType);
  const ExactCopy copy(content);
  Option option;
  ASSERT_TRUE(decode(copy.octets(), option)) << name;
  EXPECT_EQ(option, expected) << name;
  Bytes again(content.size());
  const auto size = encode(option, again);
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, content.size());
  EXPECT_EQ(again, content);
  EXPECT_EQ(encode(option, MutableOctets(again).first(content.size() - 1)).error(), BaseError::buffer_overflow);
  for (std::size_t cut = 0; cut < content.size(); ++cut) {
    Option none;
    const auto result = decode(ExactCopy(Octets(content).first(cut)).octets(), none);
    ASSERT_FALSE(result) << name << " " << cut;
    EXPECT_EQ(result.error(), WireError::bad_option);
  }
  Bytes longer = content;
  longer.resize(content.size() + 4);
  EXPECT_FALSE(decode(longer, option)) << "bytes follow the content";
}

Subset subset(std::initializer_list<std::size_t> positions) {
  Subset out;
  for (const std::size_t position : positions) out.insert(position);
  return out;
}

bool init_decodes(std::string_view hex) {
  InitOption option;
  return decode(ExactCopy(from_hex(hex)).octets(), option).has_value();
}

// [xchar-4.1-a] [xchar-2.1-e]
TEST(Options, Init) {
  InitOption init;
  init.start.emplace_back(CharacteristicId::receive_buffer_size, 4096u);
  init.start.emplace_back(CharacteristicId::backward_request_support,
                          static_cast<std::uint32_t>(BackwardSupport::size_limited));
  init.unchanging = subset({0, 1});
  check("init", init);
}

// [xchar-2.1-d] [xchar-6.2-a] unknown and experimental ids are skipped without an error
TEST(Options, UnknownCharacteristics) {
  const Bytes five = from_hex("6162636465");
  InitOption init;
  init.start.emplace_back(kFirstExperimental, Octets(five));
  init.start.emplace_back(CharacteristicId::receive_buffer_size, 65536u);
  init.start.emplace_back(CharacteristicId::requester_remote_invalidation, 1u);
  init.start.emplace_back(CharacteristicId::backward_request_support,
                          static_cast<std::uint32_t>(BackwardSupport::general));
  init.start.emplace_back(0xffffffffu, Octets());
  check("init_all", init);
}

// [xchar-4.2-a]
TEST(Options, Request) {
  RequestOption request;
  request.wanted.emplace_back(CharacteristicId::receive_buffer_size, 16384u);
  request.wanted.emplace_back(CharacteristicId::requester_remote_invalidation, 0u);
  check("request", request);
}

// [xchar-4.3-a] [xchar-2.1-e]
TEST(Options, Response) {
  check("response", ResponseOption{{}, subset({1}), subset({0})});
  check("response_wide", ResponseOption{subset({0, 31, 32, 39}), subset({1}), {}});
}

// [xchar-4.4-a]
TEST(Options, Update) { check("update", UpdateOption{{CharacteristicId::receive_buffer_size, 16384u}, true}); }

// [xchar-2.1-a] the value extends beyond the message, or leaves no room for the list that follows
TEST(Options, ValuesBeyondTheMessage) {
  for (const char* size : {"00000005", "00000008", "80000000", "fffffffd", "ffffffff"})
    EXPECT_FALSE(init_decodes(std::string("00000001 ffffff00") + size + "00001000 00000000")) << size;
}

// [xchar-2.1-b] [xchar-2.1-c] values of known ids that are invalid or have a wrong length are refused
TEST(Options, InvalidValues) {
  EXPECT_TRUE(init_decodes("00000001 00000001 00000004 00000000 00000000"));
  EXPECT_FALSE(init_decodes("00000001 00000001 00000003 00000000 00000000")) << "too short";
  EXPECT_FALSE(init_decodes("00000001 00000001 00000000 00000000")) << "empty";
  EXPECT_FALSE(init_decodes("00000001 00000001 00000008 00000000 00000000 00000000")) << "too long";
  EXPECT_TRUE(init_decodes("00000001 00000002 00000004 00000001 00000000"));
  EXPECT_FALSE(init_decodes("00000001 00000002 00000004 00000002 00000000")) << "no boolean";
  EXPECT_TRUE(init_decodes("00000001 00000003 00000004 00000003 00000000"));
  EXPECT_FALSE(init_decodes("00000001 00000003 00000004 00000004 00000000")) << "none of the four levels";
  UpdateOption update;
  EXPECT_FALSE(decode(from_hex("00000001 00000004 00001000 00000002"), update)) << "pendclr is no boolean";
}

// A count that the message cannot hold, and a list beyond the limit, are refused before memory is allocated.
TEST(Options, HostileCounts) {
  for (const char* count : {"00000001", "000f4240", "20000000", "20000001", "ffffffff"}) {
    EXPECT_FALSE(init_decodes(std::string(count) + "00000000")) << count;
    EXPECT_FALSE(init_decodes(std::string("00000000") + count)) << count;
  }
  const auto list_of = [](std::size_t count) {
    std::vector<std::byte> out(4 + count * 8);
    Writer writer(out);
    writer.u32(static_cast<std::uint32_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      writer.u32(kFirstExperimental);
      writer.u32(0);
    }
    return out;
  };
  RequestOption request;
  EXPECT_TRUE(decode(list_of(kMaxCharacteristics), request));
  EXPECT_EQ(request.wanted.size(), kMaxCharacteristics);
  EXPECT_FALSE(decode(list_of(kMaxCharacteristics + 1), request));
}

// [xchar-2.1-e] bits beyond the last word are not set
TEST(Options, Subsets) {
  Subset some = subset({33});
  EXPECT_FALSE(some.contains(0));
  EXPECT_TRUE(some.contains(33));
  EXPECT_FALSE(some.contains(1u << 20));
  ResponseOption response;
  ASSERT_TRUE(decode(from_hex("00000003 00000001 00000000 00000000 00000000 00000000"), response));
  EXPECT_EQ(response.done, subset({0}));
  std::vector<std::byte> wide((1 + 2000 + 2) * 4, std::byte{0xff});
  Writer(wide).u32(2000);
  Writer(MutableOctets(wide).last(8)).u64(0);
  ASSERT_TRUE(decode(wide, response));
  EXPECT_EQ(response.done.words().size(), kMaxCharacteristics / 32) << "positions beyond the limit are dropped";
}

// [xchar-6.2-a] SmallerReceives is an experimental characteristic of this implementation. Its value begins with a name.
// size_in() returns nothing for a characteristic that has the same code but another name, because such a characteristic
// belongs to another implementation.
TEST(Options, SmallerReceives) {
  const SmallerReceives wanted(4096);
  check("update_experiment", UpdateOption{wanted.characteristic(), false});
  EXPECT_EQ(SmallerReceives::size_in(wanted.characteristic()), 4096u);
  const auto size_in = [](std::uint32_t id, std::string_view hex) {
    return SmallerReceives::size_in({id, Octets(from_hex(hex))});
  };
  EXPECT_EQ(size_in(kSmallerReceivesWanted, "72706372 646d6131 ffffffff"), 0xffffffffu);
  EXPECT_FALSE(size_in(kFirstExperimental, "72706372 646d6131 00001000")) << "another code";
  EXPECT_FALSE(size_in(kSmallerReceivesWanted, "72706372 646d6132 00001000")) << "another name";
  EXPECT_FALSE(size_in(kSmallerReceivesWanted, "72706372 646d6131 001000")) << "too short";
  EXPECT_FALSE(size_in(kSmallerReceivesWanted, "72706372 646d6131 00001000 00")) << "too long";
  EXPECT_FALSE(size_in(kSmallerReceivesWanted, "00001000"));
  EXPECT_FALSE(size_in(kSmallerReceivesWanted, ""));
  EXPECT_FALSE(SmallerReceives::size_in({CharacteristicId::receive_buffer_size, 4096}));
}

TEST(Options, MutatedVectors) {
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    Bytes content = content_of("init_all", OptionType::init);
    content[random() % content.size()] = static_cast<std::byte>(random());
    const ExactCopy copy(content);
    InitOption init;
    if (!decode(copy.octets(), init)) continue;
    Bytes again(content.size());
    const auto size = encode(init, again);
    ASSERT_TRUE(size);
    InitOption twice;
    ASSERT_TRUE(decode(Octets(again).first(*size), twice));
    EXPECT_EQ(twice, init);
  }
}

}  // namespace
}  // namespace rpcrdma::wire::v2
