// SPDX-License-Identifier: BSD-3-Clause
// Calls answered without blocking, from objects that are kept open: the answers are current, and give a caller nothing
// that a blocking call would refuse.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "file_system_test.hpp"
#include "keeping_directory.hpp"
#include "locate/kept_nodes.hpp"
#include "locate/locator.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace filesystem = std::filesystem;

class Kept : public FileSystemTest {
 protected:
  Kept() : FileSystemTest(keeping_directory()) {}
  void SetUp() override {
    FileSystemTest::SetUp();
    ASSERT_TRUE(keeps_objects(directory_.path()));
    directory_key_ = mkdir(root_, "d");
    file_ = create(directory_key_, "f", "text");
    fs_ = make();
    EXPECT_FALSE(fs_->attributes_at_once(file_)) << "the file has not been used yet";
  }
  filesystem::path path() const { return directory_.path() / "d" / "f"; }
  /// True if the file system finds objects by the kernel's file handles. Otherwise it finds them by remembered places
  /// (directory and name), and the search for a place may block.
  bool by_handle() const {
    const Fd fd(::open(directory_.path().c_str(), O_PATH | O_CLOEXEC));
    return GetParam() == Kind::posix_handles && make_handle_locator(fd.get(), {}, 1, Log{}) != nullptr;
  }
  bool is_known(const NodeKey& node) { return fs_->attributes_at_once(node).has_value(); }
  bool is_found(const NodeKey& directory, std::string_view name) {
    const auto found = fs_->lookup_at_once(caller_, directory, name);
    return found && found->status == Status::ok;
  }
  /// Repeats `call` until `known` holds. Rights are remembered only when the last change of the object is old enough.
  template <class Call, class Known>
  static void until_known(Call call, Known known) {
    for (call(); !known(); call()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void look_up(std::string_view name) {
    until_known([&] { ASSERT_EQ(lookup(directory_key_, name), Status::ok); },
                [&] { return is_found(directory_key_, name) || HasFatalFailure(); });
  }
  void ask_access(const Caller& who, const NodeKey& node) {
    until_known([&] { ASSERT_EQ(fs_->access(who, node, 63).status, Status::ok); },
                [&] { return fs_->access_at_once(who, node, 63).has_value() || HasFatalFailure(); });
  }

  /// As rename(2) of a local program; returns when the server looks again where the object is.
  static void move(const filesystem::path& from, const filesystem::path& to) {
    filesystem::rename(from, to);
    std::this_thread::sleep_for(4 * KeptNodes::kTrust);
  }

  NodeKey directory_key_;
  NodeKey file_;
};

TEST_P(Kept, AttributesAreThoseOfNow) {
  const Attributes before = stat(file_);
  const auto known = fs_->attributes_at_once(file_);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->status, Status::ok);
  EXPECT_EQ(known->attributes->fileid, before.fileid);
  EXPECT_EQ(known->attributes->size, 4u);
  std::ofstream(path()) << "changed by a local program";
  filesystem::permissions(path(), filesystem::perms::owner_read);
  ASSERT_TRUE(is_known(file_));
  EXPECT_EQ(fs_->attributes_at_once(file_)->attributes->size, 26u);
  EXPECT_EQ(fs_->attributes_at_once(file_)->attributes->mode, 0400u);
}

TEST_P(Kept, AnObjectThatHasMovedIsLookedUpAgain) {
  stat(file_);
  move(path(), directory_.path() / "g");
  EXPECT_FALSE(is_known(file_));
  EXPECT_EQ(fs_->attributes(file_).status, by_handle() ? Status::ok : Status::stale);
  move(directory_.path() / "g", path());
  stat(file_);
  EXPECT_TRUE(is_known(file_));
  move(directory_.path() / "d", directory_.path() / "e");
  EXPECT_FALSE(is_known(file_)) << "its directory has been renamed";
  stat(file_);
  EXPECT_TRUE(is_known(file_));
  move(directory_.path() / "e", state_.path() / "outside");
  EXPECT_FALSE(is_known(file_));
  EXPECT_FALSE(is_known(directory_key_));
  EXPECT_EQ(fs_->attributes(file_).status, Status::stale);
  filesystem::create_directory(directory_.path() / "e");
  move(state_.path() / "outside" / "f", directory_.path() / "e" / "f");
  EXPECT_FALSE(is_known(directory_key_)) << "another directory has taken its name";
}

// The server itself does not give a name to another object, or remove one of two, without checking both again.
TEST_P(Kept, AnObjectThatTheServerMovesIsCheckedAgain) {
  ASSERT_EQ(fs_->link(caller_, file_, directory_key_, "g").status, Status::ok);
  look_up("g");
  stat(file_);
  ASSERT_EQ(fs_->remove(caller_, directory_key_, "g").status, Status::ok);
  EXPECT_FALSE(is_found(directory_key_, "g"));
  look_up("f");
  ASSERT_EQ(fs_->rename(caller_, directory_key_, "f", directory_key_, "h").status, Status::ok);
  EXPECT_FALSE(is_known(file_)) << "its path has changed";
  EXPECT_FALSE(is_found(directory_key_, "f"));
  stat(file_);
  EXPECT_TRUE(is_known(file_));
}

TEST_P(Kept, ARemovedObjectIsStale) {
  stat(file_);
  stat(directory_key_);
  filesystem::remove(path());
  EXPECT_FALSE(is_known(file_));
  EXPECT_EQ(fs_->attributes(file_).status, Status::stale);
  filesystem::remove(directory_.path() / "d");
  EXPECT_FALSE(is_known(directory_key_));
  EXPECT_EQ(fs_->attributes(directory_key_).status, Status::stale);
}

TEST_P(Kept, AnObjectWhoseNumberIsUsedAgainIsAnother) {
  for (int i = 0; i < 20; ++i) {
    const NodeKey file = create(root_, "again", "text");
    stat(file);
    EXPECT_EQ(lookup(root_, "again"), Status::ok);
    if (i % 2 == 0)
      filesystem::remove(directory_.path() / "again");
    else
      ASSERT_EQ(fs_->remove(caller_, root_, "again").status, Status::ok);
    EXPECT_FALSE(is_known(file));
    EXPECT_FALSE(is_found(root_, "again"));
  }
}

TEST_P(Kept, NamesAreThoseOfNow) {
  EXPECT_FALSE(is_found(directory_key_, "f"));
  look_up("f");
  const auto found = fs_->lookup_at_once(caller_, directory_key_, "f");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, file_);
  EXPECT_EQ(found->attributes->size, 4u);
  EXPECT_EQ(found->directory.after->type, FileType::directory);
  for (const std::string_view name : {"", ".", "..", "g", "f/", "f/..", "../d"})
    EXPECT_FALSE(is_found(directory_key_, name));
  filesystem::rename(path(), directory_.path() / "d" / "g");
  EXPECT_FALSE(is_found(directory_key_, "f"));
  std::ofstream(path()) << "another file";
  EXPECT_FALSE(is_found(directory_key_, "f"));
  look_up("f");
  EXPECT_NE(fs_->lookup_at_once(caller_, directory_key_, "f")->node, file_);
  EXPECT_FALSE(is_found(file_, "f")) << "not a directory";
  filesystem::rename(directory_.path() / "d", directory_.path() / "e");
  EXPECT_FALSE(is_found(directory_key_, "f"));
}

