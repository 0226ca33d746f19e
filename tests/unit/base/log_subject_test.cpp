// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/log_format.hpp"
#include "rpcrdma/base/log_reason.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma {
namespace {

using Lines = std::vector<std::string>;

boost::asio::ip::tcp::endpoint endpoint(const char* address, std::uint16_t port) {
  return {boost::asio::ip::make_address(address), port};
}

LogSubject subject() { return {.connection = 17, .fabric = "iwarp", .peer = endpoint("192.0.2.1", 1023)}; }

TEST(LogSubjectTest, Text) {
  EXPECT_EQ(text_of(LogSubject{}), "");
  EXPECT_EQ(text_of(subject()), "conn=17 peer=192.0.2.1:1023 fabric=iwarp");
  LogSubject call = subject();
  call.peer = endpoint("2001:db8::1", 7);
  call.xid = 0x1a2b;
  EXPECT_EQ(text_of(call), "conn=17 peer=[2001:db8::1]:7 fabric=iwarp xid=00001a2b");
  EXPECT_EQ(text_of(LogSubject{.xid = 0}), "xid=00000000");
}

TEST(LogSubjectTest, NumbersAreUnique) {
  constexpr std::size_t kEach = 1000;
  std::vector<std::vector<std::uint64_t>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& mine : drawn)
    threads.emplace_back([&mine] {
      for (std::size_t i = 0; i < kEach; ++i) mine.push_back(next_connection_number());
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), drawn.size() * kEach);
  EXPECT_FALSE(all.contains(0));
}

TEST(LogSubjectTest, LinesNameTheirSubject) {
  const auto lines = std::make_shared<test::LogLines>();
  const Log log(lines);
  const Log connection = log.with(subject());
  log.info("plain");
  connection.info("made");
  connection.call(0x2a).info("call of {} bytes", 5);
  connection.info("ended: {}", Reason{});
  log.about({.fabric = "tcp", .peer = endpoint("::1", 9)}).warn("refused: {}", Reason{BaseError::out_of_memory});
  EXPECT_EQ(lines->with(""),
            (Lines{"plain", "conn=17 peer=192.0.2.1:1023 fabric=iwarp: made",
                   "conn=17 peer=192.0.2.1:1023 fabric=iwarp xid=0000002a: call of 5 bytes",
                   "conn=17 peer=192.0.2.1:1023 fabric=iwarp: ended: closed in an orderly way",
                   "peer=[::1]:9 fabric=tcp: refused: " + make_error_code(BaseError::out_of_memory).message()}));
}

/// Counts how often it is formatted.
struct Counted {
  int& times;
};

class Quiet final : public LogSink {
 public:
  bool enabled(LogLevel level) const noexcept override { return level >= LogLevel::warn; }
  void write(LogLevel, std::string_view) noexcept override { ++written; }
  int written = 0;
};

}  // namespace
}  // namespace rpcrdma

template <>
struct fmt::formatter<rpcrdma::Counted> : fmt::formatter<int> {
  template <class Context>
  auto format(const rpcrdma::Counted& counted, Context& context) const {
    return fmt::formatter<int>::format(++counted.times, context);
  }
};

