// SPDX-License-Identifier: BSD-3-Clause
#include "commands/format.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "commands/progress.hpp"
#include "rpcrdma/nfs/error.hpp"

namespace rpcrdma::commands {
namespace {

using nfs::FileType;

class Format : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("TZ", "UTC", 1), 0);
    tzset();
  }
};

TEST_F(Format, Modes) {
  EXPECT_EQ(mode_text(FileType::regular, 0644), "-rw-r--r--");
  EXPECT_EQ(mode_text(FileType::directory, 0755), "drwxr-xr-x");
  EXPECT_EQ(mode_text(FileType::symlink, 0777), "lrwxrwxrwx");
  EXPECT_EQ(mode_text(FileType::regular, 04755), "-rwsr-xr-x");
  EXPECT_EQ(mode_text(FileType::regular, 06644), "-rwSr-Sr--");
  EXPECT_EQ(mode_text(FileType::directory, 01777), "drwxrwxrwt");
  EXPECT_EQ(mode_text(FileType::directory, 01776), "drwxrwxrwT");
  EXPECT_EQ(mode_text(static_cast<FileType>(99), 0), "?---------");
}

TEST_F(Format, TimesOfTheLastHalfYearHaveTheHour) {
  const std::time_t now = 1800000000;  // 2027-01-15 08:00:00
  EXPECT_EQ(list_time({1799999999, 0}, now), "Jan 15 07:59");
  EXPECT_EQ(list_time({1700000000, 0}, now), "Nov 14  2023");
  EXPECT_EQ(list_time({1800000001, 0}, now), "Jan 15  2027");
  EXPECT_EQ(full_time({1700000000, 42}), "2023-11-14 22:13:20.000000042 +0000");
}

TEST_F(Format, ListLineAlignsColumns) {
  nfs::Attributes small;
  small.mode = 0644;
  small.links = 1;
  small.size = 5;
  small.mtime = {1799999999, 0};
  nfs::Attributes large = small;
  large.type = FileType::directory;
  large.links = 12;
  large.uid = 4'000'000'000;  // this uid has no name
  large.gid = 4'000'000'001;
  large.size = 123456;
  ListWidths widths;
  Owners owners;
  widths.include(small, owners);
  widths.include(large, owners);
  EXPECT_EQ(list_line(small, widths, owners, 1800000000), "-rw-r--r--  1 root       root            5 Jan 15 07:59");
  EXPECT_EQ(list_line(large, widths, owners, 1800000000), "drw-r--r-- 12 4000000000 4000000001 123456 Jan 15 07:59");
}

TEST_F(Format, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\nb\t\x1b[2J\\", true), "a\\nb\\t\\x1b[2J\\\\");
  EXPECT_EQ(printable("a\nb", false), "a\nb");
  EXPECT_EQ(printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", true), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST_F(Format, NonAsciiControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\xc2\x9b"
                      "2Jb\xc2\xa0",
                      true),
            "a\\xc2\\x9b2Jb\xc2\xa0");
  EXPECT_EQ(printable("\x9b"
                      "2J",
                      true),
            "\\x9b2J")
      << "alone";
  EXPECT_EQ(printable("\xe0\x82\x9b \xf0\x80\x82\x9b", true), "\\xe0\\x82\\x9b \\xf0\\x80\\x82\\x9b")
      << "encoded in too many bytes";
  EXPECT_EQ(printable("\xed\xa0\x80 \xed\x9f\xbf", true), "\\xed\\xa0\\x80 \xed\x9f\xbf") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80 \xf4\x8f\xbf\xbf", true), "\\xf4\\x90\\x80\\x80 \xf4\x8f\xbf\xbf")
      << "above U+10FFFF";
  EXPECT_EQ(printable("\xe2\x82", true), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(printable("\xc3(\x9b", true), "\\xc3(\\x9b");
  EXPECT_EQ(printable("\xc2\x9b", false), "\xc2\x9b");
}

TEST_F(Format, Progress) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.0 * 1024 * 1024 * 1024), "3.0 GiB");
  EXPECT_EQ(progress_line(50, 100, 1, 2, 80), " 50% [####################                    ]  50 B  25 B/s  2 s");
  EXPECT_EQ(progress_line(200, 100, 1, 2, 80).substr(0, 5), "100% ");  // the file grew
  EXPECT_EQ(progress_line(50, 0, 3, 2, 80), "3 files  50 B  25 B/s  2 s");
  for (std::size_t width = 20; width < 120; ++width) {
    EXPECT_LE(progress_line(1u << 30, 1ull << 40, 12345, 1e4, width).size(), width);
  }
}

TEST_F(Format, StatusMessagesAreThoseOfStrerror) {
  EXPECT_EQ(make_error_code(nfs::Status::noent).message(), strerror(ENOENT));
  EXPECT_EQ(make_error_code(nfs::Status::notempty).message(), strerror(ENOTEMPTY));
  EXPECT_EQ(make_error_code(nfs::Status::nametoolong).message(), strerror(ENAMETOOLONG));
  EXPECT_EQ(make_error_code(nfs::Status::stale).message(), strerror(ESTALE));
  EXPECT_EQ(make_error_code(nfs::Status::dquot).message(), strerror(EDQUOT));
  EXPECT_EQ(nfs::status_error(4711).message(), strerror(EIO));
  EXPECT_TRUE(nfs::status_error(2) == boost::system::errc::no_such_file_or_directory);
  EXPECT_TRUE(nfs::status_error(10008) == Condition::retry);
  EXPECT_TRUE(nfs::status_error(13) == Condition::give_up);
  EXPECT_FALSE(nfs::status_error(0));
}

}  // namespace
}  // namespace rpcrdma::commands