TEST_P(Kept, ANameThatHasBeenGivenToAnotherObjectLeadsToThatOne) {
  look_up("f");
  std::ofstream(directory_.path() / "d" / "g") << "another file";
  filesystem::rename(directory_.path() / "d" / "g", path());
  ask_access(caller_, directory_key_);
  const auto found = fs_->lookup_at_once(caller_, directory_key_, "f");
  EXPECT_EQ(found.has_value(), by_handle());
  if (!found) return;
  EXPECT_EQ(found->attributes->size, 12u);
  EXPECT_NE(found->node, file_);
  EXPECT_EQ(found->node, fs_->lookup(caller_, directory_key_, "f").node);
}

TEST(KnownName, IsKnownUntilTheDirectoryChanges) {
  NodeStat directory;
  directory.attributes.fileid = 5;
  directory.attributes.ctime = {1000, 1};
  const KnownName unknown;
  EXPECT_FALSE(unknown.holds(directory, 70));
  KnownName name;
  name.note(directory, {1000, 2'000'000}, 70);
  EXPECT_FALSE(name.holds(directory, 70)) << "the next change may be at the same time";
  name.note(directory, {1001, 0}, 70);
  EXPECT_TRUE(name.holds(directory, 70));
  EXPECT_FALSE(name.holds(directory, 90)) << "the path has been checked again";
  NodeStat other = directory;
  other.attributes.ctime = {1000, 2};
  EXPECT_FALSE(name.holds(other, 70));
  other = directory;
  other.attributes.fileid = 6;
  EXPECT_FALSE(name.holds(other, 70)) << "another directory";
}