namespace rpcrdma {
namespace {

// A line below the level is neither formatted nor counted by its limit.
TEST(LogSubjectTest, NothingIsFormattedBelowTheLevel) {
  const auto sink = std::make_shared<Quiet>();
  const Log log = Log(sink).with(subject());
  LogLimit limit;
  int times = 0;
  for (std::uint32_t i = 0; i < 2 * LogLimit::kMost; ++i) log.call(1, &limit).info("{}", Counted{times});
  Log().call(1, &limit).error("{}", Counted{times});
  EXPECT_EQ(times, 0);
  log.call(1, &limit).warn("{}", Counted{times});
  EXPECT_EQ(times, 1);
  EXPECT_EQ(sink->written, 1);
}

TEST(LogLimitTest, AdmitsAFewLinesInEachPeriod) {
  LogLimit limit;
  const auto begin = LogLimit::Clock::now();
  for (std::uint32_t i = 0; i < LogLimit::kMost; ++i) EXPECT_EQ(limit.admit(begin), 0u);
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(limit.admit(begin + LogLimit::kPeriod - std::chrono::nanoseconds(1)));
  EXPECT_EQ(limit.admit(begin + LogLimit::kPeriod), 7u);
  EXPECT_EQ(limit.admit(begin + LogLimit::kPeriod), 0u);
}

TEST(LogLimitTest, OnePeerDoesNotSuppressTheLinesAboutOthers) {
  LogLimit limit;
  const auto now = LogLimit::Clock::now();
  for (std::uint32_t i = 0; i < 2 * LogLimit::kMost; ++i) static_cast<void>(limit.admit(now, 3));
  EXPECT_FALSE(limit.admit(now, 3));
  EXPECT_FALSE(limit.admit(now, 3 + LogLimit::kGroups));  // the same group
  for (std::size_t other = 4; other < 3 + LogLimit::kGroups; ++other) EXPECT_EQ(limit.admit(now, other), 0u);
  EXPECT_EQ(limit.admit(now + LogLimit::kPeriod, 3), LogLimit::kMost + 2u);
}

// A line counts against the limit of the group to which the peer in its subject belongs. The group depends on the
// address of the peer, not on its port.
TEST(LogLimitTest, LinesAreCountedByThePeerOfTheirSubject) {
  const auto lines = std::make_shared<test::LogLines>();
  const Log log(lines);
  LogLimit limit;
  for (std::uint32_t i = 0; i < 2 * LogLimit::kMost; ++i) {
    LogSubject about;
    about.peer = {boost::asio::ip::make_address("192.0.2.1"), static_cast<std::uint16_t>(i + 1)};
    log.about(about, &limit).info("noise");
  }
  for (unsigned host = 2; host < 34; ++host) {
    LogSubject about;
    about.peer = {boost::asio::ip::address_v4((192u << 24) | (2u << 8) | host), 1};
    log.about(about, &limit).info("other");
  }
  EXPECT_EQ(lines->with("noise").size(), std::size_t{LogLimit::kMost});
  EXPECT_GE(lines->with("other").size(), 16u) << "most other peers are in another group";
}

std::size_t lines_about(const std::vector<std::string>& peers) {
  const auto lines = std::make_shared<test::LogLines>();
  const Log log(lines);
  LogLimit limit;
  for (const std::string& peer : peers) {
    LogSubject about;
    about.peer = {boost::asio::ip::make_address(peer), 1};
    log.about(about, &limit).info("noise");
  }
  return lines->with("noise").size();
}

TEST(LogLimitTest, TheAddressesOfOneHostUseHalfOfTheGroups) {
  std::vector<std::string> same_prefix, mapped;
  for (std::uint32_t i = 0; i < 2 * LogLimit::kGroups * LogLimit::kMost; ++i) {
    same_prefix.push_back(fmt::format("2001:db8::{:x}:1", i));
    mapped.emplace_back(i % 2 == 0 ? "192.0.2.1" : "::ffff:192.0.2.1");
  }
  EXPECT_LE(lines_about(same_prefix), LogLimit::kGroups / 2 * LogLimit::kMost);
  EXPECT_EQ(lines_about(mapped), std::size_t{LogLimit::kMost});
}

TEST(LogLimitTest, TheNextLineTellsHowManyAreMissing) {
  const auto lines = std::make_shared<test::LogLines>();
  LogLimit limit;
  const auto long_ago = LogLimit::Clock::now() - 2 * LogLimit::kPeriod;
  for (std::uint32_t i = 0; i < LogLimit::kMost + 3; ++i) static_cast<void>(limit.admit(long_ago));
  Log(lines).limited(limit).info("again");
  EXPECT_EQ(lines->with(""), Lines{"again (3 similar lines were left out before)"});
}

std::string json_line(const LogSubject& about, const char* message) {
  testing::internal::CaptureStderr();
  Log(make_stderr_sink(LogLevel::info, "test", LogFormat::json)).about(about).info("{}", message);
  return testing::internal::GetCapturedStderr();
}

TEST(LogSubjectTest, JsonHasMembers) {
  LogSubject call = subject();
  call.xid = 0x1a2b3c4d;
  EXPECT_TRUE(
      json_line(call, "a \"b\"")
          .ends_with(
              R"(,"connection":17,"fabric":"iwarp","peer":"192.0.2.1:1023","xid":"1a2b3c4d","message":"a \"b\""})"
              "\n"));
  const std::string plain = json_line({}, "plain");
  EXPECT_TRUE(plain.ends_with(",\"message\":\"plain\"}\n")) << plain;
  EXPECT_EQ(plain.find("connection"), std::string::npos);
  EXPECT_EQ(plain.find("xid"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma
