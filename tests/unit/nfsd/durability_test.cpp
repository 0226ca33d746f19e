// SPDX-License-Identifier: BSD-3-Clause
// Which data is on the disk when a change is reported as done. This file replaces fsync() and similar functions of the
// C library: they record the call and pass it to the kernel, unless the test decides the result.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include "file_system_test.hpp"
#include "keeping_directory.hpp"
#include "open_files/commit_order.hpp"
#include "open_files/descriptor_cache.hpp"
#include "open_files/write_backs.hpp"

namespace rpcrdma::nfsd {
namespace {

/// The flushes that the thread under test makes.
struct Flushes {
  std::multiset<std::uint64_t> whole;  // inode numbers of the files passed to fsync()
  std::multiset<std::uint64_t> data;
  std::size_t everything = 0;
  int fail_with = 0;
  std::function<void()> meanwhile;  // runs during each fsync() and fdatasync()
  std::function<int()> disk;        // if set, is called in place of the kernel; returns an errno, or 0 for success

  long observe(std::multiset<std::uint64_t>& seen, int fd, long call) {
    struct stat s {};
    if (::fstat(fd, &s) == 0) seen.insert(s.st_ino);
    if (meanwhile) meanwhile();
    const int error = disk ? disk() : fail_with;
    if (error == 0) return disk ? 0 : ::syscall(call, fd);
    errno = error;
    return -1;
  }
};
thread_local Flushes* observer = nullptr;

}  // namespace
}  // namespace rpcrdma::nfsd

