// SPDX-License-Identifier: BSD-3-Clause
// Windows: exact ranges, access rights, use by one queue pair only, local and remote invalidation.
#include <array>
#include <set>

#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

using fabric::Access;
using fabric::FabricError;

constexpr std::byte kUntouched{0xee};

// [5041-8.3.1-c] [5041-7.1-b] a Write that does not lie within the window is refused
TEST_P(WindowTest, WritesBeyondTheEnd) {
  connect();
  Memory target(bed_->client(), 3000, kUntouched);
  const Exposed exposed(client_, target.part(1000, 1000), Access::remote_write);
  expect_write_refused(exposed.segment, 1, 1000);
  EXPECT_TRUE(all_are(target.octets, kUntouched));
}

TEST_P(WindowTest, WritesBeforeTheStart) {
  connect();
  Memory target(bed_->client(), 3000, kUntouched);
  const Exposed exposed(client_, target.part(1000, 1000), Access::remote_write);
  expect_write_refused(exposed.segment, ~std::uint64_t{0}, 10);
  EXPECT_TRUE(all_are(target.octets, kUntouched));
}

TEST_P(WindowTest, LargeWritesBeyondTheEnd) {
  connect();
  Memory target(bed_->client(), 400000, kUntouched);
  const Exposed exposed(client_, target.part(0, 300000), Access::remote_write);
  expect_write_refused(exposed.segment, 0, 300001);
  EXPECT_TRUE(all_are(target.part(300000, 100000).octets(), kUntouched));
}

// [5041-7.1-b] an access whose offset wraps is refused, either when it is posted or by the peer
TEST_P(WindowTest, OffsetsThatWrap) {
  connect();
  Memory target(bed_->client(), 1000, kUntouched);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  const Segment top{exposed.segment.handle, 1000, ~std::uint64_t{0} - 4};
  if (bed_->server().capabilities().name == "verbs") return expect_write_refused(top, 0, 100);
  Memory other(bed_->server(), 100);
  EXPECT_EQ(server().write(other.all(), top, 90), BaseError::invalid_argument);
  EXPECT_EQ(server().read(other.all(), top, 91), BaseError::invalid_argument);
  EXPECT_TRUE(all_are(target.octets, kUntouched));
  EXPECT_FALSE(server().disconnected);
}

// [5040-7.2-c]
TEST_P(WindowTest, ReadsBeyondTheEnd) {
  connect();
  Memory source(bed_->client(), 2000, std::byte{0x5a});
  const Exposed exposed(client_, source.part(500, 1000), Access::remote_read);
  expect_read_refused(exposed.segment, 500, 501);
}

// [5041-8.3.1-d] the rights to read and to write are separate
TEST_P(WindowTest, NoWritesToAReadableWindow) {
  connect();
  Memory target(bed_->client(), 100, kUntouched);
  const Exposed exposed(client_, target.all(), Access::remote_read);
  expect_write_refused(exposed.segment, 0, 100);
  EXPECT_TRUE(all_are(target.octets, kUntouched));
}

TEST_P(WindowTest, NoReadsFromAWritableWindow) {
  connect();
  Memory source(bed_->client(), 100, std::byte{0x5a});
  const Exposed exposed(client_, source.all(), Access::remote_write);
  expect_read_refused(exposed.segment, 0, 100);
}

TEST_P(WindowTest, UnknownHandles) {
  connect();
  Memory target(bed_->client(), 100, kUntouched);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  expect_write_refused({exposed.segment.handle ^ 1, 100, exposed.segment.offset}, 0, 100);
}

TEST_P(WindowTest, UnknownHandlesOfReads) {
  connect();
  expect_read_refused({0x12345678, 100, 0}, 0, 100);
}

// [5041-8.3.1-b] [5041-8.3-b] a handle works on its own connection only
TEST_P(WindowTest, HandlesOfOtherConnections) {
  connect();
  Node other(bed_->client());
  start(other);
  ASSERT_TRUE(until([&] { return accepted_.size() == 2 && server().established() && other.established(); }));
  Memory target(bed_->client(), 100, kUntouched);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  Memory source(bed_->server(), 100);
  ASSERT_FALSE(server().write(source.all(), exposed.segment, 1));
  server().qp->submit();
  EXPECT_EQ(end_of(other), FabricError::protocol_violation);
  EXPECT_TRUE(all_are(target.octets, kUntouched));
  EXPECT_FALSE(client_.disconnected);
  EXPECT_TRUE(exposed.window->bound());
}

