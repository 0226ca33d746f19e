// SPDX-License-Identifier: BSD-3-Clause
// An overlay without the option nfs_export provides no file handles. If its layers are on different file systems and
// xino is off, it assigns inode numbers to directories itself; for other objects it shows the inode numbers of the
// layers.
#include <fcntl.h>
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

/// An overlay with its layers on two tmpfs or on one, in a mount namespace of the calling thread. The namespace ends
/// with the thread.
class Overlay {
 public:
  static constexpr int kLowerDirectories = 200;

  enum class Layers { on_two_file_systems, on_one };
  explicit Overlay(Layers layers) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    if (::mount("none", folder_.path().c_str(), "tmpfs", 0, nullptr) != 0) return;
    for (const char* layer : {"lower", "upper"}) {
      filesystem::create_directory(folder_.path() / layer);
      if (layers == Layers::on_two_file_systems &&
          ::mount("none", (folder_.path() / layer).c_str(), "tmpfs", 0, nullptr) != 0)
        return;
    }
    for (const char* name : {"upper/changes", "upper/work", "overlay"})
      filesystem::create_directory(folder_.path() / name);
    for (int i = 0; i < kLowerDirectories; ++i) filesystem::create_directory(lower() / ("below-" + std::to_string(i)));
    filesystem::create_directories(lower() / "below-0/deep/deeper");
    for (const char* name : {"below-0/file", "below-0/deep/file", "below-0/deep/deeper/file", "below-1/old"})
      std::ofstream(lower() / name) << "text";
    const std::string options = "lowerdir=" + lower().string() +
                                ",upperdir=" + (folder_.path() / "upper/changes").string() +
                                ",workdir=" + (folder_.path() / "upper/work").string() + ",xino=off";
    mounted_ = ::mount("none", root().c_str(), "overlay", 0, options.c_str()) == 0;
    if (mounted_) filesystem::permissions(root(), filesystem::perms::all);
  }
  ~Overlay() { ::umount2(folder_.path().c_str(), MNT_DETACH); }
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
void on_overlay(Test test, Overlay::Layers layers = Overlay::Layers::on_two_file_systems) {
  bool mounted = false;
  std::thread([&] {
    const Overlay overlay(layers);
    mounted = overlay.mounted();
    if (mounted) test(overlay);
  }).join();
  if (!mounted) GTEST_SKIP() << "no overlay can be mounted here";
}

void restart(const Overlay& overlay, std::unique_ptr<FileSystem>& fs) {
  fs.reset();  // closes the hint file before the new file system opens it
  fs = overlay.serve();
}

Attributes seen(FileSystem& fs, const NodeKey& node) {
  const AttributesResult result = fs.attributes(node);
  EXPECT_EQ(result.status, Status::ok);
  return result.attributes.value_or(Attributes{});
}

/// A directory, and a file beside it with the same inode number.
struct Twins {
  NodeKey directory;
  NodeKey file;
};
Twins make_twins(const Overlay& overlay, FileSystem& fs) {
  // The overlay numbers the directories in the order in which they are looked up. After these look-ups, the number of
  // the next directory is so high that no file has it yet. One of the files that are created below then gets this
  // number from the layer.
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
    restart(overlay, fs);
    EXPECT_EQ(seen(*fs, twins.directory).type, FileType::directory) << "after a restart";
    EXPECT_EQ(seen(*fs, twins.file).type, FileType::regular) << "after a restart";
  });
}

