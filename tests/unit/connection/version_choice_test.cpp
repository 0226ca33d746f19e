// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rpcrdma/connection/options.hpp"

namespace rpcrdma::transport {
namespace {

TEST(VersionChoiceTest, EachNameStandsForItsChoice) {
  EXPECT_EQ(version_names(), (std::vector<std::string>{"1", "2", "auto"}));
  for (const std::string& name : version_names()) {
    const auto choice = parse_version(name);
    ASSERT_TRUE(choice) << name;
    EXPECT_EQ(name_of(*choice), name);
  }
  EXPECT_EQ(parse_version("2"), VersionChoice::two);
  for (const char* text : {"", "0", "3", "01", "one", "Auto", "automatic"}) EXPECT_FALSE(parse_version(text)) << text;
}

}  // namespace
}  // namespace rpcrdma::transport
