// SPDX-License-Identifier: BSD-3-Clause
// Parts of the back end for directories, each by itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "acting.hpp"
#include "descriptor_cache.hpp"
#include "file_system_test.hpp"
#include "hint_store.hpp"
#include "late_close.hpp"
#include "protocol/transport/log_lines.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {
namespace {

NodeKey key_of(int number) {
  const auto octet = static_cast<std::byte>(number);
  return NodeKey({&octet, 1});
}

Identity user(std::uint32_t uid, std::uint32_t group = 7) {
  Identity made;
  made.uid = made.gid = uid;
  made.groups.push_back(group);
  return made;
}

std::shared_ptr<const OpenFile> opened(bool readable, bool writable) {
  auto file = std::make_shared<OpenFile>();
  file->fd = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  file->readable = readable;
  file->writable = writable;
  return file;
}

TEST(Descriptors, BelongToOneUser) {
  DescriptorCache cache(8);
  const auto file = opened(true, false);
  cache.put(key_of(1), user(5), file);
  EXPECT_EQ(cache.find(key_of(1), user(5), Use::read), file);
  EXPECT_EQ(cache.find(key_of(1), user(5), Use::write), nullptr);
  EXPECT_EQ(cache.find(key_of(1), user(6), Use::read), nullptr);
  EXPECT_EQ(cache.find(key_of(1), user(5, 8), Use::read), nullptr) << "another group, other rights";
  EXPECT_EQ(cache.find(key_of(2), user(5), Use::read), nullptr);
}

TEST(Descriptors, TheMoreUsefulOneTakesTheOthersPlace) {
  DescriptorCache cache(8);
  cache.put(key_of(1), user(5), opened(true, false));
  cache.put(key_of(1), user(6), opened(true, false));
  const auto both = opened(true, true);
  cache.put(key_of(1), user(5), both);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.find(key_of(1), user(5), Use::read), both);
  cache.put(key_of(2), user(5), opened(true, false));
  cache.put(key_of(2), user(5), opened(false, true));
  EXPECT_EQ(cache.size(), 4u) << "one to read and one to write";
  cache.drop(key_of(1));
  EXPECT_EQ(cache.size(), 2u) << "of all users";
}

TEST(Descriptors, AreBoundedAndTheLeastUsedGoesFirst) {
  DescriptorCache cache(3);
  for (int number = 0; number < 3; ++number) cache.put(key_of(number), user(5), opened(true, false));
  EXPECT_NE(cache.find(key_of(0), user(5), Use::read), nullptr);
  cache.put(key_of(3), user(5), opened(true, false));
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.find(key_of(1), user(5), Use::read), nullptr);
  EXPECT_NE(cache.find(key_of(0), user(5), Use::read), nullptr);
}

TEST(Descriptors, AreNotClosedWhereNothingMayBlock) {
  LateClose late_close;
  DescriptorCache cache(8);
  const auto put = [&] {
    auto file = late_close.make();
    file->fd = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    file->readable = true;
    cache.put(key_of(1), user(5), file);
    return file->fd.get();
  };
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  const int one = put();
  cache.drop(key_of(1));
  EXPECT_FALSE(is_open(one));
  const int other = put();
  {
    const LateClose::Hold hold;
    const auto file = cache.find(key_of(1), user(5), Use::read);
    ASSERT_NE(file, nullptr);
    std::thread([&] { cache.drop(key_of(1)); }).join();
  }
  EXPECT_TRUE(is_open(other)) << "let go of last by the thread that must not close it";
  late_close.close_all();
  EXPECT_FALSE(is_open(other));
}

TEST(Descriptors, GoWhenIdleAndWhenOld) {
  DescriptorCache cache(8);
  cache.put(key_of(1), user(5), opened(true, false));
  const auto then = DescriptorCache::Clock::now();
  cache.put(key_of(2), user(5), opened(true, false));
  EXPECT_NE(cache.find(key_of(1), user(5), Use::read), nullptr);
  constexpr DescriptorCache::Clock::time_point kNever{};
  cache.drop_idle(then, kNever);
  EXPECT_EQ(cache.size(), 2u);
  cache.drop_idle(kNever, then);
  EXPECT_EQ(cache.size(), 1u) << "used lately, but opened long ago";
  cache.drop_idle(DescriptorCache::Clock::now(), kNever);
  EXPECT_EQ(cache.size(), 0u);
}

/// Whether the calling thread has the right that quotas do not bind it, and whether it could have it.
struct QuotaRight {
  bool effective = false;
  bool permitted = false;
};
QuotaRight quota_right() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = {};
  EXPECT_EQ(::syscall(SYS_capget, &header, now), 0);
  const auto& word = now[CAP_TO_INDEX(CAP_SYS_RESOURCE)];
  constexpr std::uint32_t kRight = CAP_TO_MASK(CAP_SYS_RESOURCE);
  return {(word.effective & kRight) != 0, (word.permitted & kRight) != 0};
}

