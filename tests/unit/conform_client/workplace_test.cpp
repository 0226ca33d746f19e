// SPDX-License-Identifier: BSD-3-Clause
#include "workplace.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <system_error>

#include "process.hpp"

namespace rpcrdma::conform::client {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

TEST(Workplace, WhatIsInTheDirectory) {
  Workplace place;
  fs::create_directory(place.local() / "folder");
  write(place.local() / "folder" / "file", "text");
  fs::create_symlink("/etc", place.local() / "link");
  EXPECT_THAT(place.local_tree(), UnorderedElementsAre(Pair("folder", "directory"), Pair("folder/file", "file text"),
                                                       Pair("link", "link /etc")));
  EXPECT_THAT(place.changes_outside(), IsEmpty());
}

TEST(Workplace, WhatIsElsewhere) {
  Workplace place;
  write(place.top() / "escaped", "");
  write(place.outside() / "untouched", "changed");
  fs::remove(place.source() / "short");
  write(place.output(), "the output may change");
  EXPECT_THAT(place.changes_outside(),
              UnorderedElementsAre(place.top() / "escaped", place.outside() / "untouched", place.source() / "short"));
}

TEST(Workplace, HugeFilesAreNotRead) {
  Workplace place;
  write(place.local() / "sparse", "");
  fs::resize_file(place.local() / "sparse", std::uintmax_t{1} << 40);
  EXPECT_THAT(place.local_tree(), ElementsAre(Pair("sparse", "1099511627776 bytes")));
}

TEST(Workplace, RemovesWhatCannotBeRead) {
  fs::path top;
  {
    Workplace place;
    top = place.top();
    fs::create_directory(place.local() / "closed");
    write(place.local() / "closed" / "file", "");
    fs::permissions(place.local() / "closed", fs::perms::none);
  }
  EXPECT_FALSE(fs::exists(top));
}

TEST(Damage, MoreFilesAreNoDamage) {
  const Tree wanted{{"a", "file 1"}, {"b", "directory"}};
  EXPECT_THAT(damage(wanted, {{"a", "file 1"}, {"b", "directory"}, {"c", "file"}}), IsEmpty());
  EXPECT_THAT(damage(wanted, {{"a", "file 2"}}), ElementsAre("a", "b"));
}

TEST(Placeholders, KnownOnesAreReplaced) {
  const std::map<std::string, std::string> values{{"url", "nfs://{port}/"}, {"port", "1"}};
  EXPECT_EQ(filled("{url}x{port}{port}", values), "nfs://{port}/x11");
  EXPECT_EQ(filled("{other} {} { {port", values), "{other} {} { {port");
  EXPECT_EQ(filled("${port}", values), "$1");
}

class ProcessTest : public testing::Test {
 protected:
  void run(std::vector<std::string> command) {
    Process process(context, command, {{"ADDED", "value"}}, place.output());
    while (!process.ended()) context.run_one();
    status = process.status();
    signal = process.signal();
  }
  boost::asio::io_context context;
  Workplace place;
  int status = -1, signal = -1;
};

TEST_F(ProcessTest, StatusOutputAndEnvironment) {
  run({"sh", "-c", "echo $ADDED; echo error >&2; cat; exit 3"});
  EXPECT_EQ(status, 3);
  EXPECT_EQ(signal, 0);
  EXPECT_EQ(place.end_of_output(), "value\nerror\n");
}

TEST_F(ProcessTest, Signals) {
  run({"sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(signal, SIGSEGV);
}

TEST_F(ProcessTest, WhatCannotBeStarted) { EXPECT_THROW(run({"/no/such/program"}), std::system_error); }

/// Only the child process of the shell holds the FIFO open for writing. The destructor of Process kills the shell and
/// this child. A read of the FIFO then returns end of file. If the child survived, the read would block.
TEST_F(ProcessTest, TheProcessGroupIsKilled) {
  const fs::path fifo = place.local() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::ifstream reader;
  {
    Process process(context, {"sh", "-c", "sleep 100000 >'" + fifo.string() + "' & wait"}, {}, place.output());
    reader.open(fifo);
    EXPECT_FALSE(process.ended());
  }
  EXPECT_EQ(reader.get(), std::ifstream::traits_type::eof());
}

}  // namespace
}  // namespace rpcrdma::conform::client
