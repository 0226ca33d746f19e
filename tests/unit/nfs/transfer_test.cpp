// SPDX-License-Identifier: BSD-3-Clause
#include "commands/transfer.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::commands {
namespace {

TEST(Transfer, EntryNames) {
  EXPECT_EQ(entry_name("a"), "a");
  EXPECT_EQ(entry_name("a/b"), "b");
  EXPECT_EQ(entry_name("/a/b//"), "b");
  EXPECT_EQ(entry_name(".hidden"), ".hidden");
  EXPECT_EQ(entry_name("/"), "");
  EXPECT_EQ(entry_name("."), "");
  EXPECT_EQ(entry_name("a/.."), "");
  EXPECT_EQ(entry_name(""), "");
}

TEST(Transfer, ParentPaths) {
  EXPECT_EQ(parent_path("a"), ".");
  EXPECT_EQ(parent_path("a/b"), "a");
  EXPECT_EQ(parent_path("a/b/"), "a");
  EXPECT_EQ(parent_path("a//b"), "a");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("/a/b"), "/a");
  EXPECT_EQ(parent_path("../a"), "..");
}

TEST(Transfer, EveryCommandOfTheSynopsis) {
  for (const char* name :
       {"ping", "cat", "stat", "readlink", "df", "ls", "get", "put", "mkdir", "rm", "mv", "ln", "chmod", "truncate"}) {
    EXPECT_NE(find_command(name), nullptr) << name;
  }
  EXPECT_EQ(find_command("frobnicate"), nullptr);
}

TEST(Transfer, ReportsAreOneLine) {
  Reporter report("get");
  EXPECT_FALSE(report.failed());
  testing::internal::CaptureStderr();
  report.fail("nfs://h/e/a\nb", make_error_code(nfs::Status::noent));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "rpcrdma-nfs: get: nfs://h/e/a\\nb: No such file or directory\n");
  EXPECT_TRUE(report.failed());
}

}  // namespace
}  // namespace rpcrdma::commands
