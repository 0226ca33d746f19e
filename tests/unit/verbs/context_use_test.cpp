// SPDX-License-Identifier: BSD-3-Clause
// How a process lets go of a lost device: pipes stand for the descriptors that the kernel waits for.
#include "context_use.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace rpcrdma::fabric::verbs {
namespace {

/// A context with two descriptors open, of which it is seen from outside whether they still are.
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
  /// The numbers are still the context's, who will close them one day.
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

TEST(ContextUse, TheLastUserOfALostDeviceLetsGo) {
  OpenedDevice device;
  auto first = ContextUse::of(&device.context);
  auto second = ContextUse::of(&device.context);
  EXPECT_EQ(first, second);
  first->note_lost(&first, ContextUse::Loss::removal);
  EXPECT_TRUE(second->lost());
  first.reset();
  EXPECT_TRUE(device.held());
  second.reset();
  EXPECT_FALSE(device.held());
  EXPECT_TRUE(device.numbers_taken());
}

TEST(ContextUse, ADeviceThatIsThereStaysOpen) {
  OpenedDevice device;
  ContextUse::of(&device.context).reset();
  EXPECT_TRUE(device.held());
}

// It is the same opened device that is repaired.
TEST(ContextUse, AFaultyDeviceStaysOpenUntilItIsRemoved) {
  OpenedDevice device;
  ContextUse::of(&device.context)->note_lost(nullptr, ContextUse::Loss::fault);
  EXPECT_TRUE(device.held());
  auto use = ContextUse::of(&device.context);
  use->note_lost(nullptr, ContextUse::Loss::fault);
  use->note_lost(nullptr, ContextUse::Loss::removal);
  use.reset();
  EXPECT_FALSE(device.held());
}

TEST(ContextUse, TheFirstWhoFindsOutTellsTheOthersOnce) {
  OpenedDevice device;
  const auto use = ContextUse::of(&device.context);
  std::array<int, 3> told{};
  for (int& count : told) use->enter(&count, [&count] { ++count; });
  use->leave(&told[2]);
  use->note_lost(&told[0], ContextUse::Loss::removal);
  use->note_lost(&told[1], ContextUse::Loss::removal);
  EXPECT_EQ(told, (std::array<int, 3>{0, 1, 0}));
}

// The process may have objects on the device that are not ours.
TEST(ContextUse, OnlyOurObjectsAreTold) {
  struct Handler final : CompletionHandler {
    void on_completions() noexcept override {}
    void on_device_trouble() noexcept override { ++troubles; }
    int troubles = 0;
  } handler;
  OpenedDevice device;
  const auto use = ContextUse::of(&device.context);
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

// A device that comes back may be opened at the address of the one that went.
TEST(ContextUse, AReturnedDeviceIsAnotherOne) {
  OpenedDevice device;
  ContextUse::of(&device.context)->note_lost(nullptr, ContextUse::Loss::removal);
  const auto again = ContextUse::of(&device.context);
  EXPECT_FALSE(again->lost());
}

}  // namespace
}  // namespace rpcrdma::fabric::verbs
