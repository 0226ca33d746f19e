// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/config_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "file_system_test.hpp"
#include "rpcrdma/nfsd/program/options.hpp"

namespace rpcrdma::nfsd {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  void put(std::string_view text) { std::ofstream(file_, std::ios::binary) << text; }
  ConfigFile good(std::string_view text) {
    put(text);
    auto config = read_config(file_);
    EXPECT_TRUE(config) << config.error().text;
    return config ? std::move(*config) : ConfigFile();
  }
  /// Returns the error message for the file `text`, without "FILE:" at its start.
  std::string bad(std::string_view text) {
    put(text);
    const auto config = read_config(file_);
    EXPECT_FALSE(config) << text;
    const std::string why = config ? std::string() : config.error().text;
    EXPECT_EQ(why.find('\n'), why.npos) << why;
    const std::string begin = file_.string() + ":";
    EXPECT_TRUE(why.starts_with(begin)) << why;
    return why.substr(std::min(why.size(), begin.size()));
  }
  std::optional<Options> options(std::vector<std::string> words, int& code) {
    std::vector<const char*> argv{"rpcrdma-nfsd", "--config", file_.c_str()};
    for (const std::string& word : words) argv.push_back(word.c_str());
    return parse_options(static_cast<int>(argv.size()), argv.data(), code);
  }

  TemporaryDirectory top_;
  std::filesystem::path file_ = top_.path() / "nfsd.toml";
};

constexpr std::string_view kWhole = R"(# everything
listen = ["127.0.0.1:0", "iwarp@[::1]:0"]
tcp-listen = ["0.0.0.0:2049"]
fabric = "iwarp"
crc = "on"
rdma-version = "auto"
state-dir = "/var/lib/x"
sandbox = "strict"
threads = 3
credits = 8
inline-threshold = 8192
max-connections = 7
keepalive = 30
poll = "off"
log-level = "debug"
rpcbind = true

[[export]]
directory = "/srv/photos"
clients = ["192.0.2.0/24", "2001:db8::/32", "127.0.0.1"]
read-only = true
squash = "all"
anonuid = 1000
anongid = 100
reserved-ports = true

[[export]]
memory = true
name = "/scratch/"
size = "512M"
sync = false
devices = true
squash = "none"
)";

TEST_F(ConfigTest, Everything) {
  const ConfigFile config = good(kWhole);
  const Settings& s = config.settings;
  EXPECT_EQ(s.listens.size(), 2u);
  EXPECT_EQ(s.tcp_listens.at(0), "0.0.0.0:2049");
  EXPECT_EQ(s.fabric, "iwarp");
  EXPECT_EQ(s.rdma_version, "auto");
  EXPECT_EQ(s.inline_threshold, 8192u);
  EXPECT_EQ(s.keepalive, 30u);
  EXPECT_EQ(s.poll, "off");
  EXPECT_EQ(s.rpcbind, true);
  ASSERT_EQ(config.exports.size(), 2u);
  const ExportSpec& photos = config.exports[0];
  EXPECT_EQ(photos.directory, "/srv/photos");
  EXPECT_EQ(photos.name, "/photos");
  EXPECT_TRUE(photos.read_only && photos.reserved_ports && photos.sync && !photos.devices);
  ASSERT_EQ(photos.allow.size(), 3u);
  EXPECT_EQ(photos.allow[2].text(), "127.0.0.1");
  EXPECT_EQ(photos.squash, (SquashPolicy{SquashPolicy::Mode::all, 1000, 100}));
  const ExportSpec& scratch = config.exports[1];
  EXPECT_TRUE(scratch.memory && scratch.devices && !scratch.sync && !scratch.read_only);
  EXPECT_EQ(scratch.name, "/scratch");
  EXPECT_EQ(scratch.size, std::uint64_t{512} << 20);
  EXPECT_EQ(scratch.squash.mode, SquashPolicy::Mode::none);
}

TEST_F(ConfigTest, DefaultsAreCautious) {
  const ExportSpec spec = good("[[export]]\ndirectory = '/srv/data'\n").exports.at(0);
  EXPECT_EQ(spec.squash, SquashPolicy());
  EXPECT_EQ(spec.squash.mode, SquashPolicy::Mode::root);
  EXPECT_TRUE(spec.sync && !spec.devices && !spec.reserved_ports && spec.allow.empty());
  EXPECT_TRUE(good("").exports.empty());
}

