// SPDX-License-Identifier: BSD-3-Clause
// Lists a large directory while entries are added and removed. Each entry that exists throughout is listed exactly
// once.
#include <fcntl.h>
#include <unistd.h>

#include <unordered_map>

#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

#ifdef RPCRDMA_SANITIZED
constexpr int kEntries = 10'000;
#else
constexpr int kEntries = 100'000;
#endif

class LargeDirectory : public Served {
 protected:
  void SetUp() override {
    // Asynchronous, because stable storage would make the test slow and is not needed here.
    add_export("/large", ",no_root_squash,async");
    start();
    directory_ = mkdir(root("/large"), "d");
    for (int i = 0; i < kEntries; ++i) fill(name_of(i));
  }

  /// True for every 20th entry. change() removes only such entries while the directory is listed.
  static bool goes(int i) { return i % 20 == 7; }
  static std::string name_of(int i) { return (goes(i) ? "goes-" : "stays-") + std::to_string(i); }

  /// Creates an entry. If a local directory is exported, a system call makes the entry, because that is faster.
  void fill(const std::string& name) {
    if (in_memory()) return static_cast<void>(create(directory_, name));
    const int fd = ::open((disk() / "large/d" / name).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0644);
    ASSERT_GE(fd, 0);
    ::close(fd);
  }

  /// Removes and adds some entries; called after each reply.
  void change() {
    for (int k = 0; k < 8 && going_ < kEntries; going_ += 20, ++k) {
      ASSERT_EQ(call<nfs3::Remove>({in(directory_, name_of(going_))})->status, NFS3_OK);
    }
    for (int k = 0; k < 3; ++k) create(directory_, "new-" + std::to_string(come_++));
  }

  void check() const {
    for (int i = 0; i < kEntries; ++i) {
      if (goes(i)) continue;
      const auto found = seen_.find(name_of(i));
      ASSERT_TRUE(found != seen_.end()) << name_of(i) << " is lost";
    }
    for (const auto& [name, times] : seen_) ASSERT_EQ(times, 1) << name;
  }

  void readdir();
  void readdirplus();

  nfs_fh3 directory_{};
  std::unordered_map<std::string, int> seen_;
  int going_ = 7;
  int come_ = 0;
};

void LargeDirectory::readdir() {
  READDIR3args args{};
  args.dir = directory_;
  args.count = 32'768;
  for (bool eof = false; !eof; change()) {
    const auto reply = call<nfs3::Readdir>(args);
    ASSERT_EQ(reply->status, NFS3_OK);
    const READDIR3resok& ok = reply->READDIR3res_u.resok;
    ASSERT_TRUE(ok.reply.eof || ok.reply.entries.count != 0);
    for (u_int i = 0; i < ok.reply.entries.count; ++i) {
      ++seen_[std::string(ok.reply.entries.items[i].name.view())];
      args.cookie = ok.reply.entries.items[i].cookie;
    }
    std::memcpy(args.cookieverf, ok.cookieverf, sizeof args.cookieverf);
    eof = ok.reply.eof != FALSE;
  }
}

void LargeDirectory::readdirplus() {
  READDIRPLUS3args args{};
  args.dir = directory_;
  args.dircount = 32'768;
  args.maxcount = 131'072;
  for (bool eof = false; !eof; change()) {
    const auto reply = call<nfs3::Readdirplus>(args);
    ASSERT_EQ(reply->status, NFS3_OK);
    const READDIRPLUS3resok& ok = reply->READDIRPLUS3res_u.resok;
    ASSERT_TRUE(ok.reply.eof || ok.reply.entries.count != 0);
    for (u_int i = 0; i < ok.reply.entries.count; ++i) {
      const entryplus3& entry = ok.reply.entries.items[i];
      ++seen_[std::string(entry.name.view())];
      // Handle and attributes may be missing if the entry was removed after its name was read.
      if (!entry.name.view().starts_with("goes-")) {
        ASSERT_TRUE(entry.name_handle.handle_follows && entry.name_attributes.attributes_follow) << entry.name.view();
      }
      args.cookie = entry.cookie;
    }
    std::memcpy(args.cookieverf, ok.cookieverf, sizeof args.cookieverf);
    eof = ok.reply.eof != FALSE;
  }
}

TEST_P(LargeDirectory, ListsRemainingEntriesOnce) {
  ASSERT_NO_FATAL_FAILURE(readdir());
  check();
  seen_.clear();
  ASSERT_NO_FATAL_FAILURE(readdirplus());
  check();
  EXPECT_GT(going_, kEntries / 25);
  EXPECT_GT(come_, kEntries / 1000);
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeDirectory, ::testing::Values("memory", "disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
