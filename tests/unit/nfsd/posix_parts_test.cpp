// SPDX-License-Identifier: BSD-3-Clause
// Parts of the file system of directory exports: the cache of descriptors, acting as a user, the status of each error.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "acting.hpp"
#include "file_system_test.hpp"
#include "open_files/descriptor_cache.hpp"
#include "open_files/late_close.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {
namespace {

NodeKey key_of(int number) {
  const auto byte = static_cast<std::byte>(number);
  return NodeKey({&byte, 1});
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
  EXPECT_EQ(cache.find(key_of(1), user(5, 8), Use::read), nullptr)
      << "a caller with another group may have other rights";
  EXPECT_EQ(cache.find(key_of(2), user(5), Use::read), nullptr);
}

TEST(Descriptors, ADescriptorReplacesThoseWhoseUsesItCovers) {
  DescriptorCache cache(8);
  cache.put(key_of(1), user(5), opened(true, false));
  cache.put(key_of(1), user(6), opened(true, false));
  const auto both = opened(true, true);
  cache.put(key_of(1), user(5), both);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.find(key_of(1), user(5), Use::read), both);
  cache.put(key_of(2), user(5), opened(true, false));
  cache.put(key_of(2), user(5), opened(false, true));
  EXPECT_EQ(cache.size(), 4u) << "one for reading and one for writing";
  cache.drop(key_of(1));
  EXPECT_EQ(cache.size(), 2u) << "the descriptors of all users are dropped";
}

TEST(Descriptors, AreBoundedAndTheLeastRecentlyUsedIsEvicted) {
  DescriptorCache cache(3);
  for (int number = 0; number < 3; ++number) cache.put(key_of(number), user(5), opened(true, false));
  EXPECT_NE(cache.find(key_of(0), user(5), Use::read), nullptr);
  cache.put(key_of(3), user(5), opened(true, false));
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.find(key_of(1), user(5), Use::read), nullptr);
  EXPECT_NE(cache.find(key_of(0), user(5), Use::read), nullptr);
}

TEST(Descriptors, AreNotClosedOnAThreadThatMustNotBlock) {
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
  EXPECT_TRUE(is_open(other)) << "the thread that released it last must not close it";
  late_close.close_all();
  EXPECT_FALSE(is_open(other));
}

TEST(Descriptors, AreClosedWhenIdleAndWhenOld) {
  DescriptorCache cache(8);
  cache.put(key_of(1), user(5), opened(true, false));
  const auto then = DescriptorCache::Clock::now();
  cache.put(key_of(2), user(5), opened(true, false));
  EXPECT_NE(cache.find(key_of(1), user(5), Use::read), nullptr);
  constexpr DescriptorCache::Clock::time_point kNever{};
  cache.drop_idle(then, kNever);
  EXPECT_EQ(cache.size(), 2u);
  cache.drop_idle(kNever, then);
  EXPECT_EQ(cache.size(), 1u) << "used recently, but opened long ago";
  cache.drop_idle(DescriptorCache::Clock::now(), kNever);
  EXPECT_EQ(cache.size(), 0u);
}

/// Whether the calling thread overrides quotas at present, and whether it may.
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

std::uint32_t uid_of_thread() {
  constexpr auto kInvalid = static_cast<uid_t>(-1);  // with it, setfsuid() only returns the current uid
  return static_cast<std::uint32_t>(::setfsuid(kInvalid));
}

/// Whether this thread has CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER and CAP_FSETID, the first five.
bool has_rights_over_files() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capget, &header, now) == 0 && (now[0].effective & 0x1f) == 0x1f;
}

// A thread that may keep an identity changes directly to that of the next caller. It takes the server's identity back
// only where the server's rights are needed.
TEST(Acting, AThreadKeepsTheIdentityOfItsLastUser) {
  if (!can_act_as_others()) GTEST_SKIP() << "needs root";
  const Identity one = user(1234);
  const Identity other = user(1235);
  const Identity root = user(0);
  std::thread([&] {
    ASSERT_TRUE(act_as(&one));
    EXPECT_EQ(uid_of_thread(), 1234u);
    act_as_server_in_time();
    EXPECT_EQ(uid_of_thread(), 0u) << "this thread may not keep an identity";
    keep_identities();
    ASSERT_TRUE(act_as(&one));
    act_as_server_in_time();
    EXPECT_EQ(uid_of_thread(), 1234u);
    ASSERT_TRUE(act_as(&other));
    EXPECT_EQ(uid_of_thread(), 1235u);
    ASSERT_TRUE(act_as(nullptr));
    EXPECT_EQ(uid_of_thread(), 1235u) << "calls of the server itself keep the identity that they find";
    ASSERT_TRUE(act_as(&root));
    EXPECT_EQ(uid_of_thread(), 0u);
    ASSERT_TRUE(act_as(&one));
    act_as_server();
    EXPECT_EQ(uid_of_thread(), 0u);
    { const ActingAs acting(&other); }
    EXPECT_EQ(uid_of_thread(), 0u);
  }).join();
}

TEST(Acting, AThreadMayBeBoundToTheServersIdentity) {
  if (!can_act_as_others()) GTEST_SKIP() << "needs root";
  const Identity one = user(1234);
  Identity server = user(0);
  server.gid = ::getegid();
  Identity elsewhere = server;
  elsewhere.gid += 1;
  EXPECT_EQ(is_server(server), has_rights_over_files());
  EXPECT_FALSE(is_server(one));
  EXPECT_FALSE(is_server(elsewhere));
  std::thread([&] {
    keep_servers_identity();
    EXPECT_FALSE(act_as(&one));
    EXPECT_FALSE(act_as(&elsewhere));
    EXPECT_EQ(uid_of_thread(), 0u);
    EXPECT_EQ(act_as(&server), is_server(server));
    EXPECT_TRUE(act_as(nullptr));
  }).join();
}

// The sandbox drops CAP_MKNOD.
TEST(Acting, TheServersIdentityNeedsNoRightToMakeDevices) {
  if (!can_act_as_others()) GTEST_SKIP() << "needs root";
  Identity server = user(0);
  server.gid = ::getegid();
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = {};
    ASSERT_EQ(::syscall(SYS_capget, &header, now), 0);
    now[CAP_TO_INDEX(CAP_MKNOD)].effective &= ~CAP_TO_MASK(CAP_MKNOD);
    ASSERT_EQ(::syscall(SYS_capset, &header, now), 0);
    ASSERT_TRUE(can_act_as_others());
    EXPECT_EQ(is_server(server), has_rights_over_files());
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
  EXPECT_EQ(status_of(99999), Status::io) << "an unknown error";
}

}  // namespace
}  // namespace rpcrdma::nfsd