TEST_F(ConfigTest, ErrorsNameTheirLine) {
  const auto begins = [this](std::string_view text, std::string_view with) {
    const std::string why = bad(text);
    EXPECT_TRUE(why.starts_with(with)) << why;
  };
  begins("threads = 2\nthread = 2\n", "2: unknown key 'thread'");
  begins("\n\nthreads = 0\n", "3: threads: not from 1 to 256");
  begins("threads = '4'\n", "1: threads: not a whole number");
  begins("threads = 4.0\n", "1: threads: not a whole number");
  begins("inline-threshold = 1500\n", "1: inline-threshold: not from 1024 to 262144 in steps of 1024");
  begins("listen = '127.0.0.1:0'\n", "1: listen: not a list");
  begins("listen = []\n", "1: listen: not a list");
  begins("listen = [\n'127.0.0.1:0',\n'localhost:1']\n", "3: listen: not ADDR:PORT: 'localhost:1'");
  begins("tcp-listen = ['1']\n", "1: tcp-listen: not ADDR:PORT");
  begins("crc = 'maybe'\n", "1: crc: not a valid value: 'maybe'");
  begins("sandbox = 'loose'\n", "1: sandbox: not a valid value: 'loose'");
  begins("rdma-version = '3'\n", "1: rdma-version: not a valid value: '3'");
  begins("rdma-version = 2\n", "1: rdma-version: not a string in quotes");
  begins("poll = 'often'\n", "1: poll: not a valid value: 'often'");
  begins("poll = 50\n", "1: poll: not a string in quotes");
  begins("rpcbind = 1\n", "1: rpcbind: not true or false");
  begins("export = 'x'\n", "1: export: not an array of tables");
  begins("[export]\ndirectory = '/x'\n", "1: export: not an array of tables");
  begins("threads = 2\nthreads = 3\n", "2: ");
  begins("threads = \n", "1: ");
  begins("[#]\n", "1: Error while parsing key");
  begins("[[#]]\n", "1: Error while parsing key");
  begins("threads = \xc5\xa3\n", "1: ");
  begins("threads = 2\xc5\xa3\n", "1: ");
  // Control characters are replaced in the message.
  begins("\"a\\nb\" = 1\n", "1: unknown key 'a?b'");
  begins("crc = \"on\\noff\"\n", "1: crc: not a valid value: 'on?off'");
}

TEST_F(ConfigTest, ErrorsInExportsToo) {
  const auto begins = [this](std::string_view text, std::string_view with) {
    const std::string why = bad("[[export]]\ndirectory = '/a'\n\n[[export]]\n" + std::string(text));
    EXPECT_TRUE(why.starts_with(with)) << why;
  };
  begins("name = '/x'\n", "4: no directory");
  begins("directory = 'relative'\n", "5: directory: not an absolute path");
  begins("directory = \"/a\\u0000b\"\n", "5: directory: the string holds a NUL");
  begins("directory = '/b'\nmemory = true\n", "4: an export has either a directory or memory = true");
  begins("memory = true\n", "4: the name of an export must begin with '/'");
  begins("directory = '/b'\nname = 'b'\n", "4: the name of an export must begin with '/': 'b'");
  begins("directory = '/b'\nsize = '1G'\n", "4: only a memory export has a size");
  begins("memory = true\nname='/m'\nsize = '1 G'\n", "7: size: ");
  begins("memory = true\nname='/m'\nsize = 0\n", "7: size: ");
  begins("directory = '/b'\nclients = ['10.0.0.0/8',\n'10.0.0.0/33']\n", "7: clients: not an address");
  // An empty list is refused, because it would mean all clients.
  begins("directory = '/b'\nclients = []\n", "6: clients: not a list, or an empty list");
  begins("directory = '/b'\nsquash = 'no'\n", "6: squash: ");
  begins("directory = '/b'\nanonuid = -1\n", "6: anonuid: ");
  begins("directory = '/b'\nreadonly = true\n", "6: unknown key 'readonly' of an export");
}

TEST_F(ConfigTest, EveryTruncationFailsOrIsWhole) {
  for (std::size_t length = 0; length < kWhole.size(); ++length) {
    put(kWhole.substr(0, length));
    const auto config = read_config(file_);
    EXPECT_TRUE(config || config.error().text.starts_with(file_.string() + ":")) << length;
  }
}

TEST_F(ConfigTest, NoFile) {
  const auto absent = read_config(top_.path() / "absent");
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error().text.ends_with("absent: No such file or directory")) << absent.error().text;
  EXPECT_FALSE(read_config(top_.path())) << "a directory";
}

TEST_F(ConfigTest, TheCommandLineGoesFirst) {
  put(kWhole);
  int code = 0;
  const auto both =
      options({"--threads", "5", "--listen", "10.0.0.1:7", "--export", "memory:/m", "--fabric", "verbs"}, code);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->threads, 5u);
  EXPECT_EQ(both->credits, 8u);
  ASSERT_EQ(both->listens.size(), 1u);
  EXPECT_EQ(both->listens[0].provider, fabric::Provider::verbs);
  EXPECT_EQ(both->tcp_listens.size(), 1u);
  EXPECT_EQ(both->crc, fabric::CrcPolicy::on);
  EXPECT_EQ(both->version, transport::VersionChoice::automatic);
  EXPECT_EQ(both->log_level, LogLevel::debug);
  EXPECT_EQ(both->state_dir, "/var/lib/x");
  EXPECT_EQ(both->sandbox, SandboxMode::strict);
  EXPECT_TRUE(both->rpcbind);
  ASSERT_EQ(both->exports.size(), 3u);
  EXPECT_EQ(both->exports[0].name, "/m");
  EXPECT_EQ(both->command_line_exports, 1u);
}

TEST_F(ConfigTest, AFileAloneIsEnoughAndABadOneAUsageError) {
  put(kWhole);
  int code = 0;
  const auto alone = options({}, code);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->listens.size(), 2u);
  EXPECT_EQ(alone->listens[1].provider, fabric::Provider::iwarp);
  for (const char* text : {"threads = 1\n", "nonsense = 1\n", "["}) {
    put(text);
    EXPECT_FALSE(options({}, code)) << text;
    EXPECT_EQ(code, 2);
  }
}

}  // namespace
}  // namespace rpcrdma::nfsd
