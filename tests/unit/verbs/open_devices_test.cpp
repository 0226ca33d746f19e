// SPDX-License-Identifier: BSD-3-Clause
// Two descriptors of /dev/zero stand for the descriptors with which librdmacm keeps a device open.
#include "device/open_devices.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rpcrdma::fabric::verbs {
namespace {

dev_t file_of(int descriptor) {
  struct stat found {};
  EXPECT_EQ(::fstat(descriptor, &found), 0);
  return found.st_rdev;
}

class OpenDevicesTest : public testing::Test {
 protected:
  OpenDevicesTest() {
    context_.cmd_fd = ::open("/dev/zero", O_RDWR);
    context_.async_fd = ::open("/dev/zero", O_RDWR);
    device_ = file_of(context_.cmd_fd);
  }
  ~OpenDevicesTest() override {
    ::close(context_.cmd_fd);
    ::close(context_.async_fd);
  }
  bool is_open() const { return file_of(context_.cmd_fd) == device_ && file_of(context_.async_fd) == device_; }
  bool is_closed() const { return file_of(context_.cmd_fd) != device_ && file_of(context_.async_fd) != device_; }

  ibv_context context_{};
  dev_t device_ = 0;
  OpenDevices devices_;
};

TEST_F(OpenDevicesTest, TheLastUserClosesARemovedDevice) {
  auto one = devices_.of(context_);
  auto other = devices_.of(context_);
  EXPECT_EQ(one, other);
  one->note_removed();
  one.reset();
  EXPECT_TRUE(is_open());
  other.reset();
  EXPECT_TRUE(is_closed());
}

TEST_F(OpenDevicesTest, ADeviceThatWasNotRemovedStaysOpen) {
  devices_.of(context_).reset();
  EXPECT_TRUE(is_open());
  // The next user gets a new OpenDevice: that of the earlier user no longer exists.
  EXPECT_NE(devices_.of(context_), nullptr);
}

TEST_F(OpenDevicesTest, AFailureIsPostedToAllUsers) {
  const auto device = devices_.of(context_);
  int one = 0, other = 0;
  const auto first = device->enter([&one] { ++one; });
  const auto second = device->enter([&other] { ++other; });
  device->note_failed();
  EXPECT_EQ(one, 1);
  EXPECT_EQ(other, 1);
  device->leave(first);
  device->note_failed();
  EXPECT_EQ(one, 1);
  EXPECT_EQ(other, 2);
  device->leave(second);
}

TEST_F(OpenDevicesTest, DevicesAreKeptApart) {
  ibv_context another{};
  another.cmd_fd = another.async_fd = -1;
  EXPECT_NE(devices_.of(context_), devices_.of(another));
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
