// SPDX-License-Identifier: BSD-3-Clause
// Remembered places, which replace file handles of the kernel: what survives a restart, what happens if the file that
// stores them is damaged or the disk is full, and how many places are kept.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "file_system_test.hpp"
#include "locate/place_store.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace filesystem = std::filesystem;

constexpr std::size_t kMost = 10'000;

PlaceStore::Entry entry_at(std::uint64_t parent, std::string name, bool directory = false) {
  return {directory, 7, 7, {{{parent, 0}, std::move(name)}}};
}

std::string content_of(const filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Places : public ::testing::Test {
 protected:
  filesystem::path file() const { return state_.path() / "places"; }
  filesystem::path aside() const { return state_.path() / "places.damaged"; }
  PlaceStore open() { return {file(), kMost, Log(lines_)}; }
  void fill(std::uint64_t count) {
    PlaceStore places = open();
    for (std::uint64_t i = 1; i <= count; ++i) places.put({i}, entry_at(1, "name-" + std::to_string(i)));
  }
  static std::uint64_t known(const PlaceStore& places, std::uint64_t count) {
    std::uint64_t found = 0;
    for (std::uint64_t i = 1; i <= count; ++i) found += places.find({i}) ? 1 : 0;
    return found;
  }
  void expect_set_aside() const {
    EXPECT_EQ(lines_->with("renaming it to").size(), 1u);
    EXPECT_TRUE(filesystem::exists(aside()));
  }

  TemporaryDirectory state_;
  std::shared_ptr<test::LogLines> lines_ = std::make_shared<test::LogLines>();
};

TEST_F(Places, SurviveARestart) {
  PlaceStore::Entry several = entry_at(1, "a");
  several.places.push_back({{2, 9}, std::string(255, 'b')});
  several.shown = 8;
  {
    PlaceStore places = open();
    places.put({5}, several);
    places.put({6, 3}, entry_at(5, "c", true));
    places.put({7}, entry_at(5, "d"));
    places.erase({7});
    places.erase({8});
  }
  const PlaceStore places = open();
  EXPECT_EQ(places.find({5}), several);
  EXPECT_EQ(places.find({6, 3}), entry_at(5, "c", true));
  EXPECT_FALSE(places.find({6}));
  EXPECT_FALSE(places.find({7}));
  EXPECT_TRUE(lines_->with("").empty());
}

TEST_F(Places, SurviveAKilledServer) {
  PlaceStore running = open();
  running.put({5}, entry_at(1, "a"));
  const filesystem::path copy = state_.path() / "copy";
  filesystem::copy_file(file(), copy);
  const PlaceStore places(copy, kMost, Log(lines_));
  EXPECT_EQ(places.find({5}), entry_at(1, "a"));
  EXPECT_TRUE(lines_->with("").empty());
}

// After a crash of the machine, any part of the unsynchronized data may be on the disk, so the file is not used.
TEST_F(Places, DoNotSurviveAMachineThatWentDown) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::string content;
  {
    PlaceStore running = open();
    running.put({5}, entry_at(1, "a"));
    content = content_of(file());
  }
  for (std::size_t at = 0; (at = content.find(boot, at)) != std::string::npos; ++at)
    content[at] = content[at] == 'x' ? 'y' : 'x';
  std::ofstream(file(), std::ios::binary) << content;
  PlaceStore places = open();
  EXPECT_FALSE(places.find({5}));
  EXPECT_EQ(lines_->with("machine stopped").size(), 1u);
  expect_set_aside();
  places.put({5}, entry_at(1, "a"));
  EXPECT_TRUE(places.find({5}));
}

