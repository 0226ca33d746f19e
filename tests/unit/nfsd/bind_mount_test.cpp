// SPDX-License-Identifier: BSD-3-Clause
// An export that is a bind mount, as in a container: the kernel shows no path of what has been moved out of the part of
// the file system that the mount shows.
#include <sched.h>
#include <sys/mount.h>

#include <fstream>
#include <thread>

#include "file_system_test.hpp"

namespace rpcrdma::nfsd {
namespace {

class BindMount : public FileSystemTest {
 protected:
  std::filesystem::path part() const { return directory_.path() / "part"; }
  std::filesystem::path outside() const { return directory_.path() / "outside"; }

  /// Runs the test in a thread that has the mount in a namespace of its own: gone when that ends.
  template <class Test>
  void with_mount(Test test) {
    bool mounted = false;
    std::thread([&] {
      std::filesystem::create_directory(part());
      std::filesystem::create_directory(outside());
      std::filesystem::permissions(part(), std::filesystem::perms::all);
      const TemporaryDirectory point;
      mounted = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount(part().c_str(), point.path().c_str(), nullptr, MS_BIND, nullptr) == 0;
      if (!mounted) return;
      point_ = point.path();
      serve();
      test();
      fs_.reset();
      ::umount2(point.path().c_str(), MNT_DETACH);
    }).join();
    if (!mounted) GTEST_SKIP() << "nothing can be mounted here";
  }

  void serve() {
    PosixOptions options;
    options.root = point_;
    options.hint_file = state_.path() / "places";
    options.kernel_handles = GetParam() == Kind::posix_handles;
    auto made = make_posix_file_system(options, Log{});
    if (!made) throw std::runtime_error(made.error().message());
    fs_ = std::move(*made);
    root_ = fs_->root();
  }

  Status read(const NodeKey& file) {
    std::string text = "x";
    const BufferRef buffer = ref(text);
    return fs_->read(caller_, file, 0, {&buffer, 1}).status;
  }

 private:
  std::filesystem::path point_;
};

TEST_P(BindMount, WhatIsMovedOutIsStale) {
  with_mount([&] {
    const NodeKey directory = mkdir(root_, "d");
    const NodeKey file = create(directory, "f", "text");
    const NodeKey second = create(root_, "g", "text");
    const NodeKey link = fs_->make_symlink(caller_, root_, "l", "target", {}).node;
    std::filesystem::rename(part() / "g", outside() / "g");
    std::filesystem::rename(part() / "l", outside() / "l");
    EXPECT_EQ(read(file), Status::ok);
    EXPECT_EQ(fs_->attributes(second).status, Status::stale);
    serve();  // what is open stays so for a while
    EXPECT_EQ(read(second), Status::stale);
    std::string text = "changed";
    const BufferRef buffer = ref(text);
    EXPECT_EQ(fs_->write(caller_, second, 0, {&buffer, 1}, Stable::unstable).status, Status::stale);
    EXPECT_EQ(fs_->link(caller_, second, root_, "back").status, Status::stale);
    EXPECT_EQ(fs_->read_link(link).status, Status::stale);
    std::filesystem::rename(part() / "d", outside() / "d");
    serve();
    EXPECT_EQ(fs_->attributes(directory).status, Status::stale);
    EXPECT_EQ(lookup(directory, ".."), Status::stale);
    EXPECT_EQ(read(file), Status::stale);
    std::filesystem::rename(outside() / "d", part() / "d");
    EXPECT_EQ(read(file), Status::ok);
  });
}

TEST_P(BindMount, WhatIsMovedInsideStays) {
  with_mount([&] {
    const NodeKey directory = mkdir(root_, "d");
    const NodeKey file = create(root_, "f", "text");
    ASSERT_EQ(fs_->rename(caller_, root_, "f", directory, "g").status, Status::ok);
    EXPECT_EQ(read(file), Status::ok);
    std::filesystem::rename(part() / "d" / "g", part() / "d" / "h");
    std::filesystem::rename(part() / "d", part() / "e");
    serve();
    EXPECT_EQ(read(file), Status::ok);
    EXPECT_EQ(fs_->attributes(directory).status, Status::ok);
    EXPECT_EQ(fs_->lookup(caller_, directory, "..").node, root_);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, BindMount, ::testing::Values(Kind::posix_handles, Kind::posix_hints),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
