// SPDX-License-Identifier: BSD-3-Clause
// An overlay whose layers lie on different file systems gives no file handles, numbers its directories by itself, and
// shows other objects with the numbers of their layers.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "file_system_test.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace filesystem = std::filesystem;

/// An overlay of two file systems in memory, in a mount namespace of the thread that made it: gone when that ends.
class Overlay {
 public:
  static constexpr int kLowerDirectories = 200;

  Overlay() {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    for (const char* layer : {"lower", "upper"}) {
      filesystem::create_directory(folder_.path() / layer);
      if (::mount("none", (folder_.path() / layer).c_str(), "tmpfs", 0, nullptr) != 0) return;
    }
    for (const char* name : {"upper/changes", "upper/work", "overlay"})
      filesystem::create_directory(folder_.path() / name);
    for (int i = 0; i < kLowerDirectories; ++i) filesystem::create_directory(lower() / ("below-" + std::to_string(i)));
    std::ofstream(lower() / "below-0/file") << "text";
    const std::string options = "lowerdir=" + lower().string() +
                                ",upperdir=" + (folder_.path() / "upper/changes").string() +
                                ",workdir=" + (folder_.path() / "upper/work").string() + ",xino=off";
    mounted_ = ::mount("none", root().c_str(), "overlay", 0, options.c_str()) == 0;
    if (mounted_) filesystem::permissions(root(), filesystem::perms::all);
  }
  ~Overlay() {
    ::umount2(root().c_str(), MNT_DETACH);
    for (const char* layer : {"lower", "upper"}) ::umount2((folder_.path() / layer).c_str(), MNT_DETACH);
  }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  bool mounted() const noexcept { return mounted_; }
  filesystem::path root() const { return folder_.path() / "overlay"; }
  filesystem::path lower() const { return folder_.path() / "lower"; }

  std::unique_ptr<FileSystem> serve() const {
    PosixOptions options;
    options.root = root();
    options.hint_file = state_.path() / "hints";
    auto made = make_posix_file_system(options, Log{});
    if (!made) throw std::runtime_error(made.error().message());
    return std::move(*made);
  }

 private:
  TemporaryDirectory folder_;
  TemporaryDirectory state_;
  bool mounted_ = false;
};

/// Runs the test in a thread with an overlay of its own.
template <class Test>
void on_overlay(Test test) {
  bool mounted = false;
  std::thread([&] {
    const Overlay overlay;
    mounted = overlay.mounted();
    if (mounted) test(overlay);
  }).join();
  if (!mounted) GTEST_SKIP() << "no overlay can be mounted here";
}

Attributes seen(FileSystem& fs, const NodeKey& node) {
  const AttributesResult result = fs.attributes(node);
  EXPECT_EQ(result.status, Status::ok);
  return result.attributes.value_or(Attributes{});
}

/// A directory, and a file of the same number beside it.
struct Twins {
  NodeKey directory;
  NodeKey file;
};
Twins make_twins(const Overlay& overlay, FileSystem& fs) {
  // Each directory that is looked at takes the next number.
  struct stat s {};
  for (int i = 0; i < Overlay::kLowerDirectories; ++i)
    EXPECT_EQ(::stat((overlay.root() / ("below-" + std::to_string(i))).c_str(), &s), 0);
  Twins twins;
  twins.directory = fs.make_directory({}, fs.root(), "directory", {}).node;
  const std::uint64_t number = seen(fs, twins.directory).fileid;
  for (int i = 0; i < 1000 && twins.file.empty(); ++i) {
    const NodeResult made = fs.create({}, fs.root(), "file-" + std::to_string(i), {});
    EXPECT_EQ(made.status, Status::ok);
    if (made.status == Status::ok && made.attributes->fileid == number) twins.file = made.node;
  }
  EXPECT_FALSE(twins.file.empty()) << "no file has the number " << number;
  return twins;
}

TEST(OnAnOverlay, ADirectoryAndAFileOfOneNumberAreTwo) {
  on_overlay([](const Overlay& overlay) {
    auto fs = overlay.serve();
    const Twins twins = make_twins(overlay, *fs);
    EXPECT_EQ(fs->create({}, twins.directory, "inside", {}).status, Status::ok);
    EXPECT_EQ(seen(*fs, twins.directory).type, FileType::directory);
    EXPECT_EQ(seen(*fs, twins.file).type, FileType::regular);
    fs = overlay.serve();
    EXPECT_EQ(seen(*fs, twins.directory).type, FileType::directory) << "after a restart";
    EXPECT_EQ(seen(*fs, twins.file).type, FileType::regular) << "after a restart";
  });
}

TEST(OnAnOverlay, AFileThatGoesTakesNoDirectoryAlong) {
  on_overlay([](const Overlay& overlay) {
    const auto fs = overlay.serve();
    const Twins twins = make_twins(overlay, *fs);
    const NodeKey inside = fs->create({}, twins.directory, "inside", {}).node;
    std::string name;
    for (const auto& entry : filesystem::directory_iterator(overlay.root()))
      if (entry.is_regular_file() && fs->lookup({}, fs->root(), entry.path().filename().string()).node == twins.file)
        name = entry.path().filename().string();
    ASSERT_EQ(fs->remove({}, fs->root(), name).status, Status::ok) << name;
    EXPECT_EQ(fs->attributes(twins.file).status, Status::stale);
    EXPECT_EQ(seen(*fs, twins.directory).type, FileType::directory);
    EXPECT_EQ(seen(*fs, inside).type, FileType::regular);
  });
}

}  // namespace
}  // namespace rpcrdma::nfsd