TEST_F(Places, ADamagedFileIsSetAside) {
  std::ofstream(file(), std::ios::binary) << std::string(20'000, 'z');
  {
    PlaceStore places = open();
    expect_set_aside();
    places.put({5}, entry_at(1, "a"));
  }
  EXPECT_TRUE(open().find({5}));
  EXPECT_EQ(lines_->with("places").size(), 1u) << "the new file is valid";
}

TEST_F(Places, AFileThatWasCutIsSetAside) {
  fill(2'000);
  const auto size = filesystem::file_size(file());
  for (const auto part : {size / 2, size / 10}) {
    filesystem::resize_file(file(), part);
    PlaceStore places = open();
    EXPECT_EQ(known(places, 2'000), 0u);
    EXPECT_TRUE(filesystem::exists(aside()));
    filesystem::remove(aside());
    for (std::uint64_t i = 1; i <= 2'000; ++i) places.put({i}, entry_at(1, "name-" + std::to_string(i)));
    EXPECT_EQ(known(places, 2'000), 2'000u);
  }
}

TEST_F(Places, AFileInUseIsLeftAlone) {
  PlaceStore first = open();
  first.put({5}, entry_at(1, "a"));
  PlaceStore second = open();
  EXPECT_EQ(lines_->with("kept in memory").size(), 1u);
  second.put({6}, entry_at(1, "b"));
  EXPECT_TRUE(second.find({6}));
  EXPECT_FALSE(first.find({6}));
  EXPECT_TRUE(first.find({5}));
}

TEST_F(Places, AFileThatBecomesFreeIsTaken) {
  auto first = std::make_unique<PlaceStore>(file(), kMost, Log(lines_));
  first->put({5}, entry_at(1, "a"));
  {
    PlaceStore second = open();
    second.put({6}, entry_at(1, "b"));
    second.tidy();
    EXPECT_FALSE(second.find({5}));
    EXPECT_EQ(lines_->with("kept in memory").size(), 1u);
    first.reset();
    second.tidy();
    EXPECT_TRUE(second.find({5}) && second.find({6}));
    EXPECT_EQ(lines_->with("another server or a replaced export has released it").size(), 1u);
    second.put({7}, entry_at(1, "c"));
  }
  const PlaceStore third = open();
  EXPECT_TRUE(third.find({5}) && third.find({6}) && third.find({7}));
}

TEST_F(Places, AreKeptInMemoryWhenTheDiskIsFull) {
  bool mounted = false;
  std::thread([&] {
    mounted = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              ::mount("none", state_.path().c_str(), "tmpfs", 0, "size=128k") == 0;
    if (!mounted) return;
    constexpr std::uint64_t kCount = 3'000;
    fill(100);
    {
      PlaceStore places = open();
      for (std::uint64_t i = 101; i <= kCount; ++i) places.put({i}, entry_at(1, "name-" + std::to_string(i)));
      EXPECT_EQ(known(places, kCount), kCount);
    }
    EXPECT_EQ(lines_->with("kept in memory").size(), 1u) << "logged once";
    const std::uint64_t kept = known(open(), kCount);
    EXPECT_GE(kept, 100u) << "places written before are kept";
    EXPECT_LT(kept, kCount);
    ::umount2(state_.path().c_str(), MNT_DETACH);
  }).join();
  if (!mounted) GTEST_SKIP() << "mounting is not permitted here";
}

TEST_F(Places, AFullStoreKeepsDirectories) {
  constexpr std::uint64_t kDirectories = 5;
  PlaceStore places({}, 10);
  for (std::uint64_t i = 1; i <= kDirectories; ++i) places.put({i}, entry_at(1, "d", true));
  for (std::uint64_t i = 6; i <= 100; ++i) {
    places.put({i}, entry_at(1, "f"));
    places.put({i}, entry_at(1, "g"));
    EXPECT_TRUE(places.find({i}));
  }
  EXPECT_EQ(known(places, kDirectories), kDirectories);
  EXPECT_EQ(known(places, 100), 10u);
  for (std::uint64_t i = 101; i <= 120; ++i) places.put({i}, entry_at(1, "d", true));
  EXPECT_EQ(known(places, 120), 10u) << "directories are forgotten, too, if only they are left";
}

PosixOptions options_for(const TemporaryDirectory& tree) {
  PosixOptions options;
  options.root = tree.path();
  options.kernel_handles = false;
  return options;
}

TEST(RememberedPlaces, ALostFileMakesHandlesStaleUntilTheyAreLookedUp) {
  TemporaryDirectory tree;
  TemporaryDirectory state;
  PosixOptions options = options_for(tree);
  options.hint_file = state.path() / "places";
  auto fs = std::move(*make_posix_file_system(options, Log{}));
  const NodeKey directory = fs->make_directory({}, fs->root(), "d", {}).node;
  const NodeKey file = fs->create({}, directory, "f", {}).node;
  fs.reset();
  filesystem::remove(options.hint_file);
  fs = std::move(*make_posix_file_system(options, Log{}));
  EXPECT_EQ(fs->attributes(file).status, Status::stale);
  EXPECT_EQ(fs->lookup({}, fs->root(), "d").node, directory);
  EXPECT_EQ(fs->lookup({}, directory, "f").node, file);
  EXPECT_EQ(fs->attributes(file).status, Status::ok);
}

TEST(RememberedPlaces, AreBounded) {
  TemporaryDirectory tree;
  PosixOptions options = options_for(tree);
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

TEST(RememberedPlaces, PlacesThatFormForkedCyclesHaveAnEnd) {
  TemporaryDirectory tree;
  TemporaryDirectory state;
  PosixOptions options = options_for(tree);
  options.hint_file = state.path() / "places";
  constexpr std::uint64_t kMissing = std::uint64_t{1} << 62;
  {
    PlaceStore places(options.hint_file, 100);
    PlaceStore::Entry fork = entry_at(kMissing + 1, "a");
    fork.places.push_back({{kMissing + 2}, "b"});
    places.put({kMissing}, fork);
    for (const std::uint64_t id : {kMissing + 1, kMissing + 2}) places.put({id}, entry_at(kMissing, "d", true));
  }
  const auto fs = make_posix_file_system(options, Log{});
  ASSERT_TRUE(fs);
  std::array<std::byte, 17> key{};
  Writer writer(key);
  writer.u8(2);  // kPlaceKind: the object that the key names is found by its remembered places
  writer.u64(kMissing);
  EXPECT_EQ((*fs)->attributes(NodeKey(key)).status, Status::stale);
}

// An entry of the hint file may be damaged. The file system therefore compares the object that the entry leads to with
// the key.
TEST(RememberedPlaces, AnEntryThatNamesAnotherObjectLeadsNowhere) {
  TemporaryDirectory tree;
  TemporaryDirectory state;
  PosixOptions options = options_for(tree);
  options.hint_file = state.path() / "places";
  auto fs = std::move(*make_posix_file_system(options, Log{}));
  const NodeKey one = fs->create({}, fs->root(), "one", {}).node;
  fs->create({}, fs->root(), "two", {});
  const std::uint64_t number = fs->attributes(one).attributes->fileid;
  const std::uint64_t root = fs->attributes(fs->root()).attributes->fileid;
  fs.reset();
  filesystem::rename(tree.path() / "one", state.path() / "one");
  PlaceStore(options.hint_file, 100).put({number}, entry_at(root, "two"));
  fs = std::move(*make_posix_file_system(options, Log{}));
  EXPECT_EQ(fs->attributes(one).status, Status::stale);
}

}  // namespace
}  // namespace rpcrdma::nfsd
