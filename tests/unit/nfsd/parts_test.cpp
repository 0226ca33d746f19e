// SPDX-License-Identifier: BSD-3-Clause
// The small parts below the services: pages, remembered places, I/O threads, access bits.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <latch>
#include <set>
#include <thread>

#include "file_system_test.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"
#include "rpcrdma/nfsd/memory/page_store.hpp"
#include "rpcrdma/nfsd/service/io_pool.hpp"

namespace rpcrdma::nfsd {
namespace {

TEST(PageStore, IsBoundedAndTakesPagesBack) {
  PageStore store(kSlabSize * 2);
  PageRun pages;
  const std::size_t all = 2 * kPagesPerSlab - 1;  // one holds the zeros
  ASSERT_TRUE(store.allocate(all, pages));
  EXPECT_EQ(store.in_use(), store.capacity());
  PageRun more;
  EXPECT_FALSE(store.allocate(1, more));
  EXPECT_TRUE(more.empty());
  const Page shared = pages.back().page;
  EXPECT_TRUE(shared.shared());
  pages.clear();
  EXPECT_FALSE(shared.shared());
  EXPECT_EQ(store.in_use(), 2 * kPageSize);
  EXPECT_TRUE(store.allocate(all - 1, more));
  EXPECT_FALSE(store.allocate(1, more));
}

TEST(PageStore, PagesOfOneRequestLieSideBySide) {
  PageStore store(kSlabSize);
  PageRun pages;
  ASSERT_TRUE(store.allocate(64, pages));
  for (std::size_t i = 1; i < pages.size(); ++i) EXPECT_EQ(pages[i].page.data(), pages[i - 1].page.data() + kPageSize);
}

TEST(PageStore, PagesGivenBackAreUsedAgainInTheirOrder) {
  PageStore store(2 * kSlabSize);
  PageRun first;
  ASSERT_TRUE(store.allocate(64, first));
  std::vector<const std::byte*> places;
  for (const PagePart& part : first) places.push_back(part.page.data());
  PageRun others;
  ASSERT_TRUE(store.allocate(64, others));
  for (PagePart& part : first) part.page.reset();
  PageRun again;
  ASSERT_TRUE(store.allocate(64, again));
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(again[i].page.data(), places[i]);
}

TEST(MemoryFileSystem, FullIsNoSpace) {
  PageStore store(kSlabSize);
  MemoryOptions options;
  options.max_nodes = 4;
  const auto fs = make_memory_file_system(store, options);
  const NodeResult file = fs->create({}, fs->root(), "f", {});
  ASSERT_EQ(file.status, Status::ok);
  std::string data(kSlabSize, 'x');
  const BufferRef buffer = ref(data);
  EXPECT_EQ(fs->write({}, file.node, 0, {&buffer, 1}, Stable::unstable).status, Status::nospc);
  EXPECT_EQ(fs->attributes(file.node).attributes->size, 0u) << "nothing has changed";
  EXPECT_EQ(fs->create({}, fs->root(), "g", {}).status, Status::ok);
  EXPECT_EQ(fs->make_directory({}, fs->root(), "d", {}).status, Status::ok);
  EXPECT_EQ(fs->make_directory({}, fs->root(), "e", {}).status, Status::nospc);
  EXPECT_EQ(fs->remove({}, fs->root(), "f").status, Status::ok);
  EXPECT_EQ(fs->make_directory({}, fs->root(), "e", {}).status, Status::ok);
}

TEST(MemoryFileSystem, ASizeBoundsTheData) {
  PageStore store(kSlabSize);
  MemoryOptions options;
  options.max_octets = 4 * kPageSize;
  const auto fs = make_memory_file_system(store, options);
  const auto free_octets = [&] { return fs->statistics(fs->root()).statistics.free_octets; };
  const NodeResult one = fs->create({}, fs->root(), "f", {});
  const NodeResult two = fs->create({}, fs->root(), "g", {});
  std::string data(kPageSize, 'x');
  const BufferRef page = ref(data);
  const auto write = [&](const NodeKey& file, std::uint64_t index) {
    return fs->write({}, file, index * kPageSize, {&page, 1}, Stable::unstable).status;
  };
  EXPECT_EQ(fs->statistics(fs->root()).statistics.total_octets, options.max_octets);
  EXPECT_EQ(free_octets(), options.max_octets);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(write(one.node, i), Status::ok);
  EXPECT_EQ(write(two.node, 1000), Status::ok) << "holes cost nothing";
  EXPECT_EQ(free_octets(), 0u);
  EXPECT_EQ(write(two.node, 1), Status::nospc);
  EXPECT_EQ(write(one.node, 1), Status::ok) << "in place of what is there";
  SetAttributes shorter;
  shorter.size = kPageSize;
  EXPECT_EQ(fs->set_attributes({}, one.node, shorter, {}).status, Status::ok);
  EXPECT_EQ(free_octets(), 2 * kPageSize);
  EXPECT_EQ(fs->remove({}, fs->root(), "g").status, Status::ok);
  EXPECT_EQ(free_octets(), 3 * kPageSize);
  EXPECT_EQ(write(one.node, 3), Status::ok);
}

TEST(MemoryFileSystem, RemovedFilesGiveTheirPagesBack) {
  PageStore store(kSlabSize);
  const auto fs = make_memory_file_system(store);
  std::string data(kSlabSize / 2, 'x');
  const BufferRef buffer = ref(data);
  for (int i = 0; i < 20; ++i) {
    const NodeResult file = fs->create({}, fs->root(), "f", {});
    ASSERT_EQ(fs->write({}, file.node, 0, {&buffer, 1}, Stable::unstable).status, Status::ok) << i;
    ASSERT_EQ(fs->remove({}, fs->root(), "f").status, Status::ok);
  }
  EXPECT_EQ(store.in_use(), kPageSize);
}

// A log cut in the middle of a record, as a crash leaves it, loses that record and no other.
TEST(RememberedPlaces, ATornLogIsRead) {
  TemporaryDirectory tree;
  TemporaryDirectory state;
  PosixOptions options;
  options.root = tree.path();
  options.hint_file = state.path() / "places";
  options.kernel_handles = false;
  NodeKey first;
  NodeKey second;
  {
    auto fs = std::move(*make_posix_file_system(options, Log{}));
    first = fs->create({}, fs->root(), "first", {}).node;
    second = fs->create({}, fs->root(), "second", {}).node;
  }
  std::filesystem::resize_file(options.hint_file, std::filesystem::file_size(options.hint_file) - 1);
  auto fs = std::move(*make_posix_file_system(options, Log{}));
  EXPECT_EQ(fs->attributes(first).status, Status::ok);
  EXPECT_EQ(fs->attributes(second).status, Status::stale);
  EXPECT_EQ(fs->lookup({}, fs->root(), "second").node, second);
  EXPECT_EQ(fs->attributes(second).status, Status::ok) << "found again";
}

TEST(RememberedPlaces, AreBounded) {
  TemporaryDirectory tree;
  PosixOptions options;
  options.root = tree.path();
  options.kernel_handles = false;
  options.max_hints = 10;
  auto fs = std::move(*make_posix_file_system(options, Log{}));
  const NodeKey directory = fs->make_directory({}, fs->root(), "d", {}).node;
  std::vector<NodeKey> files;
  for (int i = 0; i < 50; ++i) files.push_back(fs->create({}, directory, std::to_string(i), {}).node);
  std::size_t known = 0;
  for (const NodeKey& file : files) known += fs->attributes(file).status == Status::ok ? 1 : 0;
  EXPECT_EQ(known, 9u);
  EXPECT_EQ(fs->attributes(directory).status, Status::ok) << "directories stay known";
}

TEST(IoPool, RunsEverythingBeforeItEnds) {
  std::atomic<int> done = 0;
  {
    IoPool pool(4, HandleSecret{});
    for (int i = 0; i < 1000; ++i) pool.submit([&](const HandleCodec&) { ++done; });
    pool.submit([](const HandleCodec&) { throw std::bad_alloc(); });
    pool.submit([&](const HandleCodec& codec) { done += codec.decode(codec.encode(1, {}).octets()) ? 1 : 0; });
  }
  EXPECT_EQ(done, 1001);
}

TEST(IoPool, StartsJobsInOrder) {
  std::vector<int> order;
  {
    IoPool pool(1, HandleSecret{});
    for (int i = 0; i < 300; ++i) pool.submit([&order, i](const HandleCodec&) { order.push_back(i); });
  }
  for (int i = 0; i < 300; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(IoPool, WakesTheThreadThatBecameIdleLast) {
  IoPool pool(4, HandleSecret{});
  std::set<std::thread::id> threads;
  for (int i = 0; i < 100; ++i) {
    while (pool.idle() != 4) std::this_thread::yield();
    std::promise<std::thread::id> ran;
    pool.submit([&ran](const HandleCodec&) { ran.set_value(std::this_thread::get_id()); });
    threads.insert(ran.get_future().get());
  }
  EXPECT_EQ(threads.size(), 1u);
}

TEST(IoPool, UsesAllThreads) {
  IoPool pool(4, HandleSecret{});
  std::latch together(4);
  for (int i = 0; i < 4; ++i) pool.submit([&together](const HandleCodec&) { together.arrive_and_wait(); });
  together.wait();
}

// As when a file system hangs under one export of several.
TEST(IoPool, ReplacesBlockedThreadsWithinABound) {
  IoPool pool(2, 5, HandleSecret{});
  std::latch go(1);
  std::atomic<int> hang = 0;
  std::atomic<bool> too_many = false;
  const auto submit = [&] {
    pool.submit([&](const HandleCodec&) {
      if (++hang > 5) too_many = true;
      go.wait();
      --hang;
    });
  };
  for (int i = 0; i < 4; ++i) submit();
  std::promise<void> ran;
  pool.submit([&ran](const HandleCodec&) { ran.set_value(); });
  ran.get_future().get();
  EXPECT_EQ(hang, 4);
  for (int i = 0; i < 10; ++i) submit();
  while (hang != 5) std::this_thread::yield();
  EXPECT_EQ(pool.busy(), 5u);
  go.count_down();
  while (pool.idle() != 2) std::this_thread::yield();  // the others are spare
  pool.join();
  EXPECT_EQ(hang, 0);
  EXPECT_FALSE(too_many);
}

TEST(Access, OwnerGroupOthersInThisOrder) {
  Attributes file;
  file.mode = 0471;
  file.uid = 1;
  file.gid = 2;
  Caller caller;
  caller.uid = 1;
  caller.gid = 2;
  EXPECT_EQ(granted_access(file, caller, 63), access::kRead) << "the owner's bits, though the group's give more";
  caller.uid = 3;
  EXPECT_EQ(granted_access(file, caller, 63), access::kRead | access::kModify | access::kExtend | access::kExecute);
  EXPECT_EQ(granted_access(file, caller, 63 & ~access::kChanges), access::kRead | access::kExecute);
  EXPECT_EQ(granted_access(file, caller, access::kModify), access::kModify);
  caller.gid = 4;
  EXPECT_EQ(granted_access(file, caller, 63), access::kExecute);
  caller.groups.push_back(2);
  EXPECT_NE(granted_access(file, caller, 63) & access::kRead, 0u);
  caller = {};
  caller.uid = 0;
  file.mode = 0;
  EXPECT_EQ(granted_access(file, caller, 63), access::kRead | access::kModify | access::kExtend);
  file.type = FileType::directory;
  EXPECT_EQ(granted_access(file, caller, 63),
            access::kRead | access::kModify | access::kExtend | access::kLookup | access::kDelete);
  caller.uid = 1;
  file.mode = 0600;
  EXPECT_EQ(granted_access(file, caller, 63), access::kRead) << "names change only in a directory one may search";
}

}  // namespace
}  // namespace rpcrdma::nfsd
