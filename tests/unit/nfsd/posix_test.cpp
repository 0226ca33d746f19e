// SPDX-License-Identifier: BSD-3-Clause
// Properties that only exports of directories have, such as handles that survive a restart, and files that local
// programs change.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "file_system_test.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {
namespace {

using Posix = FileSystemTest;
namespace filesystem = std::filesystem;

std::atomic<bool> times_begin_in_1970 = false;

}  // namespace
}  // namespace rpcrdma::nfsd

extern "C" {
/// If the test sets times_begin_in_1970, clamps times as the kernel does on file systems without times before 1970.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
int futimens(int fd, const timespec times[2]) noexcept {
  timespec clamped[2] = {times[0], times[1]};
  if (rpcrdma::nfsd::times_begin_in_1970)
    for (timespec& time : clamped) time.tv_sec = std::max<time_t>(time.tv_sec, 0);
  return static_cast<int>(::syscall(SYS_utimensat, fd, nullptr, clamped, 0));
}
}

namespace rpcrdma::nfsd {
namespace {

TEST_P(Posix, HandlesSurviveARestartAndARename) {
  const NodeKey directory = mkdir(root_, "d");
  const NodeKey file = create(directory, "f", "text");
  const NodeKey link = fs_->make_symlink(caller_, directory, "l", "target", {}).node;
  fs_ = make();
  EXPECT_EQ(fs_->root(), root_);
  EXPECT_EQ(read_all(file), "text");
  EXPECT_EQ(fs_->read_link(link).target, "target");
  ASSERT_EQ(fs_->rename(caller_, root_, "d", root_, "e").status, Status::ok);
  ASSERT_EQ(fs_->rename(caller_, directory, "f", root_, "g").status, Status::ok);
  fs_ = make();
  EXPECT_EQ(read_all(file), "text");
  EXPECT_EQ(stat(directory).type, FileType::directory);
  EXPECT_EQ(fs_->read_link(link).target, "target");
}

TEST_P(Posix, HandlesSurviveALocalRename) {
  const NodeKey file = create(mkdir(root_, "d"), "f", "text");
  filesystem::rename(directory_.path() / "d/f", directory_.path() / "d/g");
  filesystem::rename(directory_.path() / "d", directory_.path() / "e");
  EXPECT_EQ(read_all(file), "text");
}

TEST_P(Posix, AFileWithSeveralNamesIsFoundByThoseThatRemain) {
  const NodeKey one = mkdir(root_, "one");
  const NodeKey two = mkdir(root_, "two");
  const NodeKey three = mkdir(root_, "three");
  const NodeKey file = create(one, "a", "text");
  const auto is_found = [&] {
    const bool before = fs_->attributes(file).status == Status::ok;
    fs_ = make();
    return before && fs_->attributes(file).status == Status::ok;
  };
  ASSERT_EQ(fs_->link(caller_, file, two, "b").status, Status::ok);
  ASSERT_EQ(fs_->remove(caller_, one, "a").status, Status::ok);
  EXPECT_TRUE(is_found()) << "by the name that LINK gave it";
  ASSERT_EQ(fs_->link(caller_, file, three, "c").status, Status::ok);
  ASSERT_EQ(fs_->rename(caller_, two, "b", one, "d").status, Status::ok);
  ASSERT_EQ(fs_->remove(caller_, three, "c").status, Status::ok);
  EXPECT_TRUE(is_found()) << "by the name that RENAME gave it";
  ASSERT_EQ(fs_->link(caller_, file, two, "e").status, Status::ok);
  create(root_, "other");
  ASSERT_EQ(fs_->rename(caller_, root_, "other", one, "d").status, Status::ok);
  EXPECT_TRUE(is_found()) << "after another object has taken one of its names";
  filesystem::create_hard_link(directory_.path() / "two/e", directory_.path() / "three/f");
  ASSERT_EQ(lookup(three, "f"), Status::ok);
  ASSERT_EQ(fs_->remove(caller_, two, "e").status, Status::ok);
  EXPECT_TRUE(is_found()) << "by a name that a LOOKUP has shown";
  ASSERT_EQ(fs_->link(caller_, file, one, "g").status, Status::ok);
  filesystem::remove(directory_.path() / "three/f");
  EXPECT_TRUE(is_found()) << "after a local program has removed a name";
  EXPECT_EQ(read_all(file), "text");
  ASSERT_EQ(fs_->remove(caller_, one, "g").status, Status::ok);
  EXPECT_EQ(fs_->attributes(file).status, Status::stale);
}

TEST_P(Posix, AFileWithManyNames) {
  const NodeKey file = create(root_, "f", "text");
  constexpr int kNames = 20;
  for (int i = 0; i < kNames; ++i) {
    const NodeKey directory = mkdir(root_, "d" + std::to_string(i));
    ASSERT_EQ(fs_->link(caller_, file, directory, "n").status, Status::ok);
  }
  ASSERT_EQ(fs_->remove(caller_, root_, "f").status, Status::ok);
  for (int i = 0; i + 1 < kNames; ++i) {
    const NodeKey directory = fs_->lookup(caller_, root_, "d" + std::to_string(i)).node;
    ASSERT_EQ(fs_->remove(caller_, directory, "n").status, Status::ok);
    ASSERT_EQ(fs_->attributes(file).status, Status::ok) << i;
  }
  fs_ = make();
  EXPECT_EQ(read_all(file), "text");
}

/// Returns whether the file system of `path` supports RWF_NOWAIT and has the file in the cache.
bool reads_cached_data(const filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  const iovec vector{&byte, 1};
  return ::preadv2(fd.get(), &vector, 1, 0, RWF_NOWAIT) == 1;
}

TEST_P(Posix, ReadsAtOnceWhatIsInMemory) {
  const NodeKey file = create(root_, "f", "some text");
  std::array<std::byte, 6> room{};
  const BufferRef into{room.data(), static_cast<std::uint32_t>(room.size()), 0};
  const auto at_once = [&](std::uint64_t offset) { return fs_->read_at_once(caller_, file, offset, {&into, 1}); };
  const std::string_view text(reinterpret_cast<const char*>(room.data()), room.size());

  fs_ = make();
  EXPECT_FALSE(at_once(0));  // the file is not open
  EXPECT_EQ(read_all(file), "some text");
  if (reads_cached_data(directory_.path() / "f")) {
    auto got = at_once(0);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, Status::ok);
    EXPECT_EQ(got->count, 6u);
    EXPECT_EQ(text, "some t");
    EXPECT_FALSE(got->eof);
    EXPECT_EQ(got->attributes->size, 9u);
    got = at_once(5);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->count, 4u);
    EXPECT_TRUE(got->eof);
    EXPECT_EQ(text.substr(0, 4), "text");
    got = at_once(100);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->count, 0u);
    EXPECT_TRUE(got->eof);
  }
  EXPECT_FALSE(at_once(~std::uint64_t{0}));
  const bool cached = reads_cached_data(directory_.path() / "f");
  filesystem::permissions(directory_.path() / "f", filesystem::perms::none);
  EXPECT_EQ(at_once(0).has_value(), cached) << "the owner may read, whatever the mode";
  EXPECT_EQ(read_all(file), "some text");
  if (::chown((directory_.path() / "f").c_str(), 1, 1) == 0) {
    EXPECT_FALSE(at_once(0)) << "a new owner requires a new check of the caller's rights";
    EXPECT_EQ(fs_->read(caller_, file, 0, {&into, 1}).status, Status::acces);
    ASSERT_EQ(::chown((directory_.path() / "f").c_str(), caller_.uid, caller_.gid), 0);
    EXPECT_EQ(read_all(file), "some text");
  }
  EXPECT_EQ(at_once(0).has_value(), cached);
  filesystem::remove(directory_.path() / "f");
  EXPECT_FALSE(at_once(0));
}

