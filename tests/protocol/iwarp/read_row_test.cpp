// SPDX-License-Identifier: BSD-3-Clause
// Several large segments have arrived completely: the stream reads them without returning to the event loop in between.
// In some tests a completion between two of these segments ends the connection or the queue pair.
#include <algorithm>

#include "iwarp_test.hpp"
#include "rpcrdma/fabric/deferred_delete.hpp"

namespace rpcrdma::test {
namespace {

constexpr std::uint32_t kPiece = 60000;
constexpr std::uint32_t kPlace = 1u << 20;  // offset of the window in the memory
constexpr int kMessages = 8;

class ReadRow : public IwarpTest {
 protected:
  /// Posts kMessages receives. The peer sends as many Writes of kPiece bytes, each followed by a Send. `each` runs
  /// after each completion.
  void stage(UniqueFunction<void()> each = {}) {
    serve();
    node().on_done = std::move(each);
    target_ =
        std::make_unique<Exposed>(node(), memory().part(kPlace, kPiece * kMessages), fabric::Access::remote_write);
    const Segment at = target_->segment;
    Bytes all;
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      post_receive(16, 1);
      const Bytes piece = filled(kPiece, static_cast<std::uint8_t>(i + 1));
      all =
          std::move(all) + write(at.handle, at.offset + std::uint64_t{i} * kPiece, piece) + send(i + 1, filled(16, 0));
    }
    peer_.send(all);
  }
  auto delivered() {
    return std::ranges::count_if(node().log, [](const Node::Done& done) { return !done.completion.status; });
  }
  bool has_piece(std::uint32_t i) {
    return all_are(memory().part(kPlace + i * kPiece, kPiece).octets(), static_cast<std::byte>(i + 1));
  }

  std::unique_ptr<Exposed> target_;
};

TEST_F(ReadRow, AllIsPlacedAndDelivered) {
  stage();
  ASSERT_TRUE(until([&] { return node().count(1) == kMessages; }));
  for (std::uint32_t i = 0; i < kMessages; ++i) EXPECT_TRUE(has_piece(i)) << i;
}

TEST_F(ReadRow, TheEndComesAfterWhatStandsBeforeIt) {
  stage();
  peer_.shut_down();
  EXPECT_EQ(end(), error_code{});
  EXPECT_EQ(delivered(), kMessages);
  for (std::uint32_t i = 0; i < kMessages; ++i) EXPECT_TRUE(has_piece(i)) << i;
}

TEST_F(ReadRow, AReset) {
  stage();
  peer_.reset();
  EXPECT_TRUE(end());
  EXPECT_EQ(node().log.size(), kMessages) << "each receive completes, possibly with an error";
}

TEST_F(ReadRow, TheQueuePairIsQuiescedInACompletion) {
  stage([&] {
    if (node().log.size() == 3) fabric::delete_later(context_, std::move(node().qp));
  });
  ASSERT_TRUE(until([&] { return node().qp == nullptr; }));
  target_.reset();
  std::ranges::fill(memory().octets, std::byte{0x99});
  peer_.ends();
  run_ready(context_);
  EXPECT_EQ(node().log.size(), 3u);
  EXPECT_TRUE(all_are(memory().part(0, 8u << 20).octets(), std::byte{0x99}));
}

TEST_F(ReadRow, TheConnectionIsAbortedFromACompletion) {
  stage([&] {
    if (node().log.size() == 3) node().qp->abort();
  });
  end();
  EXPECT_EQ(delivered(), 3);
  EXPECT_EQ(node().log.size(), kMessages);
  EXPECT_EQ(node().after_end, 0u);
}

}  // namespace
}  // namespace rpcrdma::test
