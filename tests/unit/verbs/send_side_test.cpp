// SPDX-License-Identifier: BSD-3-Clause
// The send side of a verbs queue pair, on a device that only records posted work requests.
#include "send_side.hpp"

#include <gtest/gtest.h>

#include <array>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

struct Recorder final : WorkContext {
  void on_completion(const Completion&) noexcept override {}
};

struct Posted {
  std::uint64_t id;
  ibv_wr_opcode opcode;
  unsigned flags;
  int pieces;
};

/// A queue pair whose device records each posted chain of work requests, or refuses it.
class RecordingDevice {
 public:
  RecordingDevice() {
    context_.ops.post_send = [](ibv_qp* queue_pair, ibv_send_wr* chain, ibv_send_wr** refused) {
      auto& self = *static_cast<RecordingDevice*>(queue_pair->qp_context);
      *refused = chain;
      if (self.refusal != 0) return self.refusal;
      ++self.calls;
      for (; chain != nullptr; chain = chain->next)
        self.posted.push_back({chain->wr_id, chain->opcode, chain->send_flags, chain->num_sge});
      return 0;
    };
    queue_pair_.context = &context_;
    queue_pair_.qp_context = this;
  }
  ibv_qp* queue_pair() { return &queue_pair_; }

  std::vector<Posted> posted;
  int calls = 0;
  int refusal = 0;

 private:
  ibv_context context_{};
  ibv_qp queue_pair_{};
};

class SendSideTest : public testing::Test {
 protected:
  ibv_send_wr& send(WorkContext* context) {
    const std::array<BufferRef, 1> gather{BufferRef{memory_.data(), 4, 7}};
    auto request = queue_.append(gather, false, context);
    EXPECT_TRUE(request);
    (*request)->opcode = IBV_WR_SEND;
    return **request;
  }
  bool signalled(std::size_t index) const { return (device_.posted.at(index).flags & IBV_SEND_SIGNALED) != 0; }
  /// Releases `slot`, as the dispatcher does before it runs the callback.
  void give_back(const SendSide::Slot& slot) {
    if (slot.context != nullptr) --*queue_.used();
  }
  /// Returns the numbers of the slots that a completion of `number` retires.
  std::vector<std::uint64_t> retire(std::uint64_t number) {
    std::vector<std::uint64_t> out;
    SendSide::Slot slot;
    std::uint64_t at = 0;
    while (queue_.take_until(number, slot, at)) {
      out.push_back(at);
      give_back(slot);
    }
    return out;
  }

  SendSide queue_{SendSide::Limits{.depth = 8, .max_gather = 3, .max_inline = 16, .signal_interval = 4}};
  RecordingDevice device_;
  Recorder context_;
  std::array<std::byte, 64> memory_{};
};

TEST_F(SendSideTest, OneCallPostsTheWholeChainInOrder) {
  for (int i = 0; i < 5; ++i) send(&context_);
  EXPECT_TRUE(device_.posted.empty());
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  EXPECT_EQ(device_.calls, 1);
  ASSERT_EQ(device_.posted.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(device_.posted[i].id, i);
    EXPECT_TRUE(signalled(i));
  }
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  EXPECT_EQ(device_.calls, 1);
}

