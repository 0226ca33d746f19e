// SPDX-License-Identifier: BSD-3-Clause
// Files that cannot be written for some time.
#include "file_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

// The opening of a second connection is lost with the blocks that could not be written. The next run shows it.
TEST_F(FileWriterTest, TheOpeningOfAConnectionIsShownInTheNextRun) {
  Connection other;
  other.local = other.peer = {boost::asio::ip::address_v4::loopback(), 2};
  other.remark = "the second one";
  const Event event(other);
  {
    const Limit full(RLIMIT_FSIZE);
    writer_.write(event.record, 1);
    EXPECT_EQ(writer_.flush(), boost::system::errc::file_too_large);
  }
  writer_.write(event.record, 2);
  writer_.close(0);
  std::ifstream in(options_.file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(bytes.find(other.remark), bytes.npos);
}

TEST(FileWriter, ANewReaderOfAFifoGetsAHeader) {
  std::string folder = (fs::temp_directory_path() / "rpcrdma-capture-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  CaptureOptions options;
  options.file = fs::path(folder) / "fifo";
  ASSERT_EQ(::mkfifo(options.file.c_str(), 0600), 0);
  const auto open_reader = [&options] { return Fd(::open(options.file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)); };
  const auto signal = std::signal(SIGPIPE, SIG_IGN);
  Fd reader = open_reader();
  const std::atomic<bool> given_up{false};
  FileWriter writer(options, given_up);
  ASSERT_FALSE(writer.open());
  Connection connection;
  connection.local = connection.peer = {boost::asio::ip::address_v4::loopback(), 1};
  const Event event(connection);
  char header[4096];
  ASSERT_GT(::read(reader.get(), header, sizeof header), 0);  // the pipe keeps what has not been read
  reader = {};
  writer.write(event.record, 1);
  EXPECT_EQ(writer.flush(), boost::system::errc::broken_pipe);

  reader = open_reader();
  writer.write(event.record, 2);
  EXPECT_FALSE(writer.flush());
  std::uint32_t type = 0;
  EXPECT_EQ(::read(reader.get(), &type, sizeof type), static_cast<ssize_t>(sizeof type));
  EXPECT_EQ(type, 0x0a0d0d0au);  // Section Header Block
  std::signal(SIGPIPE, signal);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace rpcrdma::capture
