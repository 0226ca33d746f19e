// SPDX-License-Identifier: BSD-3-Clause
#include "device/local_keys.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rpcrdma::fabric::verbs {
namespace {

TEST(LocalKeys, StayTheSameWhenTheDevicesKeysChange) {
  LocalKeys keys;
  const std::uint32_t first = keys.add();
  const std::uint32_t second = keys.add();
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  EXPECT_EQ(keys.device_key(first), 0u);
  keys.set(first, 0x100);
  keys.set(second, 0x200);
  EXPECT_EQ(keys.device_key(first), 0x100u);
  keys.set(first, 0x300);
  EXPECT_EQ(keys.device_key(first), 0x300u);
  EXPECT_EQ(keys.device_key(second), 0x200u);
}

TEST(LocalKeys, RemovedKeysNameNothingAndAreReused) {
  LocalKeys keys;
  std::set<std::uint32_t> held;
  for (int i = 0; i < 100; ++i) held.insert(keys.add());
  ASSERT_EQ(held.size(), 100u);
  const std::uint32_t gone = *held.begin();
  keys.set(gone, 7);
  keys.remove(gone);
  EXPECT_EQ(keys.device_key(gone), 0u);
  EXPECT_EQ(keys.add(), gone);
  EXPECT_EQ(keys.device_key(gone), 0u);
}

// A user's buffer reference may contain any key.
TEST(LocalKeys, UnknownKeysNameNothing) {
  const LocalKeys keys;
  EXPECT_EQ(keys.device_key(0), 0u);
  EXPECT_EQ(keys.device_key(1), 0u);
  EXPECT_EQ(keys.device_key(0xffffffff), 0u);
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
