// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/local.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace rpcrdma::nfs {
namespace {

namespace fs = std::filesystem;

class Local : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "local_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directory(root_ / "tree");
    fs::create_directory(root_ / "outside");
    std::ofstream(root_ / "outside/precious") << "precious";
  }
  void TearDown() override { fs::remove_all(root_); }

  LocalDirectory tree() { return std::move(*LocalDirectory::open((root_ / "tree").string())); }
  std::string content(const fs::path& name) {
    std::ifstream in(root_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::span<const std::byte> bytes(const char* text) { return std::as_bytes(std::span(text, strlen(text))); }
  fs::path root_;
};

TEST_F(Local, ReadsAndWritesAtOffsets) {
  const auto file = tree().create_file("f", 0600);
  ASSERT_TRUE(file);
  ASSERT_TRUE(write_at(*file, 3, bytes("def")));
  ASSERT_TRUE(write_at(*file, 0, bytes("abc")));
  EXPECT_EQ(content("tree/f"), "abcdef");
  const auto again = tree().open_file("f");
  ASSERT_TRUE(again);
  std::array<std::byte, 10> buffer{};
  EXPECT_EQ(*read_at(*again, 2, buffer), 4u);
  EXPECT_EQ(std::memcmp(buffer.data(), "cdef", 4), 0);
  EXPECT_EQ(*read_at(*again, 6, buffer), 0u);
}

TEST_F(Local, ListsSortedWithAttributes) {
  std::ofstream(root_ / "tree/b") << "12345";
  fs::create_directory(root_ / "tree/a");
  fs::create_symlink("nowhere", root_ / "tree/c");
  const auto entries = tree().list();
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[0].attributes.type, FileType::directory);
  EXPECT_EQ((*entries)[1].attributes.size, 5u);
  EXPECT_EQ((*entries)[2].attributes.type, FileType::symlink);
  EXPECT_EQ(*tree().read_link("c"), "nowhere");
}

TEST_F(Local, NamesThatLeaveTheDirectoryAreRefused) {
  for (const std::string name : {"", ".", "..", "../outside/x", "a/b", "/etc/x"}) {
    EXPECT_FALSE(tree().create_file(name, 0600)) << name;
    EXPECT_FALSE(tree().make_child(name, 0700)) << name;
    EXPECT_FALSE(tree().open_child(name)) << name;
    EXPECT_FALSE(tree().make_link(name, "t")) << name;
    EXPECT_FALSE(tree().open_file(name)) << name;
    EXPECT_FALSE(tree().read_link(name)) << name;
  }
}

TEST_F(Local, SymbolicLinksAreNotFollowedOutOfTheTree) {
  fs::create_symlink("../outside/precious", root_ / "tree/link");
  fs::create_symlink("../outside", root_ / "tree/dir");
  EXPECT_FALSE(tree().open_child("dir"));
  EXPECT_FALSE(tree().make_child("dir", 0700));
  EXPECT_FALSE(tree().open_file("link"));
  const auto file = tree().create_file("link", 0600);
  ASSERT_TRUE(file);
  ASSERT_TRUE(write_at(*file, 0, bytes("new")));
  EXPECT_EQ(content("outside/precious"), "precious");
  EXPECT_FALSE(fs::is_symlink(root_ / "tree/link"));
  EXPECT_EQ(content("tree/link"), "new");
}

TEST_F(Local, AFifoIsAnErrorAndDoesNotBlock) {
  ASSERT_EQ(mkfifo((root_ / "tree/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(tree().create_file("pipe", 0600));
  EXPECT_FALSE(tree().open_file("pipe"));
}

TEST_F(Local, LinksReplaceFilesButNotDirectories) {
  std::ofstream(root_ / "tree/f") << "x";
  fs::create_directory(root_ / "tree/d");
  ASSERT_TRUE(tree().make_link("f", "target"));
  EXPECT_EQ(fs::read_symlink(root_ / "tree/f"), "target");
  EXPECT_FALSE(tree().make_link("d", "target"));
}

TEST_F(Local, SetsModeAndTimes) {
  const auto file = tree().create_file("f", 0600);
  SetAttributes set;
  set.mode = 0444;
  set.mtime = SetTime::to({1700000000, 42});
  ASSERT_TRUE(set_attributes(*file, set));
  const auto attributes = local_attributes((root_ / "tree/f").string(), false);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->mode, 0444u);
  EXPECT_EQ(attributes->mtime, (Time{1700000000, 42}));
}

TEST_F(Local, PlainNames) {
  EXPECT_TRUE(is_plain_name("a"));
  EXPECT_TRUE(is_plain_name("..."));
  EXPECT_FALSE(is_plain_name(std::string_view("a\0b", 3)));
}

TEST_F(Local, Handles) {
  EXPECT_FALSE(parse_handle(""));
  EXPECT_FALSE(parse_handle("0"));
  EXPECT_FALSE(parse_handle("0g"));
  EXPECT_TRUE(parse_handle(std::string(128, 'a')));
  EXPECT_FALSE(parse_handle(std::string(130, 'a')));
}

}  // namespace
}  // namespace rpcrdma::nfs
