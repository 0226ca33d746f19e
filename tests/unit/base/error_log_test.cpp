// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"

namespace rpcrdma {
namespace {

TEST(BaseErrors, MapToRemedies) {
  EXPECT_EQ(make_error_code(BaseError::out_of_memory), Condition::retry);
  EXPECT_EQ(make_error_code(BaseError::invalid_argument), Condition::bug);
  EXPECT_EQ(make_error_code(BaseError::deadline_exceeded), Condition::give_up);
  EXPECT_EQ(make_error_code(BaseError::cancelled), Condition::give_up);
  EXPECT_NE(make_error_code(BaseError::cancelled), Condition::retry);
  for (int i = 1; i <= 5; ++i) EXPECT_NE(make_error_code(static_cast<BaseError>(i)).message(), "unknown error") << i;
  for (int i = 1; i <= 4; ++i)
    EXPECT_NE(make_error_condition(static_cast<Condition>(i)).message(), "unknown condition") << i;
}

class Collector final : public LogSink {
 public:
  bool enabled(LogLevel level) const noexcept override { return level >= LogLevel::info; }
  void write(LogLevel, std::string_view line) noexcept override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

TEST(LogTest, WritesWhatIsEnabled) {
  const auto sink = std::make_shared<Collector>();
  const Log log(sink);
  log.debug("not {}", 1);
  log.info("but {} {}", 2, "this");
  log.error("and this");
  EXPECT_EQ(sink->lines, (std::vector<std::string>{"but 2 this", "and this"}));
  EXPECT_FALSE(log.enabled(LogLevel::trace));
  EXPECT_FALSE(Log().enabled(LogLevel::error));
  Log().error("dropped");
}

TEST(LogTest, LevelsHaveNames) {
  LogLevel level = LogLevel::off;
  EXPECT_TRUE(parse_log_level("warn", level));
  EXPECT_EQ(level, LogLevel::warn);
  EXPECT_FALSE(parse_log_level("loud", level));
  EXPECT_EQ(level, LogLevel::warn);
}

}  // namespace
}  // namespace rpcrdma