TEST_P(Posix, CookiesSurviveARestart) {
  for (int i = 0; i < 500; ++i) create(root_, "f" + std::to_string(i));
  EXPECT_EQ(list(root_, 50, [&](std::size_t) { fs_ = make(); }).size(), 502u);
}

TEST_P(Posix, AnExclusiveCreateIsRecognizedAfterARestart) {
  for (const bool limited : {false, true}) {
    SCOPED_TRACE(limited);
    times_begin_in_1970 = limited;
    CreateHow how;
    how.mode = CreateMode::exclusive;
    how.verifier = {std::byte{0xff}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{0x85}, std::byte{6}};
    const NodeResult made = fs_->create(caller_, root_, "f", how);
    ASSERT_EQ(made.status, Status::ok);
    fs_ = make();
    const NodeResult again = fs_->create(caller_, root_, "f", how);
    EXPECT_EQ(again.status, Status::ok) << "a retransmission of the request";
    EXPECT_EQ(again.node, made.node);
    // All bits of the verifier are compared, including the sign bits of the two times that store it.
    for (const std::size_t byte : {0u, 3u, 4u, 7u}) {
      for (const std::byte bit : {std::byte{0x80}, std::byte{1}}) {
        CreateHow other = how;
        other.verifier[byte] ^= bit;
        EXPECT_EQ(fs_->create(caller_, root_, "f", other).status, Status::exist) << byte;
      }
    }
    ASSERT_EQ(fs_->remove(caller_, root_, "f").status, Status::ok);
  }
  times_begin_in_1970 = false;
}

