// SPDX-License-Identifier: BSD-3-Clause
#include "commands/options.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace rpcrdma::commands {
namespace {

using testing::HasSubstr;

std::variant<Options, Exit> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "rpcrdma-nfs");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

Options accepted(const std::vector<const char*>& arguments) {
  auto parsed = parse(arguments);
  EXPECT_TRUE(std::holds_alternative<Options>(parsed)) << arguments.front();
  return std::holds_alternative<Options>(parsed) ? std::get<Options>(parsed) : Options{};
}

TEST(OptionsTest, Defaults) {
  const Options options = accepted({"ls", "nfs://h/e"});
  EXPECT_EQ(options.command, "ls");
  EXPECT_EQ(options.url.host, "h");
  EXPECT_EQ(options.timeout, std::chrono::seconds(60));
  EXPECT_EQ(options.fabric.provider, fabric::Provider::automatic);
  EXPECT_EQ(options.fabric.crc, fabric::CrcPolicy::automatic);
  EXPECT_EQ(options.version, transport::VersionChoice::one);
  EXPECT_FALSE(options.long_format);
  EXPECT_FALSE(options.mount_port);
  EXPECT_FALSE(options.root);
  EXPECT_FALSE(options.uid);
}

TEST(OptionsTest, GlobalOptions) {
  const Options options =
      accepted({"--fabric",      "iwarp", "--crc", "off",      "--timeout", "2.5", "--mount-port",   "20048",
                "--root-handle", "0aFF",  "--uid", "7",        "--gid",     "8",   "--rdma-version", "2",
                "--poll",        "off",   "stat",  "nfs://h/e"});
  EXPECT_EQ(options.fabric.provider, fabric::Provider::iwarp);
  EXPECT_EQ(options.fabric.crc, fabric::CrcPolicy::off);
  EXPECT_EQ(options.version, transport::VersionChoice::two);
  EXPECT_EQ(options.poll, Polling::off());
  EXPECT_EQ(options.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(options.mount_port, 20048);
  ASSERT_TRUE(options.root);
  EXPECT_EQ(options.root->octets().size(), 2u);
  EXPECT_EQ(options.root->octets()[1], std::byte{0xff});
  EXPECT_EQ(options.uid, 7u);
  EXPECT_EQ(options.gid, 8u);
}

TEST(OptionsTest, OptionsMayFollowTheCommand) {
  const Options options = accepted({"put", "-r", "dir", "nfs://h/e", "--timeout", "5"});
  EXPECT_TRUE(options.recursive);
  EXPECT_EQ(options.local, "dir");
  EXPECT_EQ(options.timeout, std::chrono::seconds(5));
}

TEST(OptionsTest, EveryCommand) {
  for (const char* name : {"ping", "cat", "stat", "readlink", "df", "ls", "mkdir", "rm"}) {
    EXPECT_EQ(accepted({name, "nfs://h/e"}).command, name);
  }
  EXPECT_TRUE(accepted({"ls", "-l", "nfs://h/e"}).long_format);
  EXPECT_TRUE(accepted({"mkdir", "-p", "nfs://h/e"}).parents);
  EXPECT_TRUE(accepted({"rm", "-r", "nfs://h/e"}).recursive);
  EXPECT_EQ(accepted({"get", "nfs://h/e/f", "."}).local, ".");
  EXPECT_EQ(accepted({"mv", "nfs://h/e/f", "nfs://h/e/g"}).target.path.back(), "g");
  EXPECT_EQ(accepted({"ln", "-s", "some text", "nfs://h/e/f"}).local, "some text");
  EXPECT_EQ(accepted({"ln", "nfs://h/e/f", "nfs://h/e/g"}).url.path.back(), "g");
  EXPECT_EQ(accepted({"chmod", "0755", "nfs://h/e/f"}).mode, 0755u);
  EXPECT_EQ(accepted({"truncate", "4K", "nfs://h/e/f"}).size, 4096u);
  EXPECT_TRUE(accepted({"ping", "nfs://h"}).url.path.empty());
  for (const char* name : {"ls", "stat", "df"}) {
    EXPECT_TRUE(accepted({name, "nfs://h/"}).url.path.empty()) << name;
  }
}

TEST(OptionsTest, UsageErrorsExitWithTwoAndOneLine) {
  const std::vector<std::vector<const char*>> wrong = {
      {},
      {"frobnicate", "nfs://h/e"},
      {"ls"},
      {"ls", "nfs://h"},
      {"ls", "nfs://"},
      {"ls", "nfs:///"},
      {"rm", "-r", "nfs://h/"},
      {"ls", "/local"},
      {"ls", "nfs://h/e", "nfs://h/f"},
      {"ls", "-x", "nfs://h/e"},
      {"get", "nfs://h/e"},
      {"put", "", "nfs://h/e"},
      {"mv", "nfs://h/e", "f"},
      {"ln", "text", "nfs://h/e"},
      {"chmod", "8", "nfs://h/e"},
      {"chmod", "17777", "nfs://h/e"},
      {"truncate", "-1", "nfs://h/e"},
      {"truncate", "1X", "nfs://h/e"},
      {"--fabric", "token-ring", "ls", "nfs://h/e"},
      {"--crc", "maybe", "ls", "nfs://h/e"},
      {"--rdma-version", "3", "ls", "nfs://h/e"},
      {"--poll", "1000001", "ls", "nfs://h/e"},
      {"--timeout", "0", "ls", "nfs://h/e"},
      {"--root-handle", "abc", "ls", "nfs://h/e"},
      {"--mount-port", "70000", "ls", "nfs://h/e"},
      {"--uid", "7", "ls", "nfs://h/e"},
  };
  for (const auto& arguments : wrong) {
    testing::internal::CaptureStderr();
    const auto parsed = parse(arguments);
    const std::string said = testing::internal::GetCapturedStderr();
    const char* first = arguments.empty() ? "nothing" : arguments.front();
    ASSERT_TRUE(std::holds_alternative<Exit>(parsed)) << first;
    EXPECT_EQ(std::get<Exit>(parsed).status, 2) << first;
    EXPECT_THAT(said, HasSubstr("rpcrdma-nfs: "));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
}

TEST(OptionsTest, HelpExitsWithZero) {
  testing::internal::CaptureStdout();
  const auto parsed = parse({"--help"});
  const std::string said = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(std::holds_alternative<Exit>(parsed));
  EXPECT_EQ(std::get<Exit>(parsed).status, 0);
  for (const char* word : {"nfs://HOST", "get", "put", "truncate", "--root-handle"}) EXPECT_THAT(said, HasSubstr(word));
}

TEST(OptionsTest, Sizes) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("5G"), std::uint64_t{5} << 30);
  EXPECT_EQ(parse_size("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_size("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_size("99999999999T"), std::nullopt);
  EXPECT_EQ(parse_size(""), std::nullopt);
  EXPECT_EQ(parse_size("1KB"), std::nullopt);
}

}  // namespace
}  // namespace rpcrdma::commands
