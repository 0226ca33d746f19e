// SPDX-License-Identifier: BSD-3-Clause
// Transfers that are interrupted and resumed. The server is one file in memory; the client's strides are small.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <random>

#include "commands/progress.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "scripted_server.hpp"

namespace rpcrdma::nfs {
namespace {

/// A local file whose write errors are reported late: by close(2), as network file systems do, or by
/// sync_file_range(2). Both calls are intercepted, and passed on to the kernel.
struct LateError {
  std::string file;
  int of_close = 0;
  int of_write_back = 0;

  bool concerns(int fd) const {
    struct stat s {};
    struct stat named {};
    return ::fstat(fd, &s) == 0 && ::stat(file.c_str(), &named) == 0 && s.st_ino == named.st_ino;
  }
};
LateError* late_error = nullptr;

int failed(int error) {
  errno = error;
  return -1;
}

}  // namespace
}  // namespace rpcrdma::nfs

extern "C" {
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
int close(int fd) {
  using namespace rpcrdma::nfs;
  const int error = late_error != nullptr && late_error->concerns(fd) ? late_error->of_close : 0;
  const auto done = static_cast<int>(::syscall(SYS_close, fd));
  return error != 0 ? failed(error) : done;
}
int sync_file_range(int fd, off64_t offset, off64_t count, unsigned int flags) {
  using namespace rpcrdma::nfs;
  const int error = late_error != nullptr && late_error->concerns(fd) ? late_error->of_write_back : 0;
  const auto done = static_cast<int>(::syscall(SYS_sync_file_range, fd, offset, count, flags));
  return error != 0 ? failed(error) : done;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}

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
  void on_moved(std::uint64_t bytes) override { moved += bytes; }
  void on_kept(std::uint64_t bytes) override { kept += bytes; }
  void on_file_done() override {}
  void on_unfinished() override { ++unfinished; }
  void on_problem(std::string_view, const error_code&) override {}
  std::uint64_t moved = 0;
  std::uint64_t kept = 0;
  int unfinished = 0;
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
      ++setattrs_;
      if (set.mode.set_it && (set.mode.set_mode3_u.mode & 01000) == 0 && fails_at_the_end_) {
        SETATTR3res refused{};
        refused.status = NFS3ERR_IO;
        return refused;
      }
      if (set.mode.set_it && (set.mode.set_mode3_u.mode & 01000) != 0 && on_restart_)
        std::exchange(on_restart_, nullptr)();
      if (set.size.set_it) stored_.resize(set.size.set_size3_u.size);
      if (set.mode.set_it) there_.mode = set.mode.set_mode3_u.mode;
      if (set.atime.set_it == SET_TO_CLIENT_TIME)
        there_.atime = {set.atime.set_atime_u.atime.seconds, set.atime.set_atime_u.atime.nseconds};
      if (set.mtime.set_it == SET_TO_CLIENT_TIME)
        there_.mtime = {set.mtime.set_mtime_u.mtime.seconds, set.mtime.set_mtime_u.mtime.nseconds};
      return SETATTR3res{};
    });
    server_.on_write([this](const WRITE3args& args, std::string data) {
      WRITE3res result{};
      if (in_between_) std::exchange(in_between_, nullptr)();
      if (args.offset >= breaks_at_) result.status = NFS3ERR_IO;
      if (result.status != NFS3_OK) return result;
      // The client commits a stride before it writes the next one.
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
      if (in_between_) std::exchange(in_between_, nullptr)();
      if (args.offset >= breaks_at_) result.status = NFS3ERR_IO;
      if (result.status != NFS3_OK) return result;
      const std::size_t offset = std::min<std::size_t>(args.offset, content_.size());
      const std::string_view part = std::string_view(content_).substr(offset, args.count);
      result.READ3res_u.resok.count = static_cast<count3>(part.size());
      result.READ3res_u.resok.eof = offset + part.size() == content_.size() ? TRUE : FALSE;
      result.READ3res_u.resok.data.set_text(part);
      return result;
    });
    server_.on<nfs3::Getattr>([this](const GETATTR3args&) {
      GETATTR3res result{};
      if (!uploading_ && fails_at_the_end_) {
        result.status = NFS3ERR_IO;
        return result;
      }
      fattr3& a = result.GETATTR3res_u.resok.obj_attributes;
      a.type = NF3REG;
      if (uploading_) {
        a.mode = there_.mode;
        a.size = stored_.size();
        a.atime = {there_.atime.seconds, there_.atime.nanoseconds};
        return result;
      }
      if (on_restart_) std::exchange(on_restart_, nullptr)();
      a.mode = 0604;
      a.size = content_.size();
      a.mtime = {modified_.seconds, modified_.nanoseconds};
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
    uploading_ = true;
    make_source(modified);
    const Fd in = std::move(*open_to_read((folder_ / "source").string()));
    const Attributes source = *local_attributes(in);
    Node to{file_of(7), there_};
    to.attributes.size = stored_.size();
    const SetAttributes final{.mode = mode_, .mtime = SetTime::to(modified)};
    Result<void> outcome;
    server_.run([&](Client& client) -> asio::awaitable<void> {
      const CopyOptions how = options(resume);
      Copier copier(client, tally_, {kPiece, kPiece}, how);
      outcome = co_await copier.upload_file(in, source, to, final);
    });
    uncommitted_.clear();
    return outcome;
  }

  void make_source(Time modified) {
    const Fd out = std::move(*open_to_write((folder_ / "source").string(), 0600));
    EXPECT_TRUE(write_at(out, 0, std::as_bytes(std::span(content_))));
    EXPECT_TRUE(set_attributes(out, SetAttributes{.mtime = SetTime::to(modified)}));
  }

  Result<void> download(bool resume, Time modified = kWhen) {
    tally_ = {};
    uploading_ = false;
    modified_ = modified;
    const Fd to = std::move(*open_to_write(target(), 0600, !resume));
    Node from{file_of(7), {}};
    from.attributes.size = content_.size();
    from.attributes.mtime = modified;
    const SetAttributes final{.mode = mode_, .mtime = SetTime::to(modified)};
    Result<void> outcome;
    server_.run([&](Client& client) -> asio::awaitable<void> {
      const CopyOptions how = options(resume);
      Copier copier(client, tally_, {kPiece, kPiece}, how);
      outcome = co_await copier.download_file(from, to, final);
    });
    return outcome;
  }

  void make_target(mode_t mode) const {
    const Fd out = std::move(*open_to_write(target(), mode));
    EXPECT_EQ(::fchmod(out.get(), mode), 0);
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
  std::vector<std::uint64_t> uncommitted_;  // for each unstable WRITE since the last COMMIT, the number of its stride
  bool fails_at_the_end_ = false;
  std::uint64_t breaks_at_ = UINT64_MAX;
  std::function<void()> in_between_;  // runs once, in the next READ or WRITE
  std::function<void()> on_restart_;  // runs once: when an upload marks its target, or in a GETATTR of a download
  std::optional<std::uint32_t> mode_ = 0640;
  Time modified_;           // the mtime of a download's source, in replies to GETATTR
  bool uploading_ = false;  // if true, GETATTR describes the target of an upload; else, the source of a download
  int setattrs_ = 0;
};

/// Changes the effective user from root to another user, as file modes do not restrict root. The destructor restores
/// root.
class AsUser {
 public:
  AsUser() : done_(::seteuid(1234) == 0) {}
  ~AsUser() {
    if (done_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

 private:
  bool done_;
};

TEST_F(Resume, AnUploadResumesAfterItsLastWholeStride) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(true));
  EXPECT_EQ(there_.mode, 01444u) << "marked";
  ASSERT_GT(stored_.size(), 3 * kStride);
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(upload(true));
  EXPECT_TRUE(stored_ == content_);
  EXPECT_EQ(tally_.kept, 3 * kStride);
  EXPECT_EQ(tally_.moved, content_.size() - 3 * kStride);
  EXPECT_EQ(there_.mode, 0640u) << "the mark is removed";
  EXPECT_EQ(there_.mtime, kWhen);
}

TEST_F(Resume, OnlyWithTheOption) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(false));
  EXPECT_EQ(there_.mode & 01000u, 0u) << "not marked";
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(upload(false));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(stored_ == content_);
}