TEST_P(Posix, ASymlinkPutInPlaceOfADirectoryLeadsNowhere) {
  const NodeKey directory = mkdir(root_, "d");
  create(directory, "passwd", "inside");
  filesystem::rename(directory_.path() / "d", directory_.path() / "real");
  filesystem::create_directory_symlink("/etc", directory_.path() / "d");
  EXPECT_EQ(fs_->lookup(caller_, root_, "d").attributes->type, FileType::symlink);
  const NodeResult found = fs_->lookup(caller_, directory, "passwd");
  if (found.status == Status::ok) {
    EXPECT_EQ(read_all(found.node), "inside");
  }
  filesystem::create_symlink("/etc/passwd", directory_.path() / "real/hosts");
  CreateHow how;
  how.attributes.size = 0;
  EXPECT_EQ(fs_->create(caller_, directory, "hosts", how).status, Status::exist);
}

TEST_P(Posix, ADirectoryMovedOutOfTheTreeIsStale) {
  const NodeKey directory = mkdir(root_, "d");
  create(directory, "f", "text");
  const filesystem::path outside = state_.path() / "moved";
  filesystem::rename(directory_.path() / "d", outside);
  EXPECT_EQ(fs_->attributes(directory).status, Status::stale);
  EXPECT_EQ(lookup(directory, "f"), Status::stale);
  EXPECT_EQ(lookup(directory, ".."), Status::stale);
  EXPECT_EQ(fs_->create(caller_, directory, "g", {}).status, Status::stale);
}

TEST_P(Posix, ADirectoryWithAPathTooLongToShowMovedOutOfTheTreeIsStale) {
  NodeKey directory = root_;
  const std::string name(200, 'n');
  for (int depth = 0; depth < 30; ++depth) directory = mkdir(directory, name);
  ASSERT_EQ(fs_->attributes(directory).status, Status::ok);
  filesystem::rename(directory_.path() / name, state_.path() / "moved");
  EXPECT_EQ(fs_->attributes(directory).status, Status::stale);
  EXPECT_EQ(lookup(directory, ".."), Status::stale);
  EXPECT_EQ(fs_->create(caller_, directory, "g", {}).status, Status::stale);
  filesystem::rename(state_.path() / "moved", directory_.path() / "back");
  if (GetParam() == Kind::posix_handles) {
    EXPECT_EQ(fs_->attributes(directory).status, Status::ok);
  }
}

TEST_P(Posix, AFileMovedOutOfTheTreeIsStale) {
  const NodeKey file = create(root_, "f", "text");
  const NodeKey twice = create(root_, "g", "text");
  filesystem::create_hard_link(directory_.path() / "g", state_.path() / "g");
  filesystem::rename(directory_.path() / "f", state_.path() / "f");
  EXPECT_EQ(fs_->attributes(file).status, Status::stale);
  SetAttributes changes;
  changes.size = 0;
  EXPECT_EQ(fs_->set_attributes(caller_, file, changes, {}).status, Status::stale);
  EXPECT_EQ(fs_->link(caller_, file, root_, "back").status, Status::stale);
  fs_ = make();
  std::string text = "x";
  const BufferRef buffer = ref(text);
  EXPECT_EQ(fs_->read(caller_, file, 0, {&buffer, 1}).status, Status::stale);
  EXPECT_EQ(fs_->attributes(twice).status, Status::ok) << "one of its names is inside the export";
}

TEST_P(Posix, AFileRemovedLocallyIsStaleAlthoughItIsOpen) {
  const NodeKey file = create(root_, "f", "text");
  EXPECT_EQ(read_all(file), "text");
  filesystem::remove(directory_.path() / "f");
  std::string text = "x";
  const BufferRef buffer = ref(text);
  EXPECT_EQ(fs_->read(caller_, file, 0, {&buffer, 1}).status, Status::stale);
  EXPECT_EQ(fs_->write(caller_, file, 0, {&buffer, 1}, Stable::unstable).status, Status::stale);
  EXPECT_EQ(fs_->attributes(file).status, Status::stale);
}

