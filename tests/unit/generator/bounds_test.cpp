// SPDX-License-Identifier: BSD-3-Clause
// The code that rpcrdma-gen generates for shapes.x.
#include <gtest/gtest.h>

#include "shapes.rpcrdma.hpp"

namespace {

using rpcrdma::rpc::Procedure;
using rpcrdma::rpc::ReplyBound;

constexpr std::uint32_t kHeader = 24;
constexpr std::uint32_t kScalars = 4 + 4 + 8 + 8 + 4 + 4 + 8 + 4 + 8 + (4 + 12);

static_assert(Procedure<shapes::Scalars> && Procedure<shapes::v2::Null> && Procedure<shapes::v1::Old>);
static_assert(std::is_same_v<shapes::Scalars, shapes::v2::Scalars>, "the highest version is inline");
static_assert(shapes::v1::Old::kInfo.version == 1 && shapes::Scalars::kInfo.version == 2);
static_assert(shapes::Scalars::kInfo.program == 0x20001234);
static_assert(shapes::Null::kInfo.idempotent && !shapes::Scalars::kInfo.idempotent);
static_assert(shapes::ReadTwo::kInfo.idempotent);
static_assert(shapes::ReadTwo::kInfo.auth == rpcrdma::rpc::AuthRequirement::sys);
static_assert(shapes::ReadTwo::kInfo.eligible_results == 2 && shapes::Chain::kInfo.eligible_arguments == 2);
static_assert(shapes::Keep::kInfo.eligible_arguments == 1 && shapes::Album::kInfo.eligible_results == 1);
static_assert(std::is_same_v<shapes::Plus::Args, int> && std::is_same_v<shapes::Plus::Result, int>);
static_assert(std::is_same_v<shapes::Half::Args, float> && std::is_same_v<shapes::Half::Result, double>);
static_assert(std::is_same_v<shapes::Shorten::Args, long> && std::is_same_v<shapes::Shorten::Result, short>);
static_assert(std::is_same_v<shapes::Tree::Args, char>);
static_assert(shapes::Single::kInfo.eligible_results == 1);

std::uint32_t fixed(const ReplyBound& bound) {
  for (const std::uint32_t bulk : bound.bulk) EXPECT_EQ(bulk, 0u);
  return bound.fixed;
}

TEST(Bounds, FollowFromTheTypes) {
  EXPECT_EQ(fixed(shapes::Null::max_reply({})), kHeader);
  EXPECT_EQ(fixed(shapes::Scalars::max_reply({})), kHeader + kScalars);
  EXPECT_EQ(fixed(shapes::Arrays::max_reply({})), kHeader + 12 + (4 + 32) + (4 + 12) + (4 + 4) + 4);
  EXPECT_EQ(fixed(shapes::Choice::max_reply({})), kHeader + 4 + (4 + 100)) << "the longest arm";
  EXPECT_EQ(fixed(shapes::Truth::max_reply({})), kHeader + 4);
  EXPECT_EQ(fixed(shapes::Number::max_reply({})), kHeader + 8);
  EXPECT_EQ(fixed(shapes::Color::max_reply({})), kHeader + 4);
}

TEST(Bounds, OfListsFollowFromTheirAnnotations) {
  EXPECT_EQ(fixed(shapes::List::max_reply({})), kHeader + 4 + 20 * 8);
  EXPECT_EQ(fixed(shapes::Chain::max_reply({})), kHeader + 4 + (4 + 10 * 8)) << "one element, and ten after it";
}

TEST(Bounds, OfListsWithinListsCoverTheElementsOfBoth) {
  constexpr std::uint32_t kLeaf = 4 + 4 + 4;
  constexpr std::uint32_t kBranch = (4 + kLeaf + 5 * kLeaf) + 4;
  EXPECT_EQ(fixed(shapes::Tree::max_reply({})), kHeader + 4 + 3 * kBranch);
  constexpr std::uint32_t kBough = (4 + 5 * 8) + 4;
  EXPECT_EQ(fixed(shapes::Bough::max_reply({})), kHeader + kBough + 3 * kBough);
}

TEST(Bounds, OfATypeWithoutOneFollowTheMember) {
  const ReplyBound bound = shapes::Album::max_reply({10, 7});
  EXPECT_EQ(bound.fixed, kHeader + (4 + 12) + 4);
  EXPECT_EQ(bound.bulk[0], 8u);
}

TEST(Bounds, FollowTheArguments) {
  const ReplyBound bound = shapes::ReadTwo::max_reply({{1001, 3}});
  EXPECT_EQ(bound.fixed, kHeader + 4 + (4 + 3 * 4) + 4);
  EXPECT_EQ(bound.bulk, (std::array<std::uint32_t, 4>{1004, 8, 0, 0}));
  EXPECT_EQ(shapes::ReadTwo::max_reply({{0, -5}}).fixed, kHeader + 12) << "a negative count stands for no elements";
  EXPECT_EQ(shapes::ReadTwo::max_reply({{0xffffffff, 0x7fffffff}}).fixed, UINT32_MAX) << "no overflow";
  EXPECT_EQ(shapes::ReadTwo::max_reply({{0xffffffff, 0}}).bulk[0], UINT32_MAX);
}

TEST(Bounds, OfUnionsCoverEachArm) {
  const ReplyBound bound = shapes::Single::max_reply({77, 0});
  EXPECT_EQ(bound.fixed, kHeader + 4 + (4 + 12)) << "the text; the data is a bulk item";
  EXPECT_EQ(bound.bulk[0], 80u);
}

}  // namespace