TEST_P(Kept, ANameUnderAMountIsHidden) {
  bool mounted = false;
  std::thread([&] {
    mkdir(directory_key_, "point");
    mounted = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!mounted) return;
    fs_ = make();
    look_up("point");
    const filesystem::path point = directory_.path() / "d" / "point";
    // Mounts the directory over itself.
    mounted = ::mount(point.c_str(), point.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!mounted) return;
    std::this_thread::sleep_for(4 * KeptNodes::kTrust);
    EXPECT_FALSE(is_found(directory_key_, "point"));
    EXPECT_EQ(lookup(directory_key_, "point"), Status::acces);
    ::umount2(point.c_str(), MNT_DETACH);
    look_up("point");
    fs_.reset();
  }).join();
  if (!mounted) GTEST_SKIP() << "mounting is not permitted here";
}

TEST_P(Kept, RightsAreThoseOfTheCallerAndOfNow) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Caller other;
  other.uid = 2222;
  other.gid = 3333;
  Caller member = other;
  member.groups = {caller_.gid};
  filesystem::permissions(path(), filesystem::perms(0640));
  for (const Caller& who : {caller_, other, member}) {
    EXPECT_FALSE(fs_->access_at_once(who, file_, 63));
    ask_access(who, file_);
  }
  const auto granted = [&](const Caller& who) { return fs_->access_at_once(who, file_, 63)->granted; };
  EXPECT_EQ(granted(caller_), access::kRead | access::kModify | access::kExtend);
  EXPECT_EQ(granted(member), access::kRead);
  EXPECT_EQ(granted(other), 0u);
  EXPECT_EQ(fs_->access_at_once(caller_, file_, access::kRead)->granted, access::kRead);
  filesystem::permissions(path(), filesystem::perms(0604));
  for (const Caller& who : {caller_, other, member}) EXPECT_FALSE(fs_->access_at_once(who, file_, 63));
  EXPECT_EQ(fs_->access(member, file_, 63).granted, 0u);
  ask_access(other, file_);
  EXPECT_EQ(granted(other), access::kRead);
}

TEST_P(Kept, TheRightToSearchADirectoryIsThatOfTheCaller) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  Caller other;
  other.uid = 2222;
  other.gid = 3333;
  SetAttributes changes;
  changes.mode = 0700;
  ASSERT_EQ(fs_->set_attributes(caller_, directory_key_, changes, {}).status, Status::ok);
  look_up("f");
  EXPECT_FALSE(fs_->lookup_at_once(other, directory_key_, "f"));
  EXPECT_EQ(fs_->lookup(other, directory_key_, "f").status, Status::acces);
  EXPECT_FALSE(fs_->lookup_at_once(other, directory_key_, "f"));
  ask_access(other, directory_key_);
  EXPECT_FALSE(fs_->lookup_at_once(other, directory_key_, "f")) << "this caller is known to have no right";
  filesystem::permissions(directory_.path() / "d", filesystem::perms(0070));
  EXPECT_FALSE(is_found(directory_key_, "f")) << "the right was withdrawn";
}