TEST_F(Resume, AnUploadOfAChangedSourceStartsAgain) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(true));
  breaks_at_ = UINT64_MAX;
  for (char& c : content_) c = static_cast<char>(c + 1);
  ASSERT_TRUE(upload(true, {1'700'000'001, 7}));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(stored_ == content_);
}

TEST_F(Resume, AnUnrelatedFileIsNotResumed) {
  stored_.assign(4 * kStride, 'o');
  ASSERT_TRUE(upload(true));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(stored_ == content_);
}

TEST_F(Resume, AChmodForWritingRemovesTheMark) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(true));
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  there_.mode |= 0200;
  stored_[5] = static_cast<char>(stored_[5] + 1);
  ASSERT_TRUE(upload(true));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(stored_ == content_);
  fs::permissions(target(), fs::perms::owner_write, fs::perm_options::add);
  ASSERT_TRUE(download(true));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(local() == content_);
}

TEST_F(Resume, WritePermissionsAreRestoredAtTheEnd) {
  mode_.reset();
  for (const std::uint32_t mode : {0664u, 0600u, 0444u, 0626u}) {
    there_.mode = mode;
    stored_.clear();
    breaks_at_ = 3 * kStride + 2 * kPiece;
    EXPECT_FALSE(upload(true));
    EXPECT_EQ(there_.mode, (mode & 0555) | 01000);
    breaks_at_ = 4 * kStride;
    EXPECT_FALSE(upload(true)) << "interrupted twice";
    breaks_at_ = UINT64_MAX;
    ASSERT_TRUE(upload(true));
    EXPECT_EQ(tally_.kept, 3 * kStride);
    EXPECT_EQ(there_.mode, mode);
  }
  there_.mode = 01466;
  there_.atime = {1, 7};
  ASSERT_TRUE(upload(true));
  EXPECT_EQ(there_.mode, 0466u) << "a sticky bit alone is not a mark";
  there_.mode = 01444;
  there_.atime = {1, 7};
  ASSERT_TRUE(upload(true));
  EXPECT_EQ(there_.mode, 0644u) << "the mark is of another source: the earlier write permissions are unknown";
}

