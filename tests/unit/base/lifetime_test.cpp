// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <optional>

#include "rpcrdma/base/recycler.hpp"
#include "rpcrdma/base/weak_guard.hpp"

namespace rpcrdma {
namespace {

struct Guarded {
  WeakGuard<Guarded> guard{*this};
  int ran = 0;
};

TEST(WeakGuard, HandlersRunWhileTheObjectExists) {
  boost::asio::io_context context;
  std::optional<Guarded> object(std::in_place);
  for (int i = 0; i < 3; ++i) object->guard.post(context, [](Guarded& self) { ++self.ran; });
  context.run();
  EXPECT_EQ(object->ran, 3);
  object->guard.wrap([](Guarded& self, int more) { self.ran += more; })(10);
  EXPECT_EQ(object->ran, 13);
}

TEST(WeakGuard, HandlersDoNothingAfterTheObject) {
  boost::asio::io_context context;
  std::optional<Guarded> object(std::in_place);
  int ran = 0;
  for (int i = 0; i < 2; ++i) object->guard.post(context, [&ran](Guarded&) { ++ran; });
  auto wrapped = object->guard.wrap([&ran](Guarded&) { ++ran; });
  object.reset();
  context.run();
  wrapped();
  EXPECT_EQ(ran, 0);
}

// A posted handler that never runs is destroyed by the destructor of the io_context. The handler does not access the
// object, which no longer exists at that time.
TEST(WeakGuard, HandlersThatNeverRun) {
  std::optional<Guarded> object(std::in_place);
  boost::asio::io_context context;
  object->guard.post(context, [](Guarded& self) { ++self.ran; });
  object.reset();
}

TEST(Recycler, ReusesTheObjectGivenBackLast) {
  Recycler<int> all;
  EXPECT_EQ(all.try_take(), nullptr);
  int& first = all.add(std::make_unique<int>(1));
  int& second = all.add(std::make_unique<int>(2));
  EXPECT_EQ(all.in_use(), 2u);
  all.give_back(first);
  all.give_back(second);
  EXPECT_EQ(all.in_use(), 0u);
  EXPECT_EQ(all.size(), 2u);
  EXPECT_EQ(all.try_take(), &second);
  EXPECT_EQ(all.try_take(), &first);
  EXPECT_EQ(all.try_take(), nullptr);
  EXPECT_EQ(all.in_use(), 2u);
}

}  // namespace
}  // namespace rpcrdma