extern "C" {
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
int fsync(int fd) {
  using namespace rpcrdma::nfsd;
  return static_cast<int>(observer == nullptr ? ::syscall(SYS_fsync, fd)
                                              : observer->observe(observer->whole, fd, SYS_fsync));
}
int fdatasync(int fd) {
  using namespace rpcrdma::nfsd;
  return static_cast<int>(observer == nullptr ? ::syscall(SYS_fdatasync, fd)
                                              : observer->observe(observer->data, fd, SYS_fdatasync));
}
int syncfs(int fd) noexcept {
  using namespace rpcrdma::nfsd;
  if (observer != nullptr) ++observer->everything;
  return static_cast<int>(::syscall(SYS_syncfs, fd));
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}

namespace rpcrdma::nfsd {
namespace {

class Durability : public FileSystemTest {
 protected:
  /// Serves a file system on which the server keeps directories open. Only for such a directory does the server report
  /// one failed flush to every change that was in progress in the directory.
  Durability() : FileSystemTest(keeping_directory()) {}
  void SetUp() override {
    FileSystemTest::SetUp();
    caller_.sync = true;
    observer = &flushes_;
  }
  void TearDown() override { observer = nullptr; }

  /// Makes one change; returns the flushes that it caused.
  template <class Change>
  const Flushes& flushed_by(Change change) {
    flushes_ = {};
    EXPECT_EQ(change(), Status::ok);
    return flushes_;
  }
  std::uint64_t number(const NodeKey& node) { return stat(node).fileid; }

  Flushes flushes_;
};

TEST_P(Durability, NewNamesSynchronizeTheirDirectory) {
  const Fd here(::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool in_order = commits_in_order(here.get());
  const std::multiset<std::uint64_t> root{number(root_)};
  // What a change must flush: the root, and also the object of this name unless the file system's journal commits the
  // two in order.
  const auto with = [&](std::string_view name) {
    std::multiset<std::uint64_t> both = root;
    if (!in_order) both.insert(number(fs_->lookup(caller_, root_, name).node));
    return both;
  };
  flushed_by([&] { return fs_->create(caller_, root_, "f", {}).status; });
  EXPECT_EQ(flushes_.whole, with("f"));
  flushed_by([&] { return fs_->make_directory(caller_, root_, "d", {}).status; });
  EXPECT_EQ(flushes_.whole, with("d"));
  const NodeKey file = fs_->lookup(caller_, root_, "f").node;
  flushed_by([&] { return fs_->link(caller_, file, root_, "g").status; });
  EXPECT_EQ(flushes_.whole, with("g"));
  EXPECT_EQ(flushes_.everything, 0u);
  flushed_by([&] { return fs_->make_symlink(caller_, root_, "l", "f", {}).status; });
  EXPECT_EQ(flushes_.whole, root);
  EXPECT_EQ(flushes_.everything, in_order ? 0u : 1u) << "a symbolic link has no fsync of its own";
  flushed_by([&] { return fs_->make_node(caller_, root_, "p", FileType::fifo, {}, {}).status; });
  EXPECT_EQ(flushes_.whole, root);
  EXPECT_EQ(flushes_.everything, in_order ? 0u : 1u);
}

TEST_P(Durability, RemovedNamesSynchronizeTheirDirectories) {
  const NodeKey directory = mkdir(root_, "d");
  create(root_, "f", "text");
  const std::uint64_t top = number(root_);
  const std::uint64_t below = number(directory);
  const auto moved = flushed_by([&] { return fs_->rename(caller_, root_, "f", directory, "g").status; });
  EXPECT_EQ(moved.whole, (std::multiset<std::uint64_t>{top, below}));
  const auto renamed = flushed_by([&] { return fs_->rename(caller_, directory, "g", directory, "h").status; });
  EXPECT_EQ(renamed.whole, (std::multiset<std::uint64_t>{below}));
  EXPECT_EQ(flushed_by([&] { return fs_->remove(caller_, directory, "h").status; }).whole,
            (std::multiset<std::uint64_t>{below}));
  EXPECT_EQ(flushed_by([&] { return fs_->remove_directory(caller_, root_, "d").status; }).whole,
            (std::multiset<std::uint64_t>{top}));
}

TEST_P(Durability, AnExclusiveCreateSynchronizesItsVerifier) {
  CreateHow how;
  how.mode = CreateMode::exclusive;
  how.verifier = {std::byte{1}, std::byte{2}};
  NodeKey file;
  const auto create = [&] {
    const NodeResult made = fs_->create(caller_, root_, "f", how);
    file = made.node;
    return made.status;
  };
  const auto first = flushed_by(create);
  EXPECT_EQ(first.whole, (std::multiset<std::uint64_t>{number(root_), number(file)}));
  // A client that got no reply sends the CREATE again. The first attempt may have ended by a crash before the name and
  // the verifier were on the disk. The second attempt finds the file, and must nevertheless flush both.
  EXPECT_EQ(flushed_by(create).whole, (std::multiset<std::uint64_t>{number(root_), number(file)}));
}

TEST_P(Durability, AttributesSynchronizeTheirFile) {
  const NodeKey file = create(root_, "f", "text");
  const NodeKey link = fs_->make_symlink(caller_, root_, "l", "f", {}).node;
  const std::multiset<std::uint64_t> itself{number(file)};
  SetAttributes changes;
  changes.mode = 0600;
  EXPECT_EQ(flushed_by([&] { return fs_->set_attributes(caller_, file, changes, {}).status; }).whole, itself);
  changes = {};
  changes.size = 1;
  EXPECT_EQ(flushed_by([&] { return fs_->set_attributes(caller_, file, changes, {}).status; }).whole, itself);
  changes = {};
  changes.mode = 0700;
  const std::multiset<std::uint64_t> root{number(root_)};
  caller_.uid = ::geteuid();
  EXPECT_EQ(flushed_by([&] { return fs_->set_attributes(caller_, root_, changes, {}).status; }).whole, root);
  changes = {};
  changes.mtime = {SetTime::How::client, {5, 5}};
  const auto& all = flushed_by([&] { return fs_->set_attributes(caller_, link, changes, {}).status; });
  // The server cannot open a symbolic link to call fsync(2). On a file system with an ordered journal, it makes an
  // unnamed file and calls fsync(2) for this file, which also writes the earlier changes in the journal. On any other
  // file system, it calls syncfs(2).
  const Fd top(::open(directory_.path().c_str(), O_RDONLY | O_CLOEXEC));
  const bool in_order = commits_in_order(top.get());
  EXPECT_EQ(all.everything, in_order ? 0u : 1u);
  EXPECT_EQ(all.whole.size(), in_order ? 1u : 0u) << "an unnamed file, whose inode number is unknown";
}

TEST_P(Durability, DataIsAsStableAsRequested) {
  const NodeKey file = create(root_, "f", "text");
  const std::multiset<std::uint64_t> itself{number(file)};
  const auto write_as = [&](Stable stable) {
    return [this, file, stable] {
      const WriteResult done = write(file, 0, "data", stable);
      EXPECT_EQ(done.committed, stable);
      return done.status;
    };
  };
  EXPECT_TRUE(flushed_by(write_as(Stable::unstable)).data.empty());
  EXPECT_TRUE(flushes_.whole.empty());
  EXPECT_EQ(flushed_by(write_as(Stable::data_sync)).data, itself);
  EXPECT_EQ(flushed_by(write_as(Stable::file_sync)).whole, itself);
  EXPECT_EQ(flushed_by([&] { return fs_->commit(caller_, file, 0, 0).status; }).whole, itself);
}

TEST_P(Durability, AnAsynchronousExportWaitsForNothing) {
  caller_.sync = false;
  const auto changes = [&] {
    const NodeKey file = create(root_, "f");
    mkdir(root_, "d");
    SetAttributes mode;
    mode.mode = 0600;
    EXPECT_EQ(fs_->set_attributes(caller_, file, mode, {}).status, Status::ok);
    EXPECT_EQ(fs_->rename(caller_, root_, "f", root_, "g").status, Status::ok);
    return fs_->remove(caller_, root_, "g").status;
  };
  const auto& flushed = flushed_by(changes);
  EXPECT_TRUE(flushed.whole.empty() && flushed.data.empty());
}

TEST_P(Durability, AFailedSynchronizationIsReported) {
  const NodeKey file = create(root_, "f", "text");
  flushes_ = {};
  flushes_.fail_with = EIO;
  EXPECT_EQ(fs_->create(caller_, root_, "g", {}).status, Status::io);
  EXPECT_EQ(fs_->rename(caller_, root_, "f", root_, "h").status, Status::io);
  SetAttributes mode;
  mode.mode = 0600;
  const Verifier before = fs_->write_verifier();
  EXPECT_EQ(fs_->set_attributes(caller_, file, mode, {}).status, Status::io);
  EXPECT_NE(fs_->write_verifier(), before) << "unstable data may be lost, too";
  std::string text = "x";
  const BufferRef buffer = ref(text);
  flushes_.fail_with = ENOSPC;
  const Verifier then = fs_->write_verifier();
  EXPECT_EQ(fs_->write(caller_, file, 0, {&buffer, 1}, Stable::file_sync).status, Status::nospc);
  EXPECT_NE(fs_->write_verifier(), then);
  flushes_.fail_with = EDQUOT;
  EXPECT_EQ(fs_->commit(caller_, file, 0, 0).status, Status::dquot);
  flushes_.fail_with = 0;
  EXPECT_EQ(fs_->commit(caller_, file, 0, 0).status, Status::ok);
}

/// One file is changed twice. The second change is made while the flush for the first change is in progress. This flush
/// fails. The kernel reports the failure only to this flush, but both changes must report it.
TEST_P(Durability, AFailureIsReportedToAllCallsThatItConcerns) {
  const NodeKey file = create(root_, "f");
  const std::filesystem::path path = directory_.path() / "f";
  struct Change {
    std::function<Status()> make;
    std::function<bool(const struct stat&)> is_seen;
  };
  const auto writing = [&](std::uint64_t offset, Stable stable) {
    return Change{[this, file, offset, stable] {
                    std::string text = "data";
                    const BufferRef buffer = ref(text);
                    return fs_->write(caller_, file, offset, {&buffer, 1}, stable).status;
                  },
                  [offset](const struct stat& now) { return static_cast<std::uint64_t>(now.st_size) == offset + 4; }};
  };
  SetAttributes mode;
  mode.mode = 0604;
  const Change setting{[&] { return fs_->set_attributes(caller_, file, mode, {}).status; },
                       [](const struct stat& now) { return (now.st_mode & 0777) == 0604; }};
  const std::vector<std::pair<Change, Change>> cases{
      {writing(0, Stable::file_sync), writing(100, Stable::file_sync)},
      {writing(200, Stable::data_sync), writing(300, Stable::data_sync)},
      {writing(400, Stable::file_sync), setting},
      {setting, writing(500, Stable::file_sync)},
  };
  for (const auto& both : cases) {
    const auto& first = both.first;
    const auto& second = both.second;
    std::promise<void> at_work;
    Flushes failing;
    failing.fail_with = EIO;
    failing.meanwhile = [&] {
      at_work.set_value();
      struct stat now {};
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
      while (::stat(path.c_str(), &now) == 0 && !second.is_seen(now) && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    };
    const Verifier before = fs_->write_verifier();
    std::thread one([&] {
      observer = &failing;
      EXPECT_EQ(first.make(), Status::io);
    });
    at_work.get_future().wait();
    EXPECT_EQ(second.make(), Status::io);
    one.join();
    EXPECT_NE(fs_->write_verifier(), before);
    EXPECT_EQ(first.make(), Status::ok) << "the change succeeds when it is made again";
    ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  }
}

/// Two threads make names in one directory. The second name is made while the flush for the first name is in progress.
/// This flush fails, and both changes must report the failure.
TEST_P(Durability, AFailureIsReportedToAllChangesOfADirectory) {
  ASSERT_EQ(fs_->attributes(root_).status, Status::ok);
  std::promise<void> at_work;
  Flushes failing;
  failing.fail_with = EIO;
  failing.meanwhile = [&] {
    at_work.set_value();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!std::filesystem::exists(directory_.path() / "b") && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
  };
  std::thread one([&] {
    observer = &failing;
    EXPECT_EQ(fs_->create(caller_, root_, "a", {}).status, Status::io);
  });
  at_work.get_future().wait();
  // Before the flush for "b" calls the kernel, it waits for the thread `one`, and thus for the end of the failed flush.
  flushes_.meanwhile = [&one] { one.joinable() ? one.join() : void(); };
  EXPECT_EQ(fs_->create(caller_, root_, "b", {}).status, Status::io);
  if (one.joinable()) one.join();
  EXPECT_EQ(fs_->create(caller_, root_, "c", {}).status, Status::ok) << "this change was made after the failure";
}

TEST_P(Durability, NoFileWaitsForAnother) {
  const NodeKey one = create(root_, "one");
  const NodeKey other = create(root_, "other");
  std::promise<void> at_work;
  std::promise<void> written;
  Flushes slow;
  slow.meanwhile = [&] {
    at_work.set_value();
    EXPECT_EQ(written.get_future().wait_for(std::chrono::minutes(5)), std::future_status::ready);
  };
  std::thread first([&] {
    observer = &slow;
    EXPECT_EQ(write(one, 0, "data", Stable::file_sync).status, Status::ok);
  });
  at_work.get_future().wait();
  EXPECT_EQ(write(other, 0, "data", Stable::file_sync).status, Status::ok);
  written.set_value();
  first.join();
}

/// The number of descriptors of this process that refer to `file`.
std::size_t times_open(const std::filesystem::path& file) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    count += target == file.string() || target == file.string() + " (deleted)" ? 1 : 0;
  }
  return count;
}

class FewDescriptors : public Durability {
 protected:
  void SetUp() override {
    Durability::SetUp();
    PosixOptions options;
    options.root = directory_.path();
    options.max_descriptors = 2;
    options.max_nodes = 0;  // no kept objects: each would hold a descriptor, which times_open() would count
    options.kernel_handles = GetParam() == Kind::posix_handles;
    auto made = make_posix_file_system(options, {});
    ASSERT_TRUE(made);
    fs_ = std::move(*made);
    root_ = fs_->root();
  }
  NodeKey written(const std::string& name, Stable stable = Stable::unstable) {
    std::ofstream(directory_.path() / name).flush();
    const NodeKey file = fs_->lookup(caller_, root_, name).node;
    EXPECT_EQ(write(file, 0, "data", stable).status, Status::ok);
    return file;
  }
  std::size_t times_open(const std::string& name) { return nfsd::times_open(directory_.path() / name); }
};

/// When too many files are open, the server closes some, but not a file with uncommitted data. If it closed that file,
/// it could miss an error that the kernel detects when it writes the data to the disk.
TEST_P(FewDescriptors, AreKeptForWhatHasNotBeenCommitted) {
  const NodeKey file = written("file");
  written("stable", Stable::file_sync);
  written("gone");
  for (const auto* name : {"one", "two"}) written(name, Stable::file_sync);
  EXPECT_EQ(times_open("file"), 1u);
  EXPECT_EQ(times_open("gone"), 1u);
  EXPECT_EQ(times_open("stable"), 0u);
  EXPECT_EQ(fs_->remove(caller_, root_, "gone").status, Status::ok);
  EXPECT_EQ(times_open("gone"), 0u) << "an open descriptor would keep its blocks";
  EXPECT_EQ(flushed_by([&] { return fs_->commit(caller_, file, 0, 0).status; }).whole.size(), 1u);
  for (const auto* name : {"three", "four"}) written(name, Stable::file_sync);
  EXPECT_EQ(times_open("file"), 0u);
}

TEST_P(FewDescriptors, AnAsynchronousExportKeepsNone) {
  caller_.sync = false;
  for (const auto* name : {"one", "two", "three"}) written(name);
  EXPECT_EQ(times_open("one"), 0u);
}

TEST_P(FewDescriptors, AreNotClosedBeforeTheDataIsOnTheDisk) {
  const Verifier before = fs_->write_verifier();
  const std::uint64_t first = number(written("first"));
  flushes_ = {};
  for (int i = 0; flushes_.whole.empty() && i < 20; ++i) written(std::to_string(i));
  EXPECT_EQ(flushes_.whole, std::multiset<std::uint64_t>{first})
      << "the file that was written longest ago is synchronized";
  EXPECT_EQ(fs_->write_verifier(), before);
  flushes_ = {};
  flushes_.fail_with = EIO;
  for (int i = 20; flushes_.whole.empty() && i < 40; ++i) written(std::to_string(i));
  EXPECT_EQ(flushes_.whole.size(), 1u);
  EXPECT_NE(fs_->write_verifier(), before) << "the client must learn that its data is lost";
}

INSTANTIATE_TEST_SUITE_P(Backends, FewDescriptors, ::testing::Values(Kind::posix_handles, Kind::posix_hints),
                         [](const auto& test) { return name_of(test.param); });

/// Simulates a disk. Every third call of sync() loses the data that is not flushed yet. If there is such data, the call
/// fails with EIO. No later call reports this loss.
class ForgetfulDisk {
 public:
  void write(int data) {
    const std::lock_guard lock(mutex_);
    dirty_.insert(data);
  }
  int sync() {
    std::set<int> moved;
    const std::lock_guard lock(mutex_);
    moved.swap(dirty_);
    if (++syncs_ % 3 == 0 && !moved.empty()) return EIO;
    kept_.merge(moved);
    return 0;
  }
  bool has(int data) {
    const std::lock_guard lock(mutex_);
    return kept_.contains(data);
  }

 private:
  std::mutex mutex_;
  std::set<int> dirty_;
  std::set<int> kept_;
  int syncs_ = 0;
};

TEST(WriteBacks, LostDataIsNotReportedAsStable) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 2000;
  const TemporaryDirectory directory;
  std::atomic<std::uint64_t> verifier{1};
  WriteBacks files(verifier, 8);
  ForgetfulDisk disk;
  std::atomic<int> kept{0};
  const auto work = [&](int number) {
    Flushes flushes;
    flushes.disk = [&disk] { return disk.sync(); };
    observer = &flushes;
    for (int data = number; data < kThreads * kTimes; data += kThreads) {
      const auto file = std::make_shared<OpenFile>();
      file->fd = Fd(::open(directory.path().c_str(), O_RDONLY | O_CLOEXEC));
      file->back = files.of({1, 1});
      const std::uint64_t verifier_of_write = verifier;
      std::uint64_t failures = file->back->failures();
      disk.write(data);
      const bool is_unstable = data % 3 == 0;
      if (is_unstable) {
        file->back->wrote(file);
        if (data % 2 == 0) files.tidy(WriteBacks::Clock::now() + std::chrono::seconds(60));
        // For an unstable WRITE, the sync() below is the COMMIT. A COMMIT reads failures() after the WRITE. The client
        // learns of an earlier failure because the verifier has changed.
        failures = file->back->failures();
      }
      const Status status = file->back->sync(file->fd.get(), Stable::file_sync, failures);
      if (status != Status::ok || (is_unstable && verifier != verifier_of_write)) continue;
      EXPECT_TRUE(disk.has(data));
      ++kept;
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(kept, 0);
  EXPECT_GT(verifier, 1u);
}

TEST(WriteBacks, SynchronizeUncommittedData) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "file";
  std::atomic<std::uint64_t> verifier{1};
  WriteBacks files(verifier, 8);
  const auto write_one = [&] {
    auto file = std::make_shared<OpenFile>();
    file->fd = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    file->back = files.of({1, 1});
    file->back->wrote(file);
  };
  Flushes flushes;
  observer = &flushes;
  const auto after = [](int seconds) { return WriteBacks::Clock::now() + std::chrono::seconds(seconds); };
  write_one();
  files.tidy(after(5));
  EXPECT_TRUE(flushes.whole.empty());
  EXPECT_EQ(times_open(path), 1u);
  files.tidy(after(40));
  EXPECT_EQ(flushes.whole.size(), 1u);
  EXPECT_EQ(times_open(path), 0u);
  EXPECT_EQ(verifier, 1u);
  files.tidy(after(40));
  EXPECT_EQ(files.size(), 0u);

  write_one();
  flushes.fail_with = EIO;
  files.tidy(after(40));
  EXPECT_NE(verifier, 1u);
  EXPECT_EQ(times_open(path), 0u);

  flushes = {};
  write_one();
  std::filesystem::remove(path);
  files.tidy(after(1));
  EXPECT_EQ(times_open(path), 1u);
  files.tidy(after(9));
  EXPECT_EQ(times_open(path), 0u) << "removed by a local program; an open descriptor would keep its blocks";
  EXPECT_TRUE(flushes.whole.empty());
  observer = nullptr;
}

TEST_P(Durability, AFileSystemWithoutFsyncForDirectoriesIsServed) {
  flushes_.fail_with = EINVAL;
  EXPECT_EQ(fs_->create(caller_, root_, "f", {}).status, Status::ok);
}

INSTANTIATE_TEST_SUITE_P(Backends, Durability, ::testing::Values(Kind::posix_handles, Kind::posix_hints),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
