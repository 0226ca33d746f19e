// SPDX-License-Identifier: BSD-3-Clause
// Retransmitted calls: the duplicate request cache by itself, and as used by the dispatcher.
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <optional>
#include <thread>

#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/nfs3.hpp"
#include "unit/rpc/local_call.hpp"
#include "unit/xdr/samples.hpp"

namespace rpcrdma::rpc {
namespace {

using test::header_of;
using test::LocalCall;
using test::LocalTransport;
using test::sample;

class DuplicatesTest : public testing::Test {
 protected:
  DuplicatesTest() {
    dispatcher.on<nfs3::Mkdir>([this](ServerCall<nfs3::Mkdir> call) {
      ++served;
      MKDIR3res result = sample<MKDIR3res>();
      result.MKDIR3res_u.resok.obj_attributes.post_op_attr_u.attributes.fileid = static_cast<fileid3>(served);
      if (hold) {
        held.emplace_back(std::move(call), result);
      } else {
        call.reply(result);
      }
    });
    dispatcher.on<nfs3::Getattr>([this](ServerCall<nfs3::Getattr> call) {
      ++served;
      call.reply(sample<GETATTR3res>());
    });
  }

  LocalCall& mkdir(std::uint32_t xid) { return transport.make<nfs3::Mkdir>(sample<MKDIR3args>(), xid); }
  LocalCall& run(LocalCall& call) { return transport.deliver(call); }