TEST(OnAnOverlay, ARemovedFileLeavesADirectoryOfItsNumberValid) {
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

/// Empties the kernel's caches of unused objects of the overlay.
void forget_directories(const Overlay& overlay) {
  ASSERT_EQ(::mount(nullptr, overlay.root().c_str(), nullptr, MS_REMOUNT, nullptr), 0);
}

std::pair<std::int64_t, std::uint32_t> birth(const Overlay& overlay, const char* name) {
  struct statx s {};
  EXPECT_EQ(::statx(AT_FDCWD, (overlay.root() / name).c_str(), 0, STATX_BTIME, &s), 0);
  return {s.stx_btime.tv_sec, s.stx_btime.tv_nsec};
}

/// Returns the name of the file in the directory, or the status as text if the directory cannot be read.
std::string content(FileSystem& fs, const NodeKey& directory) {
  std::string name;
  const Status status = fs.read_directory({}, directory, {}, [&](const DirectoryEntry& entry) {
                            if (entry.name != "." && entry.name != "..") name = entry.name;
                            return true;
                          }).status;
  return status == Status::ok ? name : "status " + std::to_string(static_cast<int>(status));
}

// Two directories are made within one tick of the kernel's clock, so they have the same birth time. Then they get other
// inode numbers, the first is renamed, and the second takes its name. A key from before must lead to the directory for
// which it was made, or be stale. It must not lead to the other directory.
TEST(OnAnOverlay, ADirectoryWithAnotherNumberIsStaleOrItself) {
  on_overlay([](const Overlay& overlay) {
    const auto fs = overlay.serve();
    const std::vector<std::string> names{"a", "b"};
    std::vector<NodeKey> before;
    for (int tries = 0; tries == 0 || (tries < 2000 && birth(overlay, "a") != birth(overlay, "b")); ++tries) {
      for (const std::string& name : names) fs->remove_directory({}, fs->root(), name);
      for (const std::string& name : names) before.push_back(fs->make_directory({}, fs->root(), name, {}).node);
      before.erase(before.begin(), before.end() - 2);
    }
    for (const std::string& name : names) std::ofstream(overlay.root() / name / ("in-" + name)) << name;
    EXPECT_EQ(fs->create({}, fs->root(), "file", {}).status, Status::ok);
    forget_directories(overlay);
    std::vector<NodeKey> after;
    for (const std::string& name : names) after.push_back(fs->lookup({}, fs->root(), name).node);
    ASSERT_NE(after, before);
    EXPECT_EQ(fs->rename({}, fs->root(), "a", fs->root(), "c").status, Status::ok);
    EXPECT_EQ(fs->rename({}, fs->root(), "b", fs->root(), "a").status, Status::ok);
    const std::string stale = "status " + std::to_string(static_cast<int>(Status::stale));
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(content(*fs, after[i]), "in-" + names[i]);
      EXPECT_THAT(content(*fs, before[i]), ::testing::AnyOf("in-" + names[i], stale));
    }
  });
}

TEST(OnAnOverlay, ADirectoryIsFoundAnewHoweverOftenItGetsAnotherNumber) {
  on_overlay([](const Overlay& overlay) {
    const auto fs = overlay.serve();
    const NodeKey top = fs->make_directory({}, fs->root(), "top", {}).node;
    const NodeKey file = fs->create({}, top, "file", {}).node;
    for (int i = 0; i < 50; ++i) {
      forget_directories(overlay);
      const NodeKey newest = fs->lookup({}, fs->root(), "top").node;
      EXPECT_EQ(fs->lookup({}, newest, "file").node, file) << i;
      EXPECT_EQ(seen(*fs, file).type, FileType::regular) << i;
    }
  });
}

TEST(OnAnOverlay, ADirectoryIsFoundUnderTheNameThatItWasGivenLocally) {
  const auto test = [](const Overlay& overlay) {
    const auto fs = overlay.serve();
    const NodeKey directory = fs->make_directory({}, fs->root(), "d", {}).node;
    const NodeKey file = fs->create({}, directory, "file", {}).node;
    filesystem::rename(overlay.root() / "d", overlay.root() / "e");
    filesystem::create_symlink("e", overlay.root() / "d");
    EXPECT_EQ(seen(*fs, directory).type, FileType::directory);
    EXPECT_EQ(seen(*fs, file).type, FileType::regular);
  };
  on_overlay(test, Overlay::Layers::on_one);
}

