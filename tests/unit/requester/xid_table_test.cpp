// SPDX-License-Identifier: BSD-3-Clause
#include "xid_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rpcrdma::transport {
namespace {

// [8167-2.4-b] compares the table with a std::map, for XIDs that collide
TEST(XidTable, FindsWhatIsThereAndNothingElse) {
  std::mt19937 random(5);
  for (const std::uint32_t most : {1u, 3u, 64u}) {
    XidTable table(most);
    std::map<std::uint32_t, CallSlot*> expected;
    std::vector<char> slots(64);
    for (int step = 0; step < 20000; ++step) {
      const auto xid = static_cast<std::uint32_t>((random() % 200) << (random() % 3 * 8));
      const auto found = expected.find(xid);
      if (found != expected.end()) {
        EXPECT_EQ(table.find(xid), found->second);
        if (random() % 2 == 0) {
          table.erase(xid);
          expected.erase(found);
        }
      } else {
        EXPECT_EQ(table.find(xid), nullptr);
        table.erase(xid);  // the XID is absent: no effect
        if (expected.size() < most) {
          auto* slot = reinterpret_cast<CallSlot*>(&slots[random() % slots.size()]);
          table.insert(xid, *slot);
          expected[xid] = slot;
        }
      }
    }
    for (const auto& [xid, slot] : expected) EXPECT_EQ(table.find(xid), slot);
  }
}

}  // namespace
}  // namespace rpcrdma::transport
