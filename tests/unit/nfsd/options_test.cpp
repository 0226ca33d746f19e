// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/options.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::nfsd {
namespace {

std::optional<Options> parsed(std::vector<const char*> words, int& exit_code) {
  words.insert(words.begin(), "rpcrdma-nfsd");
  return parse_options(static_cast<int>(words.size()), words.data(), exit_code);
}

TEST(CommandLine, Defaults) {
  int code = 0;
  const auto options = parsed({"--export", "/srv/data"}, code);
  ASSERT_TRUE(options);
  ASSERT_EQ(options->listens.size(), 1u);
  EXPECT_EQ(text_of(options->listens[0].endpoint), "127.0.0.1:20049");
  EXPECT_EQ(options->listens[0].provider, fabric::Provider::automatic);
  EXPECT_TRUE(options->tcp_listens.empty());
  EXPECT_EQ(options->crc, fabric::CrcPolicy::automatic);
  EXPECT_EQ(options->version, transport::VersionChoice::one);
  EXPECT_GE(options->threads, 1u);
  EXPECT_EQ(options->credits, 32u);
  EXPECT_EQ(options->inline_threshold, 4096u);
}

TEST(CommandLine, Everything) {
  int code = 0;
  const auto options = parsed({"--export",
                               "/srv/data,ro",
                               "--export",
                               "memory:/m",
                               "--listen",
                               "iwarp@[::1]:0",
                               "--listen",
                               "10.0.0.1:7",
                               "--fabric",
                               "verbs",
                               "--tcp-listen",
                               "[::1]:2049",
                               "--crc",
                               "on",
                               "--rdma-version",
                               "auto",
                               "--state-dir",
                               "/tmp/x",
                               "--sandbox",
                               "log",
                               "--threads",
                               "3",
                               "--credits",
                               "8",
                               "--inline-threshold",
                               "8192",
                               "--max-connections",
                               "5",
                               "--keepalive",
                               "7",
                               "--poll",
                               "80",
                               "--log-level",
                               "debug"},
                              code);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->exports.size(), 2u);
  EXPECT_EQ(options->sandbox, SandboxMode::log);
  EXPECT_TRUE(options->exports[0].read_only);
  ASSERT_EQ(options->listens.size(), 2u);
  EXPECT_EQ(options->listens[0].provider, fabric::Provider::iwarp);
  EXPECT_EQ(text_of(options->listens[0].endpoint), "[::1]:0");
  EXPECT_EQ(options->listens[1].provider, fabric::Provider::verbs);
  EXPECT_EQ(text_of(options->tcp_listens.at(0)), "[::1]:2049");
  EXPECT_EQ(options->crc, fabric::CrcPolicy::on);
  EXPECT_EQ(options->version, transport::VersionChoice::automatic);
  EXPECT_EQ(options->state_dir, "/tmp/x");
  EXPECT_EQ(options->threads, 3u);
  EXPECT_EQ(options->credits, 8u);
  EXPECT_EQ(options->inline_threshold, 8192u);
  EXPECT_EQ(options->max_connections, 5u);
  EXPECT_EQ(options->keepalive, 7u);
  EXPECT_EQ(options->poll, Polling::fixed(std::chrono::microseconds(80)));
  EXPECT_EQ(options->log_level, LogLevel::debug);
}

TEST(CommandLine, UsageErrorsEndWithTwo) {
  const std::vector<std::vector<const char*>> wrong = {
      {},
      {"--export"},
      {"--export", "/d", "--nonsense"},
      {"--export", "/d", "stray"},
      {"--export", "/d:name"},
      {"--export", "/d", "--listen", "20049"},
      {"--export", "/d", "--listen", "localhost:1"},
      {"--export", "/d", "--listen", "::1:1"},
      {"--export", "/d", "--listen", "127.0.0.1:65536"},
      {"--export", "/d", "--listen", "tcp@127.0.0.1:1"},
      {"--export", "/d", "--fabric", "tcp"},
      {"--export", "/d", "--crc", "maybe"},
      {"--export", "/d", "--rdma-version", "3"},
      {"--export", "/d", "--threads", "0"},
      {"--export", "/d", "--credits", "2000"},
      {"--export", "/d", "--keepalive", "0"},
      {"--export", "/d", "--poll", "0"},
      {"--export", "/d", "--poll", "often"},
      {"--export", "/d", "--inline-threshold", "1500"},
      {"--export", "/d", "--log-level", "loud"},
      {"--export", "/d", "--sandbox", "loose"},
  };
  for (const auto& words : wrong) {
    int code = 0;
    EXPECT_FALSE(parsed(words, code)) << (words.empty() ? "" : words.back());
    EXPECT_EQ(code, 2) << (words.empty() ? "" : words.back());
  }
}

TEST(CommandLine, HelpAndVersionEndWithZero) {
  for (const char* word : {"--help", "--version"}) {
    int code = 7;
    EXPECT_FALSE(parsed({word}, code));
    EXPECT_EQ(code, 0);
  }
}

}  // namespace
}  // namespace rpcrdma::nfsd