TEST_P(Posix, WhatIsRemovedLocallyIsStaleForEveryProcedure) {
  const NodeKey file = create(root_, "f", "text");
  const NodeKey directory = mkdir(root_, "d");
  const std::ifstream open_file(directory_.path() / "f");
  const Fd open_directory(::open((directory_.path() / "d").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  filesystem::remove(directory_.path() / "f");
  filesystem::remove(directory_.path() / "d");
  SetAttributes changes;
  changes.mode = 0600;
  for (const NodeKey& node : {file, directory}) {
    EXPECT_EQ(fs_->attributes(node).status, Status::stale);
    EXPECT_EQ(fs_->set_attributes(caller_, node, changes, {}).status, Status::stale);
    EXPECT_EQ(fs_->access(caller_, node, 63).status, Status::stale);
    EXPECT_EQ(fs_->statistics(node).status, Status::stale);
  }
  EXPECT_EQ(fs_->link(caller_, file, root_, "back").status, Status::stale);
  EXPECT_EQ(lookup(directory, "."), Status::stale);
}

TEST_P(Posix, AnotherMountInsideTheTreeIsNotEntered) {
  filesystem::create_directory(directory_.path() / "proc");
  TemporaryDirectory top;
  PosixOptions options;
  options.root = "/";
  options.kernel_handles = GetParam() == Kind::posix_handles;
  auto made = make_posix_file_system(options, Log{});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ((*made)->lookup(caller_, (*made)->root(), "proc").status, Status::acces);
}

TEST_P(Posix, TheRootMustBeADirectory) {
  PosixOptions options;
  options.root = directory_.path() / "missing";
  EXPECT_EQ(make_posix_file_system(options, Log{}).error(), boost::system::errc::no_such_file_or_directory);
  std::ofstream(directory_.path() / "file") << "x";
  options.root = directory_.path() / "file";
  EXPECT_EQ(make_posix_file_system(options, Log{}).error(), boost::system::errc::not_a_directory);
}

TEST_P(Posix, DescriptorsAreBounded) {
  const auto open_descriptors = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  };
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 700; ++i) read_all(create(root_, "f" + std::to_string(i), "x"));
  const PosixOptions bounds;
  // The bound is the sum of three numbers: the size of the descriptor cache, one O_PATH descriptor (KeptNode) for each
  // file and for the root, and one descriptor for fsync(2) of the root.
  EXPECT_LE(open_descriptors(), before + bounds.max_descriptors + 700 + 2);
  fs_.reset();
  EXPECT_LE(open_descriptors(), before);
}

// The server makes an object but has no free descriptor to open it. The request fails, and the server must remove the
// object again, so that a repetition of the request does not find it.
TEST_P(Posix, AnObjectThatCannotBeOpenedIsRemovedAgain) {
  mkdir(root_, "before");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const Fd lowest_free(::dup(STDERR_FILENO));
  const rlimit none{static_cast<rlim_t>(lowest_free.get()) + 1, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const NodeResult directory = fs_->make_directory(caller_, root_, "directory", {});
  const NodeResult symlink = fs_->make_symlink(caller_, root_, "symlink", "target", {});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_NE(directory.status, Status::ok);
  EXPECT_NE(symlink.status, Status::ok);
  EXPECT_EQ(list(root_, 10), (std::multiset<std::string>{".", "..", "before"}));
}

// The names of a file are removed concurrently. Each of the last two removals may still see the name that the other one
// removes, so that neither notices that the file has lost its last name. The file must be closed nevertheless.
TEST_P(Posix, AFileWhoseNamesAreRemovedConcurrentlyIsClosed) {
  constexpr int kRounds = 300;
  constexpr int kNames = 8;
  const auto deleted_but_open = [] {
    std::size_t count = 0;
    for (const auto& entry : filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (filesystem::read_symlink(entry.path(), gone).string().ends_with(" (deleted)")) ++count;
    }
    return count;
  };
  const std::size_t before = deleted_but_open();
  std::vector<NodeKey> directories;
  for (int i = 0; i < kNames; ++i) directories.push_back(mkdir(root_, "d" + std::to_string(i)));
  std::vector<NodeKey> files;
  for (int i = 0; i < kRounds; ++i) {
    const std::string name = std::to_string(i);
    files.push_back(create(directories.front(), name, "x"));
    for (int j = 1; j < kNames; ++j)
      ASSERT_EQ(fs_->link(caller_, files.back(), directories[static_cast<std::size_t>(j)], name).status, Status::ok);
  }
  for (const NodeKey& file : files) read_all(file);
  std::atomic<int> arrived{0};
  const auto remove_all = [&](const NodeKey& directory) {
    for (int i = 0; i < kRounds; ++i) {
      ++arrived;
      while (arrived.load() < (i + 1) * kNames) std::this_thread::yield();
      EXPECT_EQ(fs_->remove(caller_, directory, std::to_string(i)).status, Status::ok);
    }
  };
  std::vector<std::thread> threads;
  for (const NodeKey& directory : directories) threads.emplace_back([&] { remove_all(directory); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(deleted_but_open(), before);
  for (const NodeKey& file : files) EXPECT_EQ(fs_->attributes(file).status, Status::stale);
}

INSTANTIATE_TEST_SUITE_P(Backends, Posix, ::testing::Values(Kind::posix_handles, Kind::posix_hints),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
