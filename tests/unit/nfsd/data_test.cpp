// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "file_system_test.hpp"
#include "rpcrdma/nfsd/memory/paged_data.hpp"

namespace rpcrdma::nfsd {
namespace {

using Data = FileSystemTest;

std::string pattern(std::size_t size, unsigned seed = 1) {
  std::string text(size, '\0');
  std::uint32_t state = seed * 2654435761u + 1;
  for (char& c : text) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

TEST_P(Data, ReadGivesWhatWasWritten) {
  const std::string content = pattern(300'001);
  const NodeKey file = create(root_, "f", content);
  EXPECT_EQ(read_all(file), content);
  EXPECT_EQ(read_all(file, 4099), content);
  EXPECT_EQ(stat(file).size, content.size());
}

TEST_P(Data, EndOfFile) {
  const NodeKey file = create(root_, "f", "0123456789");
  std::string room(6, ' ');
  const BufferRef buffer = ref(room);
  ReadResult got = fs_->read(caller_, file, 0, {&buffer, 1});
  EXPECT_EQ(got.count, 6u);
  EXPECT_FALSE(got.eof);
  got = fs_->read(caller_, file, 4, {&buffer, 1});
  EXPECT_EQ(got.count, 6u);
  EXPECT_TRUE(got.eof) << "the data ends where the file ends";
  got = fs_->read(caller_, file, 10, {&buffer, 1});
  EXPECT_EQ(got.count, 0u);
  EXPECT_TRUE(got.eof);
  got = fs_->read(caller_, file, ~std::uint64_t{0}, {&buffer, 1});
  EXPECT_EQ(got.status, Status::ok);
  EXPECT_EQ(got.count, 0u);
  EXPECT_TRUE(got.eof);
  ASSERT_TRUE(got.attributes);
  EXPECT_EQ(got.attributes->size, 10u);
}

TEST_P(Data, ReadToPipe) {
  const std::string content = pattern(300'001);
  const NodeKey file = create(root_, "f", content);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Fd out(ends[0]), in(ends[1]);
  ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // the kernel may refuse this size
  const int capacity = ::fcntl(ends[1], F_GETPIPE_SZ);
  if (!fs_->read_to_pipe(caller_, file, 0, 1, ends[1])) {
    EXPECT_FALSE(fs_->blocking()) << "a directory on a disk can be read into a pipe";
    return;
  }
  std::string got(std::size_t{1} << 20, '\0');
  ASSERT_EQ(::read(ends[0], got.data(), got.size()), 1);
  for (const std::uint64_t offset : {0, 1, 4095, 65536, 262'144, 299'999, 300'001, 400'000}) {
    for (const std::uint32_t count : {1u, 4096u, 200'000u, 1'000'000u}) {
      const std::string_view rest = std::string_view(content).substr(std::min<std::size_t>(offset, content.size()));
      const auto result = fs_->read_to_pipe(caller_, file, offset, count, ends[1]);
      if (!result) {
        ASSERT_GT(offset % 4096 + std::min<std::size_t>(count, rest.size()), static_cast<std::size_t>(capacity));
        while (::read(ends[0], got.data(), got.size()) > 0) {
        }
        continue;
      }
      ASSERT_EQ(result->status, Status::ok);
      ASSERT_EQ(result->count, std::min<std::size_t>(count, rest.size())) << offset << ' ' << count;
      EXPECT_EQ(result->eof, count >= rest.size());
      if (result->count == 0) continue;
      const ssize_t size = ::read(ends[0], got.data(), got.size());
      ASSERT_EQ(size, static_cast<ssize_t>(result->count));
      EXPECT_EQ(std::string_view(got).substr(0, result->count), rest.substr(0, count));
    }
  }
  const auto last = fs_->read_to_pipe(caller_, file, ~std::uint64_t{0}, 10, ends[1]);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->count, 0u);
  EXPECT_TRUE(last->eof);
  EXPECT_EQ(fs_->read_to_pipe(caller_, root_, 0, 10, ends[1])->status, Status::isdir);
  ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  EXPECT_FALSE(fs_->read_to_pipe(caller_, file, 0, 300'000, ends[1])) << "the pipe has too little room";
}

TEST_P(Data, OverlappingWritesMatchAModel) {
  const NodeKey file = create(root_, "f");
  std::string model;
  for (unsigned i = 0; i < 120; ++i) {
    const std::uint64_t offset = i * 7919ull % 150'000;
    const std::string part = pattern(1 + i * 4099 % 60'000, i);
    const WriteResult result = write(file, offset, part);
    ASSERT_EQ(result.count, part.size());
    if (model.size() < offset + part.size()) model.resize(offset + part.size(), '\0');
    model.replace(offset, part.size(), part);
    if (i % 20 == 19) {
      SetAttributes cut;
      cut.size = model.size() - 5000 - i;
      ASSERT_EQ(fs_->set_attributes(caller_, file, cut, {}).status, Status::ok);
      model.resize(*cut.size);
    }
  }
  EXPECT_EQ(read_all(file), model);
}

TEST_P(Data, HolesAndCutTailsReadAsZeros) {
  const NodeKey file = create(root_, "f", pattern(40'000));
  SetAttributes size;
  size.size = 100;
  ASSERT_EQ(fs_->set_attributes(caller_, file, size, {}).status, Status::ok);
  size.size = 40'000;
  ASSERT_EQ(fs_->set_attributes(caller_, file, size, {}).status, Status::ok);
  EXPECT_EQ(read_all(file), pattern(40'000).substr(0, 100) + std::string(39'900, '\0'));
  const std::uint64_t far = std::uint64_t{1} << 33;
  write(file, far, "end");
  EXPECT_EQ(stat(file).size, far + 3);
  EXPECT_LT(stat(file).used, std::uint64_t{1} << 20) << "a hole uses no space";
  std::string room(8, ' ');
  const BufferRef buffer = ref(room);
  EXPECT_EQ(fs_->read(caller_, file, far - 5, {&buffer, 1}).count, 8u);
  EXPECT_EQ(room, std::string(5, '\0') + "end");
}

TEST_P(Data, ScatteredBuffers) {
  const NodeKey file = create(root_, "f");
  std::string a = pattern(10'000, 1), b = pattern(1, 2), c = pattern(33'333, 3);
  const BufferRef parts[] = {ref(a), ref(b), ref(c)};
  ASSERT_EQ(fs_->write(caller_, file, 5, parts, Stable::unstable).count, 43'334u);
  std::string x(7, ' '), y(43'332, ' ');
  const BufferRef into[] = {ref(x), ref(y)};
  ASSERT_EQ(fs_->read(caller_, file, 0, into).count, 43'339u);
  EXPECT_EQ(x + y, std::string(5, '\0') + a + b + c);
}

TEST_P(Data, StabilityAndVerifier) {
  const NodeKey file = create(root_, "f");
  for (const Stable stable : {Stable::unstable, Stable::data_sync, Stable::file_sync}) {
    const WriteResult result = write(file, 0, "x", stable);
    EXPECT_GE(result.committed, stable);
    EXPECT_TRUE(result.wcc.before && result.wcc.after);
  }
  EXPECT_EQ(fs_->commit(caller_, file, 0, 0).status, Status::ok);
  EXPECT_EQ(fs_->write_verifier(), fs_->write_verifier());
  const Verifier before = fs_->write_verifier();
  EXPECT_NE(make()->write_verifier(), before) << "a restart may have lost data";
}

TEST_P(Data, WriteOfNothingSucceeds) {
  const NodeKey file = create(root_, "f");
  const WriteResult result = fs_->write(caller_, file, 1000, {}, Stable::unstable);
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_EQ(result.count, 0u);
  EXPECT_EQ(stat(file).size, 0u);
}

TEST_P(Data, OffsetsBeyondTheLargestFileAreRefused) {
  const NodeKey file = create(root_, "f");
  std::string text = "x";
  const BufferRef buffer = ref(text);
  EXPECT_EQ(fs_->write(caller_, file, ~std::uint64_t{0}, {&buffer, 1}, Stable::unstable).status, Status::fbig);
  SetAttributes size;
  size.size = ~std::uint64_t{0};
  EXPECT_EQ(fs_->set_attributes(caller_, file, size, {}).status, Status::fbig);
  EXPECT_EQ(stat(file).size, 0u);
}

TEST_P(Data, TheLargestSizeIsTheLargestThatAFileCanHave) {
  const NodeKey file = create(root_, "f");
  SetAttributes size;
  size.size = fs_->limits().max_file_size;
  EXPECT_EQ(fs_->set_attributes(caller_, file, size, {}).status, Status::ok) << *size.size;
  EXPECT_EQ(stat(file).size, *size.size);
  ++*size.size;
  EXPECT_EQ(fs_->set_attributes(caller_, file, size, {}).status, Status::fbig) << *size.size;
  EXPECT_EQ(stat(file).size, fs_->limits().max_file_size);
}

TEST_P(Data, DirectoriesHoldNoData) {
  std::string text = "x";
  const BufferRef buffer = ref(text);
  EXPECT_EQ(fs_->read(caller_, root_, 0, {&buffer, 1}).status, Status::isdir);
  EXPECT_EQ(fs_->write(caller_, root_, 0, {&buffer, 1}, Stable::unstable).status, Status::isdir);
  SetAttributes size;
  size.size = 0;
  EXPECT_EQ(fs_->set_attributes(caller_, root_, size, {}).status, Status::isdir);
}

TEST_P(Data, ARemovedFileIsStale) {
  const NodeKey file = create(root_, "f", "text");
  EXPECT_EQ(read_all(file), "text");
  ASSERT_EQ(fs_->remove(caller_, root_, "f").status, Status::ok);
  std::string text = "x";
  const BufferRef buffer = ref(text);
  EXPECT_EQ(fs_->read(caller_, file, 0, {&buffer, 1}).status, Status::stale);
  EXPECT_EQ(fs_->write(caller_, file, 0, {&buffer, 1}, Stable::unstable).status, Status::stale);
  EXPECT_EQ(fs_->commit(caller_, file, 0, 0).status, Status::stale);
  create(root_, "f", "other");
  EXPECT_EQ(fs_->attributes(file).status, Status::stale) << "a new file of that name is another file";
}

TEST_P(Data, SetAttributes) {
  const NodeKey file = create(root_, "f", "text");
  SetAttributes changes;
  changes.mode = 04751;
  changes.atime = {SetTime::How::client, {1'000'000'000, 123'456'789}};
  changes.mtime = {SetTime::How::client, {3'000'000'000u, 1}};
  const ChangeResult result = fs_->set_attributes(caller_, file, changes, {});
  ASSERT_EQ(result.status, Status::ok);
  ASSERT_TRUE(result.wcc.before && result.wcc.after);
  EXPECT_EQ(result.wcc.after->mode, 04751u);
  EXPECT_EQ(result.wcc.after->atime, (Time{1'000'000'000, 123'456'789}));
  EXPECT_EQ(result.wcc.after->mtime, (Time{3'000'000'000u, 1}));
  changes = {};
  changes.mtime.how = SetTime::How::server;
  ASSERT_EQ(fs_->set_attributes(caller_, file, changes, {}).status, Status::ok);
  EXPECT_LT(stat(file).mtime.seconds, 3'000'000'000u);
  EXPECT_EQ(stat(file).atime.seconds, 1'000'000'000u);
  changes.mtime = {SetTime::How::client, {1, 1'000'000'000}};
  EXPECT_EQ(fs_->set_attributes(caller_, file, changes, {}).status, Status::inval);
}

TEST_P(Data, GuardRefusesAChangeToSomethingNewer) {
  const NodeKey file = create(root_, "f", "text");
  const Time seen = stat(file).ctime;
  SetAttributes size;
  size.size = 2;
  Time other = seen;
  other.nanoseconds ^= 1;
  EXPECT_EQ(fs_->set_attributes(caller_, file, size, other).status, Status::not_sync);
  EXPECT_EQ(stat(file).size, 4u);
  EXPECT_EQ(fs_->set_attributes(caller_, file, size, seen).status, Status::ok);
  EXPECT_EQ(stat(file).size, 2u);
}

// Threads write to one file and change one directory: no change of the directory is lost. In the memory file system,
// each write is atomic.
TEST_P(Data, ManyThreads) {
  const NodeKey file = create(root_, "shared", std::string(20'000, 'a'));
  std::atomic<bool> torn = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        std::string block(20'000, static_cast<char>('a' + t));
        const BufferRef buffer = ref(block);
        fs_->write(caller_, file, 0, {&buffer, 1}, Stable::unstable);
        PageRun run;
        if (PagedData* paged = fs_->paged(); paged != nullptr) {
          paged->read_pages(caller_, file, 0, 20'000, run);
          for (const PagePart& part : run)
            for (const std::byte b : part.octets())
              if (b != run.front().octets().front()) torn = true;
        }
        const std::string name = "n" + std::to_string(t) + "-" + std::to_string(i);
        if (fs_->create(caller_, root_, name, {}).status != Status::ok) torn = true;
        if (i % 2 == 0 && fs_->remove(caller_, root_, name).status != Status::ok) torn = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(list(root_, 1000).size(), 2u + 1u + 4u * 30u);
  EXPECT_EQ(stat(file).size, 20'000u);
}

INSTANTIATE_TEST_SUITE_P(Backends, Data, ::testing::Values(Kind::posix_handles, Kind::posix_hints, Kind::memory),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
