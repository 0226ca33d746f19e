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

/// As long as it exists, the process cannot write to files, as if the disk were full.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
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

/// The disk is full when a file of the ring reaches its size: the next file is created, but its header cannot be
/// written. The next run of the capture writes this header before it writes records.
TEST(FileWriter, AFileWithoutItsHeaderIsBegunAgain) {
  std::string folder = (fs::temp_directory_path() / "rpcrdma-capture-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  CaptureOptions options;
  options.file = fs::path(folder) / "trace.pcapng";
  options.size = kLeastSize;
  const std::atomic<bool> given_up{false};
  FileWriter writer(options, given_up);
  ASSERT_FALSE(writer.open());
  Connection connection;
  connection.local = connection.peer = {boost::asio::ip::address_v4::loopback(), 1};
  const Event event(connection);
  while (fs::file_size(options.file) < kLeastSize - 2 * sizeof(Event)) {
    writer.write(event.record, 1);
    ASSERT_FALSE(writer.flush());
  }
  {
    const FullDisk full;
    for (int i = 0; i < 4; ++i) writer.write(event.record, 1);
    EXPECT_EQ(writer.flush(), boost::system::errc::file_too_large);
  }
  ASSERT_TRUE(fs::exists(fs::path(folder) / "trace.1.pcapng"));
  EXPECT_EQ(fs::file_size(options.file), 0u);

  writer.write(event.record, 2);
  writer.close(0);
  std::ifstream in(options.file, std::ios::binary);
  std::uint32_t type = 0;
  in.read(reinterpret_cast<char*>(&type), sizeof type);
  EXPECT_EQ(type, 0x0a0d0d0au);  // Section Header Block
  EXPECT_GT(fs::file_size(options.file), sizeof(Event));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace rpcrdma::capture
