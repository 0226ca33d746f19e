// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/fs/identity.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace rpcrdma::nfsd {
namespace {

using Mode = SquashPolicy::Mode;

Identity identity(std::uint32_t uid, std::uint32_t gid, std::initializer_list<std::uint32_t> groups = {}) {
  Identity made;
  made.uid = uid;
  made.gid = gid;
  made.groups.assign(groups);
  return made;
}

TEST(Squash, RootIsNobodyByDefaultAndOthersAreThemselves) {
  const SquashPolicy policy;
  EXPECT_EQ(squashed(identity(0, 0), policy), identity(65534, 65534));
  EXPECT_EQ(squashed(identity(1000, 100, {7, 8}), policy), identity(1000, 100, {7, 8}));
}

TEST(Squash, RootsGroupIsSquashedEverywhere) {
  const SquashPolicy policy{Mode::root, 70, 71};
  EXPECT_EQ(squashed(identity(0, 5, {0, 6, 0}), policy), identity(70, 5, {71, 6, 71}));
  EXPECT_EQ(squashed(identity(9, 0, {4}), policy), identity(9, 71, {4}));
}

TEST(Squash, AllAreAnonymousAndInNoOtherGroup) {
  const SquashPolicy policy{Mode::all, 70, 71};
  EXPECT_EQ(squashed(identity(1000, 100, {7}), policy), identity(70, 71));
  EXPECT_EQ(squashed(identity(0, 0, {0}), policy), identity(70, 71));
}

TEST(Squash, NobodyIsSquashedIfTheExportSaysSo) {
  const SquashPolicy policy{Mode::none, 70, 71};
  EXPECT_EQ(squashed(identity(0, 0, {0}), policy), identity(0, 0, {0}));
}

TEST(Squash, UnnamedCallersAreAnonymousInEveryMode) {
  for (const Mode mode : {Mode::root, Mode::all, Mode::none}) {
    const SquashPolicy policy{mode, 70, 71};
    EXPECT_EQ(squashed(identity(Identity::kNone, Identity::kNone), policy), identity(70, 71));
    EXPECT_EQ(squashed(identity(Identity::kNone, 0, {0, 5}), policy), identity(70, 71));
  }
  EXPECT_EQ(squashed(identity(5, Identity::kNone, {Identity::kNone}), {Mode::none, 70, 71}), identity(5, 71, {71}));
}

TEST(Squash, AnAnonymousIdThatNamesNobodyIsNobody) {
  const SquashPolicy policy{Mode::root, Identity::kNone, Identity::kNone};
  EXPECT_EQ(squashed(identity(0, 0, {0}), policy), identity(65534, 65534, {65534}));
}

}  // namespace
}  // namespace rpcrdma::nfsd