TEST(OnAnOverlay, AListingTellsTheNumbersThatAttributesTell) {
  on_overlay([](const Overlay& overlay) {
    const auto fs = overlay.serve();
    const NodeKey directory = fs->make_directory({}, fs->root(), "d", {}).node;
    fs->make_directory({}, directory, "inside", {});
    fs->create({}, directory, "file", {});
    DirectoryRequest request;
    request.want_nodes = true;
    std::size_t entries = 0;
    const auto check = [&](const DirectoryEntry& entry) {
      EXPECT_EQ(entry.fileid, entry.attributes.value_or(Attributes{}).fileid) << entry.name;
      ++entries;
      return true;
    };
    EXPECT_EQ(fs->read_directory({}, directory, request, check).status, Status::ok);
    EXPECT_EQ(entries, 4u);
  });
}

Status write_text(FileSystem& fs, const NodeKey& file, std::string text) {
  const BufferRef buffer = ref(text);
  return fs.write({}, file, 0, {&buffer, 1}, Stable::file_sync).status;
}

class CopiedUp : public ::testing::TestWithParam<Overlay::Layers> {};

TEST_P(CopiedUp, DirectoriesKeepTheirHandles) {
  const auto test = [](const Overlay& overlay) {
    auto fs = overlay.serve();
    const NodeKey top = fs->lookup({}, fs->root(), "below-0").node;
    const NodeKey deep = fs->lookup({}, top, "deep").node;
    const NodeKey deeper = fs->lookup({}, deep, "deeper").node;
    ASSERT_FALSE(deeper.empty());
    EXPECT_EQ(fs->create({}, deeper, "one", {}).status, Status::ok);
    for (int i = 0; i < 2; ++i, restart(overlay, fs)) {
      for (const NodeKey& directory : {top, deep, deeper}) {
        EXPECT_EQ(seen(*fs, directory).type, FileType::directory) << i;
        EXPECT_EQ(fs->create({}, directory, "two-" + std::to_string(i), {}).status, Status::ok) << i;
      }
    }
    EXPECT_EQ(seen(*fs, fs->root()).type, FileType::directory);
  };
  on_overlay(test, GetParam());
}

TEST_P(CopiedUp, FilesKeepTheirHandles) {
  const auto test = [](const Overlay& overlay) {
    auto fs = overlay.serve();
    const NodeKey top = fs->lookup({}, fs->root(), "below-0").node;
    const NodeKey deep = fs->lookup({}, top, "deep").node;
    const NodeKey written = fs->lookup({}, top, "file").node;
    const NodeKey changed = fs->lookup({}, deep, "file").node;
    const NodeKey old = fs->lookup({}, fs->lookup({}, fs->root(), "below-1").node, "old").node;
    EXPECT_EQ(write_text(*fs, written, "TEXT"), Status::ok);
    SetAttributes attributes;
    attributes.mode = 0600;
    Caller owner;
    owner.uid = 0;
    EXPECT_EQ(fs->set_attributes(owner, changed, attributes, {}).status, Status::ok);
    const NodeKey source = fs->lookup({}, fs->root(), "below-1").node;
    EXPECT_EQ(fs->rename({}, source, "old", deep, "new").status, Status::ok);
    for (int i = 0; i < 2; ++i, restart(overlay, fs)) {
      for (const NodeKey& file : {written, changed, old}) EXPECT_EQ(seen(*fs, file).size, 4u) << i;
      EXPECT_EQ(write_text(*fs, written, "more"), Status::ok) << i;
    }
    // A new file with the same name is another object.
    EXPECT_EQ(fs->remove({}, top, "file").status, Status::ok);
    EXPECT_EQ(fs->create({}, top, "file", {}).status, Status::ok);
    EXPECT_EQ(fs->attributes(written).status, Status::stale);
  };
  on_overlay(test, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Layers, CopiedUp,
                         ::testing::Values(Overlay::Layers::on_two_file_systems, Overlay::Layers::on_one),
                         [](const auto& parameter) {
                           return parameter.param == Overlay::Layers::on_one ? "OnOne" : "OnTwo";
                         });

}  // namespace
}  // namespace rpcrdma::nfsd