TEST_F(SendSideTest, EveryFourthUnsignalledRequestReports) {
  for (int i = 0; i < 8; ++i) send(nullptr);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(signalled(i), i % 4 == 3) << i;
  EXPECT_TRUE(queue_.full());
  EXPECT_EQ(retire(3), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_FALSE(queue_.full());
  EXPECT_EQ(retire(7), (std::vector<std::uint64_t>{4, 5, 6, 7}));
  EXPECT_TRUE(queue_.empty());
}

// Nobody waits for the completion of a deferred Send, until half of the queue is in use.
TEST_F(SendSideTest, DeferredCompletionsAreNotPrompt) {
  const auto deferred = [this] {
    send(&context_);
    queue_.note_deferred();
  };
  EXPECT_FALSE(queue_.prompt());
  send(nullptr);
  for (int i = 0; i < 3; ++i) deferred();
  EXPECT_FALSE(queue_.prompt());
  deferred();
  EXPECT_TRUE(queue_.prompt());
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  EXPECT_EQ(retire(1).size(), 2u);
  EXPECT_FALSE(queue_.prompt());
  send(&context_);
  EXPECT_TRUE(queue_.prompt());
  queue_.retract();
  EXPECT_FALSE(queue_.prompt());
  send(&context_);
  deferred();
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  retire(5);
  EXPECT_FALSE(queue_.prompt());
  queue_.append_software(&context_, 0);
  EXPECT_TRUE(queue_.prompt());
}

TEST_F(SendSideTest, AChainWithABindReportsItsEnd) {
  auto bind = queue_.append({}, false, nullptr);
  ASSERT_TRUE(bind);
  (*bind)->opcode = IBV_WR_BIND_MW;
  queue_.note_bind();
  send(nullptr);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  EXPECT_FALSE(signalled(0));
  EXPECT_TRUE(signalled(1));
}

// The device reports the completion of signalled work requests only. The slot of an unsignalled Read is therefore
// released only when a later signalled work request completes, and the Read counts as in progress until then.
TEST_F(SendSideTest, ReadsBeyondTheDepthAreCounted) {
  const auto read = [this](WorkContext* context) {
    send(context).opcode = IBV_WR_RDMA_READ;
    queue_.note_read(2);
  };
  for (int i = 0; i < 3; ++i) read(nullptr);
  EXPECT_EQ(queue_.read_waits(), 1u);
  send(nullptr);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  EXPECT_EQ(retire(3).size(), 4u);
  read(&context_);
  read(&context_);
  EXPECT_EQ(queue_.read_waits(), 1u);
  read(&context_);
  EXPECT_EQ(queue_.read_waits(), 2u);
}

// An operation without a work request completes after the work requests that were appended before it. Therefore
// append_software() makes the last of these work requests signalled if it has not been posted yet.
TEST_F(SendSideTest, SoftwareOperationsCompleteInOrder) {
  send(nullptr);
  queue_.append_software(&context_, 5);
  SendSide::Slot slot;
  EXPECT_FALSE(queue_.take_software(slot));
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  ASSERT_EQ(device_.posted.size(), 1u);
  EXPECT_TRUE(signalled(0));
  EXPECT_EQ(retire(0), (std::vector<std::uint64_t>{0}));
  ASSERT_TRUE(queue_.take_software(slot));
  EXPECT_EQ(slot.context, &context_);
  EXPECT_EQ(slot.window, 5u);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(SendSideTest, UnsignalledWorkOnItsWayIsFlushedByAnEmptyWrite) {
  send(nullptr);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  EXPECT_FALSE(signalled(0));
  queue_.append_software(&context_, 5);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  ASSERT_EQ(device_.posted.size(), 2u);
  EXPECT_EQ(device_.posted[1].opcode, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(device_.posted[1].pieces, 0);
  EXPECT_TRUE(signalled(1));
  EXPECT_EQ(retire(1), (std::vector<std::uint64_t>{0, 1}));
  SendSide::Slot slot;
  EXPECT_TRUE(queue_.take_software(slot));
}

// A probe is an RDMA Write without data. A slot is reserved for it, so that it can be posted even if the user's
// operations fill the queue. Its completion shows that all work that was posted before it has completed.
TEST_F(SendSideTest, AProbeIsAnEmptyWriteThatReports) {
  for (int i = 0; i < 8; ++i) send(nullptr);
  ASSERT_TRUE(queue_.full());
  queue_.append_probe();
  EXPECT_TRUE(queue_.probing());
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  ASSERT_EQ(device_.posted.size(), 9u);
  EXPECT_EQ(device_.posted[8].opcode, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(device_.posted[8].pieces, 0);
  EXPECT_TRUE(signalled(8));
  EXPECT_EQ(retire(3).size(), 4u);
  EXPECT_TRUE(queue_.probing());
  EXPECT_EQ(retire(8).size(), 5u);
  EXPECT_FALSE(queue_.probing());
  EXPECT_TRUE(queue_.empty());
  // The probe has released its own slot, so eight Sends fit again.
  for (int i = 0; i < 8; ++i) {
    ASSERT_FALSE(queue_.full());
    send(nullptr);
  }
  EXPECT_TRUE(queue_.full());
}

// The device never holds more work requests than the queue pair was created for.
TEST_F(SendSideTest, TheDeviceIsNeverOverfilled) {
  for (int round = 0; round < 50; ++round) {
    while (!queue_.full()) {
      send(nullptr);
      if (!queue_.full()) queue_.append_software(&context_, 1);
      ASSERT_FALSE(queue_.submit(device_.queue_pair()));
    }
    queue_.require_signal();
    queue_.append_probe();
    ASSERT_FALSE(queue_.submit(device_.queue_pair()));
    EXPECT_LE(device_.posted.size(), SendSide::device_depth(8));
    const std::uint64_t last = device_.posted.back().id;
    device_.posted.clear();
    retire(last);
    SendSide::Slot slot;
    while (queue_.take_software(slot)) give_back(slot);
    ASSERT_TRUE(queue_.empty());
  }
}

TEST_F(SendSideTest, NeedlessInvalidationsAreDisarmed) {
  auto request = queue_.append({}, false, &context_, 3);
  ASSERT_TRUE(request);
  (*request)->opcode = IBV_WR_LOCAL_INV;
  (*request)->invalidate_rkey = 0x1234;
  queue_.disarm_invalidation(0x1235);
  EXPECT_EQ((*request)->opcode, IBV_WR_LOCAL_INV);
  queue_.disarm_invalidation(0x1234);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  EXPECT_EQ(device_.posted.at(0).opcode, IBV_WR_RDMA_WRITE);
  EXPECT_TRUE(signalled(0));
}

TEST_F(SendSideTest, UnregisteredBuffersMustFitInline) {
  const std::array<BufferRef, 1> small{BufferRef{memory_.data(), 16, 0}};
  const std::array<BufferRef, 1> large{BufferRef{memory_.data(), 17, 0}};
  const std::array<BufferRef, 4> many{};
  EXPECT_FALSE(queue_.append(small, false, &context_));
  EXPECT_FALSE(queue_.append(large, true, &context_));
  EXPECT_FALSE(queue_.append(many, true, &context_));
  EXPECT_TRUE(queue_.empty());
  auto request = queue_.append(small, true, &context_);
  ASSERT_TRUE(request);
  EXPECT_TRUE(((*request)->send_flags & IBV_SEND_INLINE) != 0);
}

TEST_F(SendSideTest, ARetractedRequestLeavesNoTrace) {
  send(nullptr);
  send(nullptr);
  ASSERT_TRUE(queue_.append({}, false, nullptr));
  queue_.retract();
  send(nullptr);
  send(nullptr);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  ASSERT_EQ(device_.posted.size(), 4u);
  EXPECT_EQ(device_.posted[2].id, 2u);
  EXPECT_TRUE(signalled(3));
  EXPECT_FALSE(signalled(2));
}

TEST_F(SendSideTest, RefusedWorkIsFlushedLater) {
  device_.refusal = ENOMEM;
  send(&context_);
  EXPECT_EQ(queue_.submit(device_.queue_pair()), system_error(ENOMEM));
  SendSide::Slot slot;
  ASSERT_TRUE(queue_.take_any(slot));
  EXPECT_EQ(slot.context, &context_);
  EXPECT_TRUE(queue_.empty());
}

// The device completes a work request before one that was posted earlier. The SendSide returns the slot of the later
// request only after that of the earlier one, and with the status that the device reported for the later request.
TEST_F(SendSideTest, OvertakingWorkWaitsForItsTurn) {
  queue_ = SendSide({.depth = 8, .max_gather = 3, .max_inline = 16, .signal_interval = 1, .overtaking = true});
  for (int i = 0; i < 3; ++i) send(nullptr);
  queue_.append_software(&context_, 0);
  send(nullptr);
  ASSERT_FALSE(queue_.submit(device_.queue_pair()));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(signalled(i)) << i;
  queue_.note_done(1, system_error(EIO));
  EXPECT_EQ(retire(1), (std::vector<std::uint64_t>{}));
  queue_.note_done(4, {});
  queue_.note_done(9, {});
  EXPECT_EQ(retire(4), (std::vector<std::uint64_t>{}));
  queue_.note_done(0, {});
  SendSide::Slot slot;
  std::uint64_t number = 0;
  ASSERT_TRUE(queue_.take_until(0, slot, number));
  EXPECT_FALSE(slot.status);
  ASSERT_TRUE(queue_.take_until(0, slot, number));
  EXPECT_EQ(slot.status, system_error(EIO));
  EXPECT_EQ(retire(0), (std::vector<std::uint64_t>{}));
  queue_.note_done(2, {});
  EXPECT_EQ(retire(2), (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
