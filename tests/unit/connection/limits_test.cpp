// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rpcrdma/base/backoff.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/connection/receive_budget.hpp"

namespace rpcrdma::transport {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesWithinItsBoundsAndStartsOver) {
  Backoff backoff(milliseconds(100), milliseconds(1000), 7);
  for (const int bound : {100, 200, 400, 800, 1000, 1000, 1000}) {
    const auto wait = backoff.next();
    EXPECT_GE(wait, milliseconds(bound / 2));
    EXPECT_LE(wait, milliseconds(bound));
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds(100));
}

TEST(Backoff, DiffersBetweenClients) {
  Backoff first(milliseconds(10000), milliseconds(10000), 1), second(milliseconds(10000), milliseconds(10000), 2);
  bool differs = false;
  for (int i = 0; i < 10; ++i) differs = differs || first.next() != second.next();
  EXPECT_TRUE(differs);
}

// Each connection leaves some bytes for the next one. A connection that asks again is offered nothing more.
TEST(ReceiveBudget, LeavesSomethingForTheNext) {
  ReceiveBudget budget(8000);
  std::size_t first = budget.offer(0);
  EXPECT_EQ(first, 2000u);
  budget.take(first);
  EXPECT_EQ(budget.offer(first), 0u);
  for (int i = 0; i < 20; ++i) {
    const std::size_t next = budget.offer(0);
    EXPECT_GT(next, 0u) << i;
    budget.take(next);
    EXPECT_LE(budget.used(), 8000u);
  }
  // take() accepts more bytes than the budget has left, because each new connection gets its first receives.
  budget.take(8000);
  EXPECT_EQ(budget.offer(0), 0u);
  EXPECT_EQ(budget.offer(first), 0u);
}

TEST(TransportErrors, HaveMessagesAndConditions) {
  for (int i = 1; i <= 11; ++i)
    EXPECT_NE(make_error_code(static_cast<TransportError>(i)).message(), "unknown transport error") << i;
  EXPECT_EQ(make_error_code(TransportError::connection_lost), Condition::reconnect);
  EXPECT_EQ(make_error_code(TransportError::peer_err_chunk), Condition::give_up);
}

}  // namespace
}  // namespace rpcrdma::transport
