// SPDX-License-Identifier: BSD-3-Clause
// An export that is a bind mount, as in a container: the kernel shows no path for an object that has been moved out of
// the mounted part of the file system.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "file_system_test.hpp"
#include "locate/kept_nodes.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {
namespace {

class BindMount : public FileSystemTest {
 protected:
  std::filesystem::path part() const { return directory_.path() / "part"; }
  std::filesystem::path outside() const { return directory_.path() / "outside"; }

  /// Makes a bind mount of part(), serves it, and calls `test`. Does this on a new thread that has a mount namespace of
  /// its own. The namespace ends with the thread. If mounting is not permitted, skips the test.
  template <class Test>
  void with_mount(Test test) {
    const TemporaryDirectory point;
    bool mounted = false;
    std::thread([&] {
      std::filesystem::create_directory(part());
      std::filesystem::create_directory(outside());
      std::filesystem::permissions(part(), std::filesystem::perms::all);
      mounted = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount(part().c_str(), point.path().c_str(), nullptr, MS_BIND, nullptr) == 0;
      if (!mounted) return;
      point_ = point.path();
      serve();
      test();
      fs_.reset();
      ::umount2(point.path().c_str(), MNT_DETACH);
    }).join();
    if (!mounted) GTEST_SKIP() << "mounting is not permitted here";
  }

  void serve() {
    fs_.reset();  // closes the hint file before the new file system opens it
    PosixOptions options;
    options.root = point_;
    options.hint_file = places();
    options.kernel_handles = GetParam() == Kind::posix_handles;
    auto made = make_posix_file_system(options, Log{});
    if (!made) throw std::runtime_error(made.error().message());
    fs_ = std::move(*made);
    root_ = fs_->root();
  }

  std::filesystem::path places() const { return state_.path() / "places"; }

  /// Mounts /proc below the mount point, and makes the mount point the root directory of this thread. Returns false if
  /// a step fails.
  bool enter() {
    const std::filesystem::path proc = point_ / "proc";
    std::filesystem::create_directory(proc);
    if (::mount("/proc", proc.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
    const bool entered = ::chroot(point_.c_str()) == 0 && ::chdir("/") == 0;
    point_ = "/";
    return entered;
  }

  Status read(const NodeKey& file) {
    std::string text = "x";
    const BufferRef buffer = ref(text);
    return fs_->read(caller_, file, 0, {&buffer, 1}).status;
  }

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
    std::this_thread::sleep_for(4 * KeptNodes::kTrust);
    EXPECT_EQ(read(file), Status::ok);
    EXPECT_EQ(fs_->attributes(second).status, Status::stale);
    serve();  // the old server would keep the files open for some seconds
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

// The mount is the root directory of the server, as in a container. The kernel then shows the path "/" for the exported
// directory, and also for an object that has been moved out of the mount. The server must not confuse the two.
TEST_P(BindMount, WhatIsMovedOutOfAServersRootIsStale) {
  with_mount([&] {
    const Fd inside_part(::open(part().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Fd outside_part(::open(outside().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    fs_.reset();
    ASSERT_TRUE(enter());
    serve();
    const NodeKey directory = mkdir(root_, "d");
    const NodeKey inner = mkdir(directory, "inner");
    const NodeKey file = create(inner, "f");
    const NodeKey second = create(root_, "g");
    EXPECT_EQ(fs_->lookup(caller_, directory, "..").node, root_);
    for (const char* name : {"d", "g"}) ASSERT_EQ(::renameat(inside_part.get(), name, outside_part.get(), name), 0);
    std::this_thread::sleep_for(4 * KeptNodes::kTrust);
    for (const NodeKey& node : {directory, inner, file, second}) EXPECT_EQ(fs_->attributes(node).status, Status::stale);
    EXPECT_EQ(lookup(inner, ".."), Status::stale);
    EXPECT_EQ(lookup(root_, "proc"), Status::acces) << "/proc is another mount";
  });
}

/// These tests run only for a server that uses file handles of the kernel. Such a server remembers the places of
/// objects only if its mount shows just a part of the file system. Other servers remember them in any case.
class KernelHandles : public BindMount {};

TEST_P(KernelHandles, PlacesAreRememberedForAPartOnly) {
  with_mount([&] {
    create(root_, "f");
    fs_.reset();
    EXPECT_TRUE(std::filesystem::exists(places()));
    std::filesystem::remove(places());
    ASSERT_EQ(::mount("none", point_.c_str(), "tmpfs", 0, nullptr), 0);
    std::filesystem::permissions(point_, std::filesystem::perms::all);
    serve();
    create(root_, "f");
    fs_.reset();
    EXPECT_FALSE(std::filesystem::exists(places()));
    ::umount2(point_.c_str(), MNT_DETACH);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, BindMount, ::testing::Values(Kind::posix_handles, Kind::posix_hints),
                         [](const auto& test) { return name_of(test.param); });
INSTANTIATE_TEST_SUITE_P(Backends, KernelHandles, ::testing::Values(Kind::posix_handles),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