TEST(Hints, AFileThatCannotBeWrittenIsTriedAgainEverMoreRarely) {
  const TemporaryDirectory state;
  const std::filesystem::path in_the_way = state.path() / "hints.new";
  std::filesystem::create_directory(in_the_way);
  const auto lines = std::make_shared<test::LogLines>();
  const auto tidy = [](HintStore& hints, int times) {
    for (int i = 0; i < times; ++i) hints.tidy();
  };
  {
    HintStore hints(state.path() / "hints", 100, Log(lines));
    EXPECT_EQ(lines->with("Until it can be written").size(), 1u);
    hints.set({5}, {{1}, "before"}, false);
    tidy(hints, 1);
    tidy(hints, 2);
    EXPECT_EQ(lines->with("hints").size(), 1u) << "said once";
    std::filesystem::remove(in_the_way);
    tidy(hints, 3);
    EXPECT_FALSE(std::filesystem::exists(state.path() / "hints"));
    tidy(hints, 1);
    EXPECT_EQ(lines->with("written again").size(), 1u);
    hints.set({6}, {{1}, "after"}, false);
    tidy(hints, 1000);
    EXPECT_EQ(lines->with("hints").size(), 2u);
  }
  std::filesystem::create_directory(in_the_way);
  {
    HintStore hints(state.path() / "hints", 100, Log(lines));
    hints.set({7}, {{1}, "late"}, false);
    std::filesystem::remove(in_the_way);
  }
  const HintStore hints(state.path() / "hints", 100);
  for (const ObjectId id : {ObjectId{5, 0}, ObjectId{6, 0}, ObjectId{7, 0}}) EXPECT_NE(hints.find(id), nullptr);
}

TEST(Hints, ManyPlacesOfEachObjectAreNotWrittenAnewWithEachChange) {
  const TemporaryDirectory state;
  const std::filesystem::path file = state.path() / "hints";
  HintStore hints(file, 10'000);
  constexpr std::uint64_t kObjects = 2'000;
  for (std::uint64_t id = 1; id <= kObjects; ++id)
    for (std::size_t i = 0; i < HintStore::kMaxPlaces; ++i) hints.add({id}, {{1}, std::to_string(i)}, 8);
  ino_t last = 0;
  int written_anew = 0;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    hints.set({kObjects + id}, {{1}, "new"}, false);
    struct stat s {};
    ASSERT_EQ(::stat(file.c_str(), &s), 0);
    written_anew += std::exchange(last, s.st_ino) == s.st_ino ? 0 : 1;
  }
  EXPECT_LE(written_anew, 2);
}

TEST(Hints, PlacesThatLeadInForkedCirclesHaveAnEnd) {
  const TemporaryDirectory state;
  PosixOptions options;
  options.root = state.path();
  options.hint_file = state.path() / "hints";
  options.kernel_handles = false;
  constexpr std::uint64_t kNobody = std::uint64_t{1} << 62;
  {
    HintStore hints(options.hint_file, 100);
    hints.set({kNobody}, {{kNobody + 1}, "a"}, false);
    hints.add({kNobody}, {{kNobody + 2}, "b"}, 2);
    for (const std::uint64_t id : {kNobody + 1, kNobody + 2}) hints.set({id}, {{kNobody}, "directory"}, true);
  }
  const auto fs = make_posix_file_system(options, Log{});
  ASSERT_TRUE(fs);
  std::array<std::byte, 17> key{};
  Writer writer(key);
  writer.u8(2);  // by places
  writer.u64(kNobody);
  EXPECT_EQ((*fs)->attributes(NodeKey(key)).status, Status::stale);
}

TEST(Hints, APlaceThatComesAgainIsKnownOnceAfterARestart) {
  const TemporaryDirectory state;
  const HintStore::Place again{{1}, "a"};
  {
    HintStore hints(state.path() / "hints", 100);
    hints.set({7}, again, false);
    for (const char* name : {"b", "c", "a"}) hints.add({7}, {{1}, name}, 2);
  }
  HintStore hints(state.path() / "hints", 100);
  hints.drop({7}, again);
  const HintStore::Hint* hint = hints.find({7});
  ASSERT_NE(hint, nullptr);
  EXPECT_NE(hint->place, again);
  EXPECT_EQ(std::count(hint->others.begin(), hint->others.end(), again), 0);
}

TEST(Acting, QuotasBindUsersButNotRoot) {
  if (!can_act_as_others()) GTEST_SKIP() << "needs root";
  std::thread([] {
    const Identity root = user(0);
    const Identity other = user(1234);
    for (const Identity* who : {&other, &root, &other, &other, &root, &root}) {
      const ActingAs acting(who);
      ASSERT_TRUE(acting);
      EXPECT_EQ(quota_right().effective, who == &root && quota_right().permitted);
    }
  }).join();
}

TEST(Errors, EachHasItsStatus) {
  const std::pair<int, Status> expected[] = {
      {0, Status::ok},
      {EPERM, Status::perm},
      {ENOENT, Status::noent},
      {EIO, Status::io},
      {ENXIO, Status::nxio},
      {EACCES, Status::acces},
      {EEXIST, Status::exist},
      {EXDEV, Status::xdev},
      {ENODEV, Status::nodev},
      {ENOTDIR, Status::notdir},
      {EISDIR, Status::isdir},
      {EINVAL, Status::inval},
      {EFBIG, Status::fbig},
      {EOVERFLOW, Status::fbig},
      {ENOSPC, Status::nospc},
      {EROFS, Status::rofs},
      {EMLINK, Status::mlink},
      {ENAMETOOLONG, Status::nametoolong},
      {EDQUOT, Status::dquot},
      {ENOTEMPTY, Status::notempty},
      {ESTALE, Status::stale},
      {EREMOTE, Status::remote},
      {EOPNOTSUPP, Status::notsupp},
      {ENOMEM, Status::jukebox},
      {EAGAIN, Status::jukebox},
      {EMFILE, Status::jukebox},
      {ETIMEDOUT, Status::jukebox},
      {EBUSY, Status::acces},
      {ETXTBSY, Status::acces},
      {EUSERS, Status::dquot},
      {EBADF, Status::serverfault},
  };
  for (const auto& [error, status] : expected) EXPECT_EQ(status_of(error), status) << error;
  EXPECT_EQ(status_of(99999), Status::io) << "what nobody has heard of";
}

}  // namespace
}  // namespace rpcrdma::nfsd
