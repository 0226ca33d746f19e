// SPDX-License-Identifier: BSD-3-Clause
// How a process releases a lost device: pipes stand for the descriptors that the kernel waits for.
#include "device/shared_context.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace rpcrdma::fabric::verbs {
namespace {

/// A context with two descriptors, whose other ends tell whether they are open.
class OpenedDevice {
 public:
  OpenedDevice() {
    EXPECT_EQ(::pipe2(command_.data(), O_NONBLOCK), 0);
    EXPECT_EQ(::pipe2(async_.data(), O_NONBLOCK), 0);
    context.cmd_fd = command_[1];
    context.async_fd = async_[1];
  }
  ~OpenedDevice() {
    for (const int descriptor : {command_[0], command_[1], async_[0], async_[1]}) ::close(descriptor);
  }
  bool held() const { return !ended(command_[0]) || !ended(async_[0]); }
  /// The descriptor numbers still belong to the context, which closes them later.
  bool numbers_taken() const { return taken(context.cmd_fd) && taken(context.async_fd); }

  ibv_context context{};

 private:
  static bool ended(int descriptor) {
    char octet = 0;
    return ::read(descriptor, &octet, 1) == 0;
  }
  static bool taken(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

  std::array<int, 2> command_{};
  std::array<int, 2> async_{};
};

TEST(SharedContext, TheLastUserReleasesALostDevice) {
  OpenedDevice device;
  auto first = SharedContext::of(&device.context);
  auto second = SharedContext::of(&device.context);
  EXPECT_EQ(first, second);
  first->note_lost(&first, SharedContext::Loss::removal);
  EXPECT_TRUE(second->lost());
  first.reset();
  EXPECT_TRUE(device.held());
  second.reset();
  EXPECT_FALSE(device.held());
  EXPECT_TRUE(device.numbers_taken());
}

TEST(SharedContext, APresentDeviceStaysOpen) {
  OpenedDevice device;
  SharedContext::of(&device.context).reset();
  EXPECT_TRUE(device.held());
}

// After a recovery the same opened device is used.
TEST(SharedContext, AFaultyDeviceStaysOpenUntilItIsRemoved) {
  OpenedDevice device;
  SharedContext::of(&device.context)->note_lost(nullptr, SharedContext::Loss::fault);
  EXPECT_TRUE(device.held());
  auto use = SharedContext::of(&device.context);
  use->note_lost(nullptr, SharedContext::Loss::fault);
  use->note_lost(nullptr, SharedContext::Loss::removal);
  use.reset();
  EXPECT_FALSE(device.held());
}

TEST(SharedContext, TheFirstUserThatNoticesNotifiesTheOthersOnce) {
  OpenedDevice device;
  const auto use = SharedContext::of(&device.context);
  std::array<int, 3> told{};
  for (int& count : told) use->enter(&count, [&count] { ++count; });
  use->leave(&told[2]);
  use->note_lost(&told[0], SharedContext::Loss::removal);
  use->note_lost(&told[1], SharedContext::Loss::removal);
  EXPECT_EQ(told, (std::array<int, 3>{0, 1, 0}));
}

// The process may have other objects on the device.
TEST(SharedContext, OnlyAddedObjectsAreNotified) {
  struct Handler final : CompletionHandler {
    void on_completions() noexcept override {}
    void on_device_trouble() noexcept override { ++troubles; }
    int troubles = 0;
  } handler;
  OpenedDevice device;
  const auto use = SharedContext::of(&device.context);
  ibv_qp ours{};
  ibv_qp foreign{};
  foreign.qp_context = &foreign;
  use->add(&ours, handler);
  EXPECT_TRUE(use->report_trouble(&ours));
  EXPECT_FALSE(use->report_trouble(&foreign));
  EXPECT_EQ(handler.troubles, 1);
  use->remove(&ours);
  EXPECT_FALSE(use->report_trouble(&ours));
  EXPECT_EQ(handler.troubles, 1);
}

// The context of a device that came back may have the memory address of the old one.
TEST(SharedContext, AReturnedDeviceIsAnotherOne) {
  OpenedDevice device;
  SharedContext::of(&device.context)->note_lost(nullptr, SharedContext::Loss::removal);
  const auto again = SharedContext::of(&device.context);
  EXPECT_FALSE(again->lost());
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
