// SPDX-License-Identifier: BSD-3-Clause
#include "locate/confinement.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace filesystem = std::filesystem;

class Confinement : public testing::Test {
 protected:
  Confinement() {
    std::string name = testing::TempDir() + "confinement-XXXXXX";
    folder_ = filesystem::canonical(::mkdtemp(name.data()));
    filesystem::create_directories(inside_ = folder_ / "inside");
    filesystem::create_directories(outside_ = folder_ / "outside");
    root_ = open(inside_);
  }
  ~Confinement() override { filesystem::remove_all(folder_); }

  static Fd open(const filesystem::path& path) { return Fd(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)); }
  static Fd make(const filesystem::path& path) {
    std::ofstream{path};
    return open(path);
  }
  Where where(const Fd& fd) {
    found_.clear();
    return where_is(fd.get(), root_.get(), &found_);
  }

  filesystem::path folder_, inside_, outside_;
  Fd root_;
  std::string found_;
};

TEST_F(Confinement, FindsThePath) {
  EXPECT_EQ(where(make(inside_ / "file")), Where::inside);
  EXPECT_EQ(found_, inside_ / "file");
  EXPECT_EQ(where(root_), Where::inside);
  EXPECT_EQ(where(make(outside_ / "file")), Where::outside);
  EXPECT_EQ(where(make(folder_ / "inside2")), Where::outside);
  EXPECT_EQ(found_, "");
}

// The kernel still shows the name inside, but the object has only the name outside.
TEST_F(Confinement, ARemovedNameProvesNothing) {
  const Fd file = make(inside_ / "file");
  filesystem::create_hard_link(inside_ / "file", outside_ / "other");
  ASSERT_EQ(where(file), Where::inside);
  filesystem::remove(inside_ / "file");
  EXPECT_EQ(where(file), Where::unknown);
  EXPECT_EQ(found_, "");
  const Fd gone = make(outside_ / "gone");
  filesystem::remove(outside_ / "gone");
  EXPECT_EQ(where(gone), Where::outside);
}

// A name that looks like a removed one.
TEST_F(Confinement, ADirectoryIsFoundWithoutItsPath) {
  filesystem::create_directories(inside_ / "a (deleted)");
  filesystem::create_directories(outside_ / "a (deleted)");
  EXPECT_EQ(where(open(inside_ / "a (deleted)")), Where::unknown);
  EXPECT_TRUE(is_inside(open(inside_ / "a (deleted)").get(), root_.get()));
  EXPECT_FALSE(is_inside(open(outside_ / "a (deleted)").get(), root_.get()));
}

}  // namespace
}  // namespace rpcrdma::nfsd
