// SPDX-License-Identifier: BSD-3-Clause
// Small parts below the services: pages, bounds of the memory file system, I/O threads, access bits.
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

TEST(PageStore, IsBoundedAndReusesPages) {
  PageStore store(kSlabSize * 2);
  PageRun pages;
  const std::size_t all = 2 * kPagesPerSlab - 1;  // one page is the shared page of zeros
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

TEST(PageStore, ReturnedPagesAreReusedInOrder) {
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
  options.max_octets = 5 * kPageSize;  // the objects and names take less than a page
  const auto fs = make_memory_file_system(store, options);
  const auto free_bytes = [&] { return fs->statistics(fs->root()).statistics.free_octets; };
  EXPECT_EQ(fs->statistics(fs->root()).statistics.total_octets, options.max_octets);
  EXPECT_EQ(free_bytes(), options.max_octets);
  const NodeResult one = fs->create({}, fs->root(), "f", {});
  const NodeResult two = fs->create({}, fs->root(), "g", {});
  std::string data(kPageSize, 'x');
  const BufferRef page = ref(data);
  const auto write = [&](const NodeKey& file, std::uint64_t index) {
    return fs->write({}, file, index * kPageSize, {&page, 1}, Stable::unstable).status;
  };
  EXPECT_LT(free_bytes(), options.max_octets);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(write(one.node, i), Status::ok);
  EXPECT_EQ(write(two.node, 1000), Status::ok) << "holes cost nothing";
  EXPECT_LT(free_bytes(), kPageSize);
  EXPECT_EQ(write(two.node, 1), Status::nospc);
  EXPECT_EQ(write(one.node, 1), Status::ok) << "a page that exists is replaced";
  SetAttributes shorter;
  shorter.size = kPageSize;
  EXPECT_EQ(fs->set_attributes({}, one.node, shorter, {}).status, Status::ok);
  EXPECT_EQ(free_bytes() / kPageSize, 2u);
  EXPECT_EQ(fs->remove({}, fs->root(), "g").status, Status::ok);
  EXPECT_EQ(free_bytes() / kPageSize, 3u);
  EXPECT_EQ(write(one.node, 3), Status::ok);
}

TEST(MemoryFileSystem, ASizeBoundsObjectsNamesAndLinkTargets) {
  constexpr std::uint64_t kSize = 1u << 20;
  PageStore store(kSlabSize);
  MemoryOptions options;
  options.max_octets = kSize;
  const auto fs = make_memory_file_system(store, options);
  const std::string target(4095, 't');
  const auto name = [](std::uint64_t i) { return std::to_string(i) + std::string(200, 'n'); };
  // Returns how many objects were made before the first failure.
  const auto fill = [&](const auto& make_one) {
    for (std::uint64_t made = 0; made < kSize; ++made) {
      const Status status = make_one(name(made));
      if (status == Status::ok) continue;
      EXPECT_EQ(status, Status::nospc);
      return made;
    }
    return kSize;
  };
  const auto remove_all = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(fs->remove({}, fs->root(), name(i)).status, Status::ok);
    EXPECT_EQ(fs->statistics(fs->root()).statistics.free_octets, kSize) << "all space is free again";
  };
  const auto symlink = [&](const std::string& at) { return fs->make_symlink({}, fs->root(), at, target, {}).status; };
  const std::uint64_t symlinks = fill(symlink);
  EXPECT_GT(symlinks, 100u);
  EXPECT_LT(symlinks, kSize / (target.size() + 200));
  remove_all(symlinks);
  const std::uint64_t files = fill([&](const std::string& at) { return fs->create({}, fs->root(), at, {}).status; });
  EXPECT_LT(files, kSize / (200 + 400)) << "an object uses space, too";
  const auto longer = [&](std::uint64_t i) { return name(i) + std::string(40, 'm'); };
  std::uint64_t renamed = 0;
  Status status = Status::ok;
  while (renamed < files && status == Status::ok) {
    status = fs->rename({}, fs->root(), name(renamed), fs->root(), longer(renamed)).status;
    renamed += status == Status::ok ? 1 : 0;
  }
  EXPECT_EQ(status, Status::nospc) << "a longer name uses space, too";
  for (std::uint64_t i = 0; i < renamed; ++i)
    EXPECT_EQ(fs->rename({}, fs->root(), longer(i), fs->root(), name(i)).status, Status::ok);
  remove_all(files);
  const NodeKey file = fs->create({}, fs->root(), "f", {}).node;
  const std::uint64_t links = fill([&](const std::string& at) { return fs->link({}, file, fs->root(), at).status; });
  EXPECT_LT(links, kSize / 200);
}

TEST(MemoryFileSystem, RemovedFilesReturnTheirPages) {
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
  std::latch together(4);
  // The pool is declared after the latch, because its destructor waits for the jobs, which use the latch.
  IoPool pool(4, HandleSecret{});
  for (int i = 0; i < 4; ++i) pool.submit([&together](const HandleCodec&) { together.arrive_and_wait(); });
  together.wait();
}

// When the file system of one export hangs, each call to that file system blocks a thread.
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
  while (pool.idle() != 2) std::this_thread::yield();  // idle() does not count the extra threads
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
  EXPECT_EQ(granted_access(file, caller, 63), access::kRead) << "the owner's bits count, though the group's grant more";
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
  EXPECT_EQ(granted_access(file, caller, 63), access::kRead)
      << "to change names, a user must be able to search the directory";
}

}  // namespace
}  // namespace rpcrdma::nfsd