TEST_F(Resume, AnErrorBeforeTheFirstStrideRestoresTheMode) {
  mode_.reset();
  there_.mode = 0664;
  breaks_at_ = kStride - kPiece;
  EXPECT_FALSE(upload(true));
  EXPECT_EQ(there_.mode, 0664u);
  EXPECT_EQ(tally_.unfinished, 0);
  make_target(0664);
  EXPECT_FALSE(download(true));
  EXPECT_EQ(local_attributes(target(), false)->mode, 0664u);
  EXPECT_EQ(tally_.unfinished, 0);
  breaks_at_ = 2 * kStride;
  EXPECT_FALSE(upload(true));
  EXPECT_EQ(there_.mode, 01444u);
  EXPECT_EQ(tally_.unfinished, 1);
  EXPECT_FALSE(download(true));
  EXPECT_EQ(local_attributes(target(), false)->mode, 01444u);
  EXPECT_EQ(tally_.unfinished, 1);
}

// All data has been copied, but a later request fails. In the upload, this is a SETATTR. In the resumed download, it is
// the GETATTR that asks for the attributes again.
TEST_F(Resume, AFailureAfterTheDataIsReportedAsUnfinished) {
  fails_at_the_end_ = true;
  EXPECT_FALSE(upload(true));
  EXPECT_EQ(there_.mode & 01000u, 01000u);
  EXPECT_EQ(tally_.unfinished, 1);
  breaks_at_ = 2 * kStride + kPiece;
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  EXPECT_FALSE(download(true));
  EXPECT_EQ(tally_.kept, 2 * kStride);
  EXPECT_EQ(local_attributes(target(), false)->mode & 01000u, 01000u);
  EXPECT_EQ(tally_.unfinished, 1);
  fails_at_the_end_ = false;
  EXPECT_TRUE(upload(true));
  EXPECT_TRUE(download(true));
  EXPECT_TRUE(local() == content_);
}

TEST_F(Resume, AnUnfinishedFileIsWriteProtectedAndCanBeResumed) {
  // File modes do not restrict root.
  std::optional<AsUser> user;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder_.c_str(), 1234, 1234), 0);
    user.emplace();
  }
  breaks_at_ = 2 * kStride + kPiece;
  EXPECT_FALSE(download(true));
  EXPECT_EQ(local_attributes(target(), false)->mode, 01400u);
  EXPECT_EQ(::open(target().c_str(), O_WRONLY | O_CLOEXEC), -1) << "write-protected for its owner, too";
  EXPECT_EQ(errno, EACCES);
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(download(true));
  EXPECT_EQ(tally_.kept, 2 * kStride);
  EXPECT_TRUE(local() == content_);
  breaks_at_ = 2 * kStride + kPiece;
  fs::remove(target());
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(download(false)) << "without the option it starts again";
  EXPECT_TRUE(local() == content_);
  EXPECT_EQ(local_attributes(target(), false)->mode, 0640u);
  fs::permissions(target(), fs::perms::owner_read);
  EXPECT_EQ(open_to_write(target(), 0600).error(), boost::system::errc::permission_denied) << "not marked";
}

TEST_F(Resume, AnUploadIsTruncatedToItsSource) {
  in_between_ = [this] {
    content_.resize(2 * kPiece + 5);
    fs::resize_file(folder_ / "source", content_.size());
  };
  ASSERT_TRUE(upload(false));
  EXPECT_TRUE(stored_ == content_);
  EXPECT_EQ(there_.mtime, kWhen) << "no WRITE follows the SETATTR of the times";
}

TEST_F(Resume, AnUploadRestartsWhenItsSourceChangesDuringTheResume) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(true));
  breaks_at_ = UINT64_MAX;
  in_between_ = [this] {
    for (char& c : content_) c = static_cast<char>(c + 1);
    content_.resize(kStride / 2);
    fs::resize_file(folder_ / "source", content_.size());
    make_source({1'700'000'002, 7});
  };
  ASSERT_TRUE(upload(true));
  EXPECT_TRUE(stored_ == content_) << "no mix of two versions";
  EXPECT_EQ(there_.mode, 0600u) << "the mode of the copied version";
  EXPECT_EQ(there_.mtime, (Time{1'700'000'002, 7}));
}

TEST_F(Resume, AnUploadRestartedAndInterruptedKeepsNoOldData) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(upload(true));
  breaks_at_ = UINT64_MAX;
  in_between_ = [this] {
    for (char& c : content_) c = static_cast<char>(c + 1);
    make_source({1'700'000'002, 7});
    on_restart_ = [this] { breaks_at_ = kStride + kPiece; };
  };
  EXPECT_FALSE(upload(true));
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(upload(true, {1'700'000'002, 7}));
  EXPECT_EQ(tally_.kept, kStride);
  EXPECT_TRUE(stored_ == content_);
}

TEST_F(Resume, AnEmptyFileCreatedWithItsAttributesNeedsNoOtherCall) {
  content_.clear();
  there_.mode = 0640;
  there_.mtime = kWhen;
  ASSERT_TRUE(upload(true));
  EXPECT_EQ(setattrs_, 0);
  there_.mtime = {};
  ASSERT_TRUE(upload(true));
  EXPECT_EQ(setattrs_, 1);
  EXPECT_EQ(there_.mtime, kWhen);
}

TEST_F(Resume, ADownloadIsTruncatedToItsSource) {
  for (const bool resume : {false, true}) {
    in_between_ = [this] { content_.resize(2 * kPiece + 5); };
    ASSERT_TRUE(download(resume));
    EXPECT_TRUE(local() == content_);
    content_.resize(kSize, 'x');
  }
}

TEST_F(Resume, ADownloadRestartsWhenItsSourceChangesDuringTheResume) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  in_between_ = [this] {
    for (char& c : content_) c = static_cast<char>(c + 1);
    content_.resize(kStride + 1);
    modified_ = {1'700'000'002, 7};
  };
  ASSERT_TRUE(download(true));
  EXPECT_TRUE(local() == content_) << "no mix of two versions";
  EXPECT_EQ(local_attributes(target(), false)->mode, 0604u) << "the mode of the copied version";
  EXPECT_EQ(local_attributes(target(), false)->mtime, (Time{1'700'000'002, 7}));
}

TEST_F(Resume, ADownloadRestartedAndInterruptedKeepsNoOldData) {
  breaks_at_ = 3 * kStride + 2 * kPiece;
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  in_between_ = [this] {
    for (char& c : content_) c = static_cast<char>(c + 1);
    modified_ = {1'700'000'002, 7};
  };
  on_restart_ = [this] { breaks_at_ = kStride + kPiece; };
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(download(true, {1'700'000'002, 7}));
  EXPECT_EQ(tally_.kept, kStride);
  EXPECT_TRUE(local() == content_);
}

TEST_F(Resume, ADownloadResumesAfterItsLastWholeStride) {
  breaks_at_ = 2 * kStride + kPiece;
  EXPECT_FALSE(download(true));
  EXPECT_EQ(local_attributes(target(), false)->mode & 01000u, 01000u) << "marked";
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(download(true));
  EXPECT_EQ(tally_.kept, 2 * kStride);
  EXPECT_TRUE(local() == content_);
  EXPECT_EQ(local_attributes(target(), false)->mode, 0640u);
  EXPECT_EQ(local_attributes(target(), false)->mtime, kWhen);
}

TEST_F(Resume, ALateWriteErrorIsReportedAndNothingIsResumed) {
  const auto is = [](int error) { return error_code(error, boost::system::system_category()); };
  for (const bool resume : {false, true}) {
    for (LateError error : {LateError{target(), ENOSPC, 0}, LateError{target(), 0, EDQUOT}}) {
      fs::remove(target());
      late_error = &error;
      const Result<void> done = download(resume);
      late_error = nullptr;
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error(), is(error.of_close + error.of_write_back));
      EXPECT_NE(local_attributes(target(), false)->mtime, kWhen) << "with its final mtime it would count as complete";
      EXPECT_EQ(tally_.unfinished, 0);
      ASSERT_TRUE(download(true));
      EXPECT_EQ(tally_.kept, 0u);
      EXPECT_TRUE(local() == content_);
    }
  }
  // The server interrupts the transfer, and close() of the local file then reports ENOSPC.
  fs::remove(target());
  breaks_at_ = 2 * kStride + kPiece;
  LateError error{target(), ENOSPC, 0};
  late_error = &error;
  EXPECT_FALSE(download(true));
  late_error = nullptr;
  breaks_at_ = UINT64_MAX;
  ASSERT_TRUE(download(true));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(local() == content_);
}

TEST_F(Resume, OnlyRegularFilesAreMarked) {
  // Makes a device like /dev/null as the target.
  if (::mknod(target().c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 || !open_to_write(target(), 0))
    GTEST_SKIP() << "mknod is not permitted";
  const std::uint32_t before = local_attributes(target(), false)->mode;
  breaks_at_ = 2 * kStride;
  EXPECT_FALSE(download(true));
  EXPECT_EQ(local_attributes(target(), false)->mode, before);
}

TEST_F(Resume, ADownloadOfAChangedSourceStartsAgain) {
  breaks_at_ = 2 * kStride + kPiece;
  EXPECT_FALSE(download(true));
  breaks_at_ = UINT64_MAX;
  for (char& c : content_) c = static_cast<char>(c + 1);
  ASSERT_TRUE(download(true, {1'700'000'001, 7}));
  EXPECT_EQ(tally_.kept, 0u);
  EXPECT_TRUE(local() == content_);
}

TEST(Summary, GivesBytesMovedAndPresentBefore) {
  EXPECT_EQ(commands::summary_line(3, 5'000'000, 0, 2), "3 files, 5000000 bytes, 2.5 MB/s\n");
  EXPECT_EQ(commands::summary_line(0, 0, 7, 0), "0 files, 0 bytes, 0.0 MB/s; 7 bytes were there already\n");
}

}  // namespace
}  // namespace rpcrdma::nfs
