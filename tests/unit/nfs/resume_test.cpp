// SPDX-License-Identifier: BSD-3-Clause
// Transfers that break, and go on. The server here is one file in memory; the client's strides are small.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <random>

#include "commands/progress.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "scripted_server.hpp"

namespace rpcrdma::nfs {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::uint32_t kPiece = 16384;
constexpr std::uint64_t kStride = std::uint64_t{8} * kPiece;
constexpr std::size_t kSize = 5 * kStride + 12345;
constexpr Time kWhen{1'700'000'000, 7};

class Tally : public CopyObserver {
 public:
  void on_found(std::uint64_t) override {}
  void on_moved(std::uint64_t octets) override { moved += octets; }
  void on_kept(std::uint64_t octets) override { kept += octets; }
  void on_file_done() override {}
  void on_problem(std::string_view, const error_code&) override {}
  std::uint64_t moved = 0;
  std::uint64_t kept = 0;
};

class Resume : public testing::Test {
 protected:
  Resume() : server_(context_), content_(kSize, '\0') {
    std::string name = (fs::temp_directory_path() / "resume_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
    std::mt19937 random(1);
    for (char& c : content_) c = static_cast<char>(random());
    there_.mode = 0644;
    serve();
  }
  ~Resume() override { fs::remove_all(folder_); }

  void serve() {
    server_.on<nfs3::Setattr>([this](const SETATTR3args& args) {
      const sattr3& set = args.new_attributes;
      if (set.size.set_it) stored_.resize(set.size.set_size3_u.size);
      if (set.mode.set_it) there_.mode = set.mode.set_mode3_u.mode;
      if (set.atime.set_it == SET_TO_CLIENT_TIME)
        there_.accessed = {set.atime.set_atime_u.atime.seconds, set.atime.set_atime_u.atime.nseconds};
      if (set.mtime.set_it == SET_TO_CLIENT_TIME)
        there_.modified = {set.mtime.set_mtime_u.mtime.seconds, set.mtime.set_mtime_u.mtime.nseconds};
      return SETATTR3res{};
    });
    server_.on_write([this](const WRITE3args& args, std::string data) {
      WRITE3res result{};
      if (args.offset >= breaks_at_) result.status = NFS3ERR_IO;
      if (result.status != NFS3_OK) return result;
      // Nothing is written of a stride before the one ahead of it is safe.
      const std::uint64_t stride = args.offset / kStride;
      for (const std::uint64_t unsafe : uncommitted_) EXPECT_EQ(unsafe, stride);
      if (args.stable == UNSTABLE) uncommitted_.push_back(stride);
      if (stored_.size() < args.offset + data.size()) stored_.resize(args.offset + data.size());
      stored_.replace(args.offset, data.size(), data);
      result.WRITE3res_u.resok.count = static_cast<count3>(data.size());
      result.WRITE3res_u.resok.committed = args.stable;
      return result;
    });
    server_.on<nfs3::Commit>([this](const COMMIT3args&) {
      uncommitted_.clear();
      return COMMIT3res{};
    });
    server_.on<nfs3::Read>([this](const READ3args& args) {
      READ3res result{};
      if (args.offset >= breaks_at_) result.status = NFS3ERR_IO;
      if (result.status != NFS3_OK) return result;
      const std::string_view part = std::string_view(content_).substr(args.offset, args.count);
      result.READ3res_u.resok.count = static_cast<count3>(part.size());
      result.READ3res_u.resok.eof = args.offset + part.size() == content_.size() ? TRUE : FALSE;
      result.READ3res_u.resok.data.set_text(part);
      return result;
    });
  }

  static CopyOptions options(bool resume) {
    CopyOptions how;
    how.resume = resume;
    how.stride = kStride;
    return how;
  }

  Result<void> upload(bool resume, Time modified = kWhen) {
    tally_ = {};
    const std::string path = (folder_ / "source").string();
    const Descriptor out = std::move(*open_to_write(path, 0600));
    EXPECT_TRUE(write_at(out, 0, std::as_bytes(std::span(content_))));
    const Descriptor in = std::move(*open_to_read(path));
    Attributes source;
    source.size = content_.size();
    source.modified = modified;
    Node to{file_of(7), there_};
    to.attributes.size = stored_.size();
    const SetAttributes final{.mode = 0640, .modified = modified};
    Result<void> outcome;
    server_.run([&](Client& client) -> asio::awaitable<void> {
      const CopyOptions how = options(resume);
      Copier copier(client, tally_, {kPiece, kPiece}, how);
      outcome = co_await copier.upload_file(in, source, to, final);
    });
    uncommitted_.clear();
    return outcome;
  }

  Result<void> download(bool resume, Time modified = kWhen) {
    tally_ = {};
    const Descriptor to = std::move(*open_to_write(target(), 0600, !resume));
    Node from{file_of(7), {}};
    from.attributes.size = content_.size();
    from.attributes.modified = modified;
    const SetAttributes final{.mode = 0640, .modified = modified};
    Result<void> outcome;
    server_.run([&](Client& client) -> asio::awaitable<void> {
      const CopyOptions how = options(resume);
      Copier copier(client, tally_, {kPiece, kPiece}, how);
      outcome = co_await copier.download_file(from, to, final);
    });
    return outcome;
  }

  std::string target() const { return (folder_ / "target").string(); }
  std::string local() const {
    std::string back(fs::file_size(target()), '\0');
    EXPECT_TRUE(read_at(std::move(*open_to_read(target())), 0, std::as_writable_bytes(std::span(back))));
    return back;
  }

  asio::io_context context_;
  ScriptedServer server_;
  Tally tally_;
  fs::path folder_;
  std::string content_;
  std::string stored_;
  Attributes there_;
  std::vector<std::uint64_t> uncommitted_;  // the strides of writes that no COMMIT has followed
  std::uint64_t breaks_at_ = UINT64_MAX;
};

TEST_F(Resume, AnUploadGoesOnBehindItsLastWholeStride) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(true));
  EXPECT_EQ(there_.mode, 01644u) << "marked";
  ASSERT_GT(stored_.size(), 3 * kStride);
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(upload(true));
  EXPECT_TRUE(stored_ == content_);
  EXPECT_EQ(tally_.kept, 3 * kStride);
  EXPECT_EQ(tally_.moved, content_.size() - 3 * kStride);
  EXPECT_EQ(there_.mode, 0640u) << "the mark is gone";
  EXPECT_EQ(there_.modified, kWhen);
}

TEST_F(Resume, OnlyIfItIsAskedFor) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(false));
  EXPECT_EQ(there_.mode & 01000u, 0u) << "not marked";
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(upload(false));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(stored_ == content_);
}