TEST_P(Kept, ANameThatOnlyTheKernelHasInMemory) {
  const NodeKey other = create(directory_key_, "other");
  look_up("f");
  EXPECT_FALSE(is_known(other));
  ASSERT_TRUE(filesystem::exists(directory_.path() / "d" / "other"));
  ASSERT_FALSE(filesystem::exists(directory_.path() / "d" / "missing"));
  EXPECT_EQ(is_found(directory_key_, "other"), by_handle());
  const auto missing = fs_->lookup_at_once(caller_, directory_key_, "missing");
  if (!by_handle()) {
    EXPECT_FALSE(missing);
    return;
  }
  EXPECT_EQ(fs_->lookup_at_once(caller_, directory_key_, "other")->node, other);
  EXPECT_TRUE(is_known(other)) << "the lookup has kept the object open";
  if (missing) {  // empty on tmpfs, for which the kernel does not cache missing names
    EXPECT_EQ(missing->status, Status::noent);
    EXPECT_TRUE(missing->directory.after);
  }
  std::ofstream(directory_.path() / "d" / "missing") << "no longer";
  EXPECT_FALSE(is_found(directory_key_, "missing"))
      << "the directory has changed, so the caller's right must be checked again";
  look_up("missing");
  EXPECT_EQ(fs_->lookup_at_once(caller_, directory_key_, "missing")->attributes->size, 9u);
}

TEST_P(Kept, ARecentChangeMayBeFollowedByAnotherOneAtTheSameTime) {
  Attributes object;
  object.ctime = {1000, 5};
  KnownRights rights;
  rights.note(caller_, object, {1000, 40'000'000}, 7, 6);
  EXPECT_FALSE(rights.find(caller_, object, 7));
  rights.note(caller_, object, {1000, 60'000'000}, 1, 1);
  EXPECT_FALSE(rights.find(caller_, object, 7));
  EXPECT_EQ(rights.find(caller_, object, 1), 1u);
  rights.note(caller_, object, {1000, 60'000'000}, 7, 5);
  rights.note(caller_, object, {1000, 70'000'000}, 1, 1);
  EXPECT_EQ(rights.find(caller_, object, 7), 5u) << "what was known before is kept";
  object.ctime = {1001, 0};
  EXPECT_FALSE(rights.find(caller_, object, 1));
  rights.note(caller_, object, {1002, 900'000'000}, 7, 4);
  EXPECT_FALSE(rights.find(caller_, object, 7)) << "the file system may store whole seconds";
  rights.note(caller_, object, {1003, 1}, 7, 4);
  EXPECT_EQ(rights.find(caller_, object, 7), 4u);
}

// The server keeps one object open that has two names. lookup_at_once() must not keep it a second time when it looks up
// the other name, because each such call would leave a further descriptor open.
TEST_P(Kept, ManyNamesOfOneObjectTakeOneDescriptor) {
  const auto open_now = [] {
    return std::distance(filesystem::directory_iterator("/proc/self/fd"), filesystem::directory_iterator());
  };
  filesystem::create_hard_link(directory_.path() / "d" / "f", directory_.path() / "d" / "g");
  look_up("f");
  const auto before = open_now();
  for (int i = 0; i < 100; ++i) {
    fs_->lookup_at_once(caller_, directory_key_, "f");
    fs_->lookup_at_once(caller_, directory_key_, "g");
  }
  EXPECT_LE(open_now(), before + 2);
}

TEST_P(Kept, ObjectsAreBoundedAndClosed) {
  const Fd root(::open(directory_.path().c_str(), O_PATH | O_CLOEXEC));
  KeptNodes kept(root.get(), *stat_fd(root.get()), 3);
  const auto key_of = [](int number) {
    const auto byte = static_cast<std::byte>(number);
    return NodeKey({&byte, 1});
  };
  std::vector<KeptNodePtr> used;
  std::vector<int> descriptors;
  for (int i = 0; i < 5; ++i) {
    const std::string name = directory_.path() / ("k" + std::to_string(i));
    std::ofstream(name) << i;
    Fd fd(::open(name.c_str(), O_PATH | O_CLOEXEC));
    descriptors.push_back(fd.get());
    const auto stat = *stat_fd(fd.get());
    ASSERT_NE(kept.keep(key_of(i), stat, fd), nullptr);
    if (i == 0) used.push_back(kept.find(key_of(0)));
  }
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.find(key_of(1)), nullptr);
  EXPECT_FALSE(is_open(descriptors[1]));
  EXPECT_EQ(kept.find(key_of(0)), nullptr);
  EXPECT_TRUE(is_open(descriptors[0])) << "in use";
  used.clear();
  EXPECT_TRUE(is_open(descriptors[0])) << "the thread that used it last must not close it";
  constexpr KeptNodes::Clock::time_point kNever{};
  kept.drop_idle(kNever, kNever);
  EXPECT_FALSE(is_open(descriptors[0]));
  kept.drop(key_of(2));
  EXPECT_FALSE(is_open(descriptors[2]));
  const auto then = KeptNodes::Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // KeptNodes reads a coarse clock
  EXPECT_NE(kept.find(key_of(3)), nullptr);
  kept.drop_idle(then, kNever);
  EXPECT_EQ(kept.size(), 1u);
  kept.drop_idle(kNever, KeptNodes::Clock::now());
  EXPECT_EQ(kept.size(), 0u) << "used recently, but kept for long";
}

/// One thread queries a file without blocking, as an event loop does. An answer must not be older than a change that
/// had completed before the query. Meanwhile other threads change and look up this file, create and remove other files,
/// and close idle ones.
TEST_P(Kept, AnswersAreNeverOlderThanACompletedChange) {
  look_up("f");
  ask_access(caller_, file_);
  std::atomic<std::uint64_t> size{4};
  std::atomic<std::uint64_t> answers{0};
  std::atomic<bool> ends{false};
  std::thread loop([&] {
    while (!ends) {
      const std::uint64_t least = size.load();
      const auto known = fs_->attributes_at_once(file_);
      const auto found = fs_->lookup_at_once(caller_, directory_key_, "f");
      const auto granted = fs_->access_at_once(caller_, file_, 63);
      if (known) {
        EXPECT_GE(known->attributes->size, least);
      }
      if (found) {
        EXPECT_EQ(found->node, file_);
        EXPECT_GE(found->attributes->size, least);
      }
      if (granted) {
        EXPECT_GE(granted->attributes->size, least);
      }
      answers += known && found ? 1u : 0u;
    }
  });
  std::thread others([&] {
    for (int i = 0; !ends; ++i) {
      const std::string name = "n" + std::to_string(i % 3);
      const NodeKey node = create(root_, name);
      EXPECT_EQ(lookup(root_, name), Status::ok);
      EXPECT_EQ(fs_->attributes(node).status, Status::ok);
      EXPECT_EQ(fs_->rename(caller_, root_, name, root_, "m").status, Status::ok);
      EXPECT_EQ(fs_->remove(caller_, root_, "m").status, Status::ok);
      EXPECT_EQ(fs_->attributes(node).status, Status::stale);
      EXPECT_EQ(lookup(directory_key_, "f"), Status::ok);
      EXPECT_EQ(fs_->access(caller_, file_, 63).status, Status::ok);
      fs_->tidy();
    }
  });
  // Local programs make every second change, and clients make the other changes.
  for (std::uint64_t at = 4; at < 200 || answers < 100; ++at) {
    if (at % 2 == 0) {
      EXPECT_EQ(write(file_, at, "x").status, Status::ok);
    } else {
      std::ofstream(path(), std::ios::app) << 'x';
    }
    size = at + 1;
  }
  ends = true;
  loop.join();
  others.join();
}

INSTANTIATE_TEST_SUITE_P(Backends, Kept, ::testing::Values(Kind::posix_handles, Kind::posix_hints),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
