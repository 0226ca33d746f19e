// SPDX-License-Identifier: BSD-3-Clause
#include "verdict.hpp"

#include <gmock/gmock.h>

#include <csignal>

namespace rpcrdma::conform::client {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Expect kAll[] = {Expect::endless, Expect::any, Expect::intact, Expect::success, Expect::failure};

Outcome ended(int status) {
  Outcome out;
  out.status = status;
  return out;
}

TEST(Verdict, StatusAndWhatIsExpected) {
  for (const Expect each : {Expect::endless, Expect::any, Expect::intact, Expect::success})
    EXPECT_THAT(judge(ended(0), each, {}), IsEmpty());
  for (const Expect each : {Expect::endless, Expect::any, Expect::intact, Expect::failure})
    EXPECT_THAT(judge(ended(1), each, {}), IsEmpty());
  EXPECT_EQ(judge(ended(0), Expect::failure, {}), "the command reports success");
  EXPECT_EQ(judge(ended(7), Expect::success, {}), "the command fails: exit status 7");
}

TEST(Verdict, DamagedFilesCountIfTheCommandReportsSuccess) {
  Outcome outcome = ended(0);
  outcome.damaged = {"a", "b", "c", "d"};
  EXPECT_EQ(judge(outcome, Expect::intact, {}),
            "the command reports success, but files are damaged or missing: a, b, c and 1 more");
  EXPECT_THAT(judge(outcome, Expect::success, {}), HasSubstr("damaged"));
  EXPECT_THAT(judge(outcome, Expect::any, {}), IsEmpty());
  outcome.status = 1;
  EXPECT_THAT(judge(outcome, Expect::intact, {}), IsEmpty());
}

TEST(Verdict, CrashesAlwaysCount) {
  Outcome by_signal;
  by_signal.signal = SIGSEGV;
  Outcome sanitized = ended(1);
  sanitized.output = "==1==ERROR: AddressSanitizer: heap-use-after-free";
  Outcome undefined = ended(0);
  undefined.output = "x.cpp:1:2: runtime error: signed integer overflow";
  for (const Expect each : kAll) {
    EXPECT_EQ(judge(by_signal, each, {}), "the command crashed: SIGSEGV");
    EXPECT_THAT(judge(ended(128 + SIGABRT), each, {}), HasSubstr("SIGABRT in a program that it ran"));
    EXPECT_THAT(judge(sanitized, each, {}), HasSubstr("AddressSanitizer"));
    EXPECT_THAT(judge(undefined, each, {}), HasSubstr("runtime error"));
  }
  EXPECT_THAT(crash_of(ended(128 + SIGTERM)), IsEmpty()) << "not a crash";
  EXPECT_THAT(crash_of(ended(1)), IsEmpty());
}

TEST(Verdict, WritingElsewhereAndMemoryAlwaysCount) {
  Outcome outcome = ended(1);
  outcome.outside = {"/tmp/x/escaped"};
  Outcome large = ended(1);
  large.memory = 301 << 20;
  for (const Expect each : kAll) {
    EXPECT_EQ(judge(outcome, each, {}), "the command wrote outside of its directory: /tmp/x/escaped");
    EXPECT_EQ(judge(large, each, {300 << 20}), "the command used 301 MiB of memory");
  }
  EXPECT_THAT(judge(large, Expect::any, {302 << 20}), IsEmpty());
}

TEST(Verdict, WhatDoesNotEnd) {
  Outcome outcome;
  outcome.ended = false;
  outcome.calls = 12;
  outcome.connections = 3;
  outcome.took = std::chrono::milliseconds(60000);
  outcome.silent = std::chrono::milliseconds(59500);
  for (const Expect each : {Expect::any, Expect::intact, Expect::success, Expect::failure}) {
    outcome.retries_without_end = false;
    EXPECT_EQ(judge(outcome, each, {}),
              "the command is stuck: it has not ended, 12 calls on 3 connections in 60.0 s, the last one 59.5 s ago");
    outcome.retries_without_end = true;
    EXPECT_EQ(judge(outcome, each, {}), "the command retries without end: 12 calls on 3 connections in 60.0 s");
  }
  EXPECT_THAT(judge(outcome, Expect::endless, {}), IsEmpty());
  EXPECT_EQ(describe(outcome), "the command had to be killed, 12 calls on 3 connections");
}

}  // namespace
}  // namespace rpcrdma::conform::client