TEST_F(Resume, ASourceThatHasChangedIsCopiedAnew) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(true));
  breaks_at_ = UINT64_MAX;
  for (char& c : content_) c = static_cast<char>(c + 1);
  ASSERT_TRUE(upload(true, {1'700'000'001, 7}));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(stored_ == content_);
}

TEST_F(Resume, AnOlderFileIsNotTakenForABeginning) {
  stored_.assign(4 * kStride, 'o');
  ASSERT_TRUE(upload(true));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(stored_ == content_);
}

TEST_F(Resume, ADownloadGoesOnBehindItsLastWholeStride) {
  breaks_at_ = 2 * kStride + kPiece;
  EXPECT_FALSE(download(true));
  EXPECT_EQ(local_attributes(target(), false)->mode & 01000u, 01000u) << "marked";
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(download(true));
  EXPECT_EQ(tally_.kept, 2 * kStride);
  EXPECT_TRUE(local() == content_);
  EXPECT_EQ(local_attributes(target(), false)->mode, 0640u);
  EXPECT_EQ(local_attributes(target(), false)->modified, kWhen);
}

TEST_F(Resume, WhatIsNoFileIsNotMarked) {
  // A /dev/null of its own.
  if (::mknod(target().c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 || !open_to_write(target(), 0))
    GTEST_SKIP() << "this machine lets nobody make devices";
  const std::uint32_t before = local_attributes(target(), false)->mode;
  breaks_at_ = 2 * kStride;
  EXPECT_FALSE(download(true));
  EXPECT_EQ(local_attributes(target(), false)->mode, before);
}

TEST_F(Resume, ADownloadOfWhatHasChangedBeginsAnew) {
  breaks_at_ = 2 * kStride + kPiece;
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  for (char& c : content_) c = static_cast<char>(c + 1);
  ASSERT_TRUE(download(true, {1'700'000'001, 7}));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(local() == content_);
}

TEST(Summary, SaysWhatWasMovedAndWhatWasThere) {
  EXPECT_EQ(commands::summary_line(3, 5'000'000, 0, 2), "3 files, 5000000 bytes, 2.5 MB/s\n");
  EXPECT_EQ(commands::summary_line(0, 0, 7, 0), "0 files, 0 bytes, 0.0 MB/s; 7 bytes were there already\n");
}

}  // namespace
}  // namespace rpcrdma::nfs