// [5041-8.3-b] a window can be bound only on the queue pair that made it
TEST_P(WindowTest, BindsOnOtherConnections) {
  connect();
  if (bed_->client().capabilities().name == "verbs") GTEST_SKIP() << "the adapter checks this";
  Node other(bed_->client());
  start(other);
  ASSERT_TRUE(until([&] { return accepted_.size() == 2 && server().established() && other.established(); }));
  Memory target(bed_->client(), 100, kUntouched);
  const auto window = client_.qp->make_window();
  ASSERT_TRUE(window);
  EXPECT_EQ(other.qp->bind(**window, target.all(), Access::remote_write).error(), BaseError::invalid_argument);
  EXPECT_FALSE((*window)->bound());
  EXPECT_TRUE(client_.qp->bind(**window, target.all(), Access::remote_write));
  EXPECT_TRUE((*window)->bound());
}

// [5041-8.3.1-e] nothing is placed after the invalidation
TEST_P(WindowTest, InvalidatedLocally) {
  connect();
  Memory target(bed_->client(), 100, kUntouched);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  EXPECT_TRUE(exposed.window->bound());
  invalidate(exposed);
  expect_write_refused(exposed.segment, 0, 100);
  EXPECT_TRUE(all_are(target.octets, kUntouched));
}

TEST_P(WindowTest, ReadsAfterInvalidation) {
  connect();
  Memory source(bed_->client(), 100, std::byte{0x5a});
  const Exposed exposed(client_, source.all(), Access::remote_read);
  invalidate(exposed);
  expect_read_refused(exposed.segment, 0, 100);
}

// [5040-5.3-e] the handle is invalid before the receive of the Send completes, and the completion names the handle
TEST_P(WindowTest, InvalidatedByThePeer) {
  connect();
  if (!bed_->client().capabilities().remote_invalidation) GTEST_SKIP() << "no remote invalidation";
  Memory target(bed_->client(), 100);
  Memory message(bed_->client(), 64);
  Memory source(bed_->server(), 100);
  fill_pattern(source.octets, 1);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  bool bound_then = true;
  client_.on_done = [&] { bound_then = exposed.window->bound(); };
  ASSERT_FALSE(server().write(source.all(), exposed.segment, 2));
  ASSERT_FALSE(server().send(source.part(0, 20), 3, {.invalidate = exposed.segment.handle}));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  EXPECT_EQ(client_.result(1).invalidated, exposed.segment.handle);
  EXPECT_EQ(client_.result(1).length, 20u);
  EXPECT_FALSE(bound_then);
  EXPECT_TRUE(has_pattern(target.octets, 1));
  client_.on_done.reset();
  invalidate(exposed);  // a further invalidation, by this side, still completes
  expect_write_refused(exposed.segment, 0, 100);
}

// [5040-7.2-b] a peer loses its connection if it invalidates a handle that exposes no memory
TEST_P(WindowTest, ThePeerInvalidatesWhatIsNotThere) {
  connect();
  if (!bed_->client().capabilities().remote_invalidation) GTEST_SKIP() << "no remote invalidation";
  Memory message(bed_->client(), 64);
  Memory source(bed_->server(), 10);
  ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  ASSERT_FALSE(server().send(source.all(), 2, {.invalidate = 0x01020304}));
  server().qp->submit();
  EXPECT_EQ(end_of(client_), FabricError::protocol_violation);
  EXPECT_TRUE(end_of(server()).failed());
  EXPECT_TRUE(client_.result(1).status.failed());
}

// [5040-8.1.1-b] a peer that invalidates a handle of another connection loses its connection
TEST_P(WindowTest, ThePeerInvalidatesAHandleOfAnotherConnection) {
  connect();
  if (!bed_->client().capabilities().remote_invalidation) GTEST_SKIP() << "no remote invalidation";
  Node other(bed_->client());
  start(other);
  ASSERT_TRUE(until([&] { return accepted_.size() == 2 && server().established() && other.established(); }));
  Memory target(bed_->client(), 100);
  Memory message(bed_->client(), 64);
  Memory source(bed_->server(), 10);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  ASSERT_FALSE(other.qp->post_receive(message.all(), other.op(1)));
  ASSERT_FALSE(server().send(source.all(), 2, {.invalidate = exposed.segment.handle}));
  server().qp->submit();
  EXPECT_EQ(end_of(other), FabricError::protocol_violation);
  EXPECT_TRUE(exposed.window->bound());
}

// [5040-8.1.1-c] each exposure has a distinct handle that is hard to guess
TEST_P(WindowTest, HandlesAreNeverReused) {
  connect();
  Memory target(bed_->client(), 100);
  auto window = client_.qp->make_window();
  ASSERT_TRUE(window);
  std::set<std::uint32_t> handles;
  std::set<std::uint32_t> steps;
  std::uint32_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const auto bound = client_.qp->bind(**window, target.all(), Access::remote_read);
    ASSERT_TRUE(bound) << bound.error().message();
    EXPECT_EQ(bound->length, 100u);
    EXPECT_EQ((*window)->segment(), *bound);
    handles.insert(bound->handle);
    steps.insert(bound->handle - last);
    last = bound->handle;
    ASSERT_FALSE(client_.qp->invalidate(**window, client_.op(i)));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(i) == 1; }));
  }
  EXPECT_EQ(handles.size(), 50u);
  EXPECT_GT(steps.size(), 45u);
}

TEST_P(WindowTest, OnlyRegisteredMemoryIsExposed) {
  connect();
  Memory target(bed_->client(), 100);
  auto window = client_.qp->make_window();
  ASSERT_TRUE(window);
  BufferRef beyond = target.all();
  beyond.size = 101;
  EXPECT_FALSE(client_.qp->bind(**window, beyond, Access::remote_read));
  std::array<std::byte, 8> strange{};
  EXPECT_FALSE(client_.qp->bind(**window, {strange.data(), 8, 0}, Access::remote_read));
  ASSERT_TRUE(client_.qp->bind(**window, target.all(), Access::remote_read));
  EXPECT_FALSE(client_.qp->bind(**window, target.all(), Access::remote_read));  // the window is still bound
}

// [5041-8.3.1-e] [8166-4.4.1-a] when an invalidation has completed, no transfer accesses the memory any more
TEST_P(WindowTest, InvalidationWaitsForFramesOnTheirWay) {
  connect();
  constexpr std::uint32_t kSize = 4u << 20;
  Memory target(bed_->client(), kSize);
  Memory source(bed_->server(), kSize, std::byte{0x11});
  const Exposed exposed(client_, target.all(), Access::remote_write);
  ASSERT_FALSE(server().write(source.all(), exposed.segment, 1));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return target.octets[0] == std::byte{0x11} || client_.disconnected; }));
  ASSERT_FALSE(client_.qp->invalidate(*exposed.window, client_.op(2)));
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(2) == 1; }));
  fill_pattern(target.octets, 77);
  // The window is no longer bound. The client refuses the part of the first Write that has not arrived yet or, if all
  // of it has arrived, this second Write.
  Memory rest(bed_->server(), 16);
  static_cast<void>(server().write(rest.all(), exposed.segment, 3));
  server().qp->submit();
  EXPECT_EQ(end_of(client_), FabricError::protocol_violation);
  EXPECT_TRUE(has_pattern(target.octets, 77));
}

TEST_P(WindowTest, InvalidationWaitsForReadsOnTheirWay) {
  connect();
  constexpr std::uint32_t kSize = 4u << 20;
  auto source = std::make_unique<Memory>(bed_->client(), kSize, std::byte{0x11});
  Memory sink(bed_->server(), kSize);
  {
    const Exposed exposed(client_, source->all(), Access::remote_read);
    ASSERT_FALSE(server().read(sink.all(), exposed.segment, 1));
    server().qp->submit();
    ASSERT_TRUE(until([&] { return sink.octets[0] == std::byte{0x11} || server().count(1) == 1; }));
    ASSERT_FALSE(client_.qp->invalidate(*exposed.window, client_.op(2)));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(2) == 1; }));
  }
  source.reset();  // the address sanitizer detects a read of the freed memory
  EXPECT_TRUE(until([&] { return server().count(1) == 1; }));
  EXPECT_TRUE(server().result(1).status.failed() || all_are(sink.octets, std::byte{0x11}));
}

TEST_P(WindowTest, TheEndOfTheConnectionEndsTheExposure) {
  connect();
  Memory target(bed_->client(), 100);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  client_.qp->abort();
  end_of(client_);
  EXPECT_FALSE(exposed.window->bound());
}

}  // namespace
}  // namespace rpcrdma::test