  DuplicateCache cache;
  Dispatcher dispatcher{{.cache = &cache, .log = {}}};
  LocalTransport transport{dispatcher};
  int served = 0;
  bool hold = false;
  std::vector<std::pair<ServerCall<nfs3::Mkdir>, MKDIR3res>> held;
};

TEST_F(DuplicatesTest, RepliesAreReplayedVerbatim) {
  const test::Bytes first = run(mkdir(1)).reply_octets;
  transport.peer.port(701);  // another connection
  EXPECT_EQ(test::to_hex(run(mkdir(1)).reply_octets), test::to_hex(first));
  EXPECT_EQ(served, 1);
  EXPECT_EQ(cache.counters().replayed, 1u);
}

TEST_F(DuplicatesTest, DifferentCalls) {
  run(mkdir(1));
  run(mkdir(2));  // another XID
  EXPECT_EQ(served, 2);
  transport.peer.address(boost::asio::ip::make_address("192.0.2.8"));
  run(mkdir(1));
  EXPECT_EQ(served, 3);
  MKDIR3args other = sample<MKDIR3args>();
  other.where.name.set("other");
  run(transport.make<nfs3::Mkdir>(other, 1));
  EXPECT_EQ(served, 4);
  transport.credential = Credential::sys(2000, 100);
  run(mkdir(1));
  EXPECT_EQ(served, 5);
  EXPECT_EQ(cache.counters().replayed, 0u);
}

TEST_F(DuplicatesTest, IdempotentCallsAreRunAgain) {
  run(transport.make<nfs3::Getattr>(sample<GETATTR3args>(), 1));
  run(transport.make<nfs3::Getattr>(sample<GETATTR3args>(), 1));
  EXPECT_EQ(served, 2);
  EXPECT_EQ(cache.counters().entries, 0u);
}

TEST_F(DuplicatesTest, ResentCallsAttachToACallInProgress) {
  hold = true;
  LocalCall& first = run(mkdir(1));
  transport.peer.port(701);
  LocalCall& second = run(mkdir(1));
  LocalCall& third = run(mkdir(1));
  EXPECT_EQ(served, 1);
  EXPECT_EQ(cache.counters().attached, 2u);
  EXPECT_EQ(second.end, LocalCall::End::none);
  first.outcome = BaseError::cancelled;  // the status of sending the reply: the connection of this call has ended
  held[0].first.reply(held[0].second);
  test::run_ready(transport.context);
  EXPECT_EQ(test::to_hex(second.reply_octets), test::to_hex(first.reply_octets));
  EXPECT_EQ(test::to_hex(third.reply_octets), test::to_hex(first.reply_octets));
  EXPECT_EQ(test::to_hex(run(mkdir(1)).reply_octets), test::to_hex(first.reply_octets));
  EXPECT_EQ(served, 1);
}

TEST_F(DuplicatesTest, CallsThatWereNotRunAreNotKept) {
  hold = true;
  LocalCall& first = run(mkdir(1));
  held[0].first.reject(AcceptStat::system_err);
  test::run_ready(transport.context);
  EXPECT_EQ(outcome(header_of(first)), RpcError::system_err);
  EXPECT_EQ(cache.counters().entries, 0u);
  hold = false;
  EXPECT_FALSE(outcome(header_of(run(mkdir(1)))));
  EXPECT_EQ(served, 2);
}

TEST_F(DuplicatesTest, AnAttachedCallIsRunIfTheFirstOneIsNot) {
  hold = true;
  LocalCall& first = run(mkdir(1));
  LocalCall& second = run(mkdir(1));
  LocalCall& third = run(mkdir(1));
  held[0].first.reject(AcceptStat::system_err);
  held.clear();
  test::run_ready(transport.context);
  EXPECT_EQ(outcome(header_of(first)), RpcError::system_err);
  EXPECT_EQ(served, 2);
  ASSERT_EQ(held.size(), 1u) << "the second call runs, and the third is attached to it";
  EXPECT_EQ(third.end, LocalCall::End::none);
  held[0].first.reply(held[0].second);
  test::run_ready(transport.context);
  EXPECT_FALSE(outcome(header_of(second)));
  EXPECT_EQ(test::to_hex(third.reply_octets), test::to_hex(second.reply_octets));
  EXPECT_EQ(served, 2);
}

// A handler that drops its call, for example for lack of memory, may already have changed something. Therefore the
// cache keeps the reply SYSTEM_ERR. A repeated call gets this reply and is not run.
TEST_F(DuplicatesTest, CallsThatWereDroppedRunOnce) {
  hold = true;
  LocalCall& first = run(mkdir(1));
  LocalCall& attached = run(mkdir(1));
  held.clear();  // the handler drops its call
  test::run_ready(transport.context);
  EXPECT_EQ(outcome(header_of(first)), RpcError::system_err);
  EXPECT_EQ(test::to_hex(attached.reply_octets), test::to_hex(first.reply_octets));
  EXPECT_EQ(test::to_hex(run(mkdir(1)).reply_octets), test::to_hex(first.reply_octets));
  EXPECT_EQ(served, 1);
}

TEST_F(DuplicatesTest, RepliesThatCannotBeSentAreKept) {
  hold = true;
  LocalCall& first = mkdir(1);
  first.reply_room = 0;
  first.no_more = BaseError::out_of_memory;
  run(first);
  LocalCall& attached = run(mkdir(1));
  held[0].first.reply(held[0].second);
  test::run_ready(transport.context);
  EXPECT_EQ(first.failure, BuildFailure::out_of_memory);
  EXPECT_EQ(attached.reply_octets.size(), 304u);
  EXPECT_EQ(test::to_hex(run(mkdir(1)).reply_octets), test::to_hex(attached.reply_octets));
  EXPECT_EQ(served, 1);
}

TEST_F(DuplicatesTest, CallsWhoseResultsCannotBeEncodedRunOnce) {
  hold = true;
  LocalCall& first = run(mkdir(1));
  held[0].second.MKDIR3res_u.resok.obj_attributes.attributes_follow = 17;  // neither TRUE nor FALSE
  held[0].first.reply(held[0].second);
  test::run_ready(transport.context);
  EXPECT_EQ(outcome(header_of(first)), RpcError::system_err);
  EXPECT_EQ(outcome(header_of(run(mkdir(1)))), RpcError::system_err);
  EXPECT_EQ(served, 1);
}

TEST_F(DuplicatesTest, RejectedCallsAreNotEntered) {
  transport.credential = {};
  EXPECT_EQ(outcome(header_of(run(mkdir(1)))), RpcError::auth_too_weak);
  EXPECT_EQ(cache.counters().entries, 0u);
}

DuplicateKey key_of(std::uint32_t xid) {
  return {boost::asio::ip::make_address("2001:db8::1"), xid, 100003, 3, 9, xid * 0x9e3779b97f4a7c15u};
}

class DuplicateCacheTest : public testing::Test {
 protected:
  boost::asio::io_context context;
  fabric::LoopbackNetwork network{context};
  std::unique_ptr<fabric::LoopbackFabric> fabric = network.make_fabric();
  memory::Pool pool{*fabric};
  LocalCall call{context, pool, {}};
  AttachedCall attached{&call, nullptr};
  DuplicateCache::Reply reply;
};

TEST_F(DuplicateCacheTest, IsBoundedAndEvictsTheOldestFirst) {
  constexpr std::size_t kBound = 64 * 1024;
  DuplicateCache cache({.max_bytes = kBound});
  for (std::uint32_t xid = 0; xid < 10'000; ++xid) {
    ASSERT_EQ(cache.begin(key_of(xid), attached, reply), DuplicateCache::Found::nothing);
    EXPECT_TRUE(cache.complete(key_of(xid), std::make_shared<const std::vector<std::byte>>(300)).empty());
    ASSERT_LE(cache.counters().bytes, kBound);
  }
  EXPECT_EQ(cache.begin(key_of(9'999), attached, reply), DuplicateCache::Found::reply);
  EXPECT_EQ(reply->size(), 300u);
  EXPECT_EQ(cache.begin(key_of(0), attached, reply), DuplicateCache::Found::nothing);
  EXPECT_GT(cache.counters().evicted, 9'000u);
  cache.forget(key_of(0));
}

TEST_F(DuplicateCacheTest, DifferentPortsAreDifferentClients) {
  DuplicateCache cache;
  DuplicateKey key = key_of(1);
  key.port = 700;
  ASSERT_EQ(cache.begin(key, attached, reply), DuplicateCache::Found::nothing);
  cache.complete(key, std::make_shared<const std::vector<std::byte>>(300));
  EXPECT_EQ(cache.begin(key, attached, reply), DuplicateCache::Found::reply);
  key.port = 701;
  EXPECT_EQ(cache.begin(key, attached, reply), DuplicateCache::Found::nothing);
}

TEST_F(DuplicateCacheTest, OldRepliesAreNotReplayed) {
  DuplicateCache cache({.max_age = std::chrono::nanoseconds(0)});
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cache.begin(key_of(1), attached, reply), DuplicateCache::Found::nothing);
    EXPECT_EQ(cache.begin(key_of(1), attached, reply), DuplicateCache::Found::in_progress);
    EXPECT_EQ(cache.complete(key_of(1), std::make_shared<const std::vector<std::byte>>(300)).size(), 1u);
  }
  EXPECT_EQ(cache.counters().entries, 1u);
  EXPECT_EQ(cache.counters().replayed, 0u);
}

TEST_F(DuplicateCacheTest, CallsInProgressAreNeverEvicted) {
  DuplicateCache cache({.max_bytes = 0});
  for (std::uint32_t xid = 0; xid < 100; ++xid)
    ASSERT_EQ(cache.begin(key_of(xid), attached, reply), DuplicateCache::Found::nothing);
  for (std::uint32_t xid = 0; xid < 100; ++xid)
    ASSERT_EQ(cache.begin(key_of(xid), attached, reply), DuplicateCache::Found::in_progress);
  for (std::uint32_t xid = 0; xid < 100; ++xid)
    EXPECT_EQ(cache.complete(key_of(xid), std::make_shared<const std::vector<std::byte>>(300)).size(), 1u);
  EXPECT_EQ(cache.counters().entries, 0u);
  EXPECT_EQ(cache.counters().bytes, 0u);
}

TEST_F(DuplicateCacheTest, ManyThreads) {
  DuplicateCache cache({.max_bytes = 1u << 20});
  std::atomic<std::uint32_t> ran = 0;
  std::atomic<std::uint32_t> joined = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      DuplicateCache::Reply known;
      for (std::uint32_t xid = 0; xid < 500; ++xid) {
        if (cache.begin(key_of(xid), attached, known) != DuplicateCache::Found::nothing) continue;
        ++ran;
        joined += static_cast<std::uint32_t>(
            cache.complete(key_of(xid), std::make_shared<const std::vector<std::byte>>(100)).size());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 500u);  // each call ran once
  const auto counters = cache.counters();
  EXPECT_EQ(counters.attached, joined);
  EXPECT_EQ(counters.attached + counters.replayed, 3 * 500u);
}

TEST(ChecksumTest, CoversEverythingButTheXid) {
  test::Bytes wire(64, std::byte{7});
  const auto sum = [&wire] { return checksum_of(test::InMessage{wire}.payload(), {}); };
  const std::uint64_t plain = sum();
  wire[3] = std::byte{9};
  EXPECT_EQ(sum(), plain);
  for (std::size_t i = 4; i < wire.size(); ++i) {
    wire[i] = std::byte{8};
    EXPECT_NE(sum(), plain) << i;
    wire[i] = std::byte{7};
  }
}

// A retransmission may be reduced differently, because the new connection may have another inline threshold.
TEST(ChecksumTest, IsTheSameHoweverTheCallIsReduced) {
  test::Bytes wire;
  for (std::size_t i = 0; i < 40; ++i) wire.push_back(static_cast<std::byte>(i));
  const std::array<xdr::EligibleRange, 2> eligible{{{16, 5}, {32, 3}}};
  const auto sum = [&](const std::vector<std::size_t>& reduced) {
    Payload payload;
    std::uint32_t at = 0;
    const auto piece = [&](std::uint32_t end) { payload.pieces.push_back({at, {wire.data() + at, end - at, 0}}); };
    for (const std::size_t which : reduced) {
      const auto [position, length] = eligible.at(which);
      piece(position);
      payload.items.push_back({position, length, {}});
      at = position + pad4(length);
    }
    piece(static_cast<std::uint32_t>(wire.size()));
    return checksum_of(payload, eligible);
  };
  const std::uint64_t whole = sum({});
  EXPECT_EQ(sum({0}), whole);
  EXPECT_EQ(sum({1}), whole);
  EXPECT_EQ(sum({0, 1}), whole);
  // These bytes lie outside of the two items. Bytes 15 and 31 belong to the length words that precede the items.
  for (const std::size_t other : {4u, 11u, 15u, 27u, 31u, 39u}) {
    wire[other] ^= std::byte{1};
    EXPECT_NE(sum({}), whole) << other;
    EXPECT_NE(sum({0, 1}), whole) << other;
    wire[other] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace rpcrdma::rpc
