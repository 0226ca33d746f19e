// SPDX-License-Identifier: BSD-3-Clause
// Files that cannot be written for some time.
#include "file_writer.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <fstream>

namespace rpcrdma::capture {
namespace {

namespace fs = std::filesystem;

/// As long as it exists, the soft limit of `resource` is 0.
class Limit {
 public:
  explicit Limit(__rlimit_resource resource) : resource_(resource) {
    ::getrlimit(resource, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(resource, &none), 0);
  }
  ~Limit() {
    EXPECT_EQ(::setrlimit(resource_, &before_), 0);
    std::signal(SIGXFSZ, signal_);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const __rlimit_resource resource_;
  void (*signal_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

/// An event with a text of 4,000 characters.
struct Event {
  explicit Event(Connection& connection) {
    std::memset(text, 'x', sizeof text);
    record.start = {sizeof(Event), RecordKind::event};
    record.connection = &connection;
    record.kept = sizeof text;
  }
  Record record{};
  char text[4000];
};

/// A ring of files whose first file is almost full.
class FileWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    options_.file = fs::path(folder_) / "trace.pcapng";
    options_.size = kLeastSize;
    ASSERT_FALSE(writer_.open());
    connection_.local = connection_.peer = {boost::asio::ip::address_v4::loopback(), 1};
    while (fs::file_size(options_.file) < kLeastSize - 2 * sizeof(Event)) {
      writer_.write(event_.record, 1);
      ASSERT_FALSE(writer_.flush());
    }
  }
  ~FileWriterTest() override { fs::remove_all(folder_); }
  /// Writes enough to fill the first file, then returns the error.
  error_code fill() {
    for (int i = 0; i < 4; ++i) writer_.write(event_.record, 1);
    return writer_.flush();
  }
  /// Checks that the second run of the capture makes a whole file and keeps the file before it.
  void check_second_run() {
    writer_.write(event_.record, 2);
    writer_.close(0);
    std::ifstream in(options_.file, std::ios::binary);
    std::uint32_t type = 0;
    in.read(reinterpret_cast<char*>(&type), sizeof type);
    EXPECT_EQ(type, 0x0a0d0d0au);  // Section Header Block
    EXPECT_GT(fs::file_size(options_.file), sizeof(Event));
    EXPECT_GT(fs::file_size(fs::path(folder_) / "trace.1.pcapng"), kLeastSize / 2);
  }

  std::string folder_ = (fs::temp_directory_path() / "rpcrdma-capture-XXXXXX").string();
  CaptureOptions options_;
  const std::atomic<bool> given_up_{false};
  FileWriter writer_{options_, given_up_};
  Connection connection_;
  const Event event_{connection_};
};

// The disk is full: the next file is created, but its header cannot be written.
TEST_F(FileWriterTest, AFileWithoutItsHeaderIsBegunAgain) {
  {
    const Limit full(RLIMIT_FSIZE);
    EXPECT_EQ(fill(), boost::system::errc::file_too_large);
  }
  EXPECT_EQ(fs::file_size(options_.file), 0u);
  check_second_run();
}

// The next file cannot be created.
TEST_F(FileWriterTest, AFileThatIsMissingIsCreatedLater) {
  {
    const Limit none(RLIMIT_NOFILE);
    EXPECT_EQ(fill(), boost::system::errc::too_many_files_open);
  }
  EXPECT_FALSE(fs::exists(options_.file));
  check_second_run();
}

}  // namespace
}  // namespace rpcrdma::capture
