// SPDX-License-Identifier: BSD-3-Clause
// Copies of single files: files that change, lost connections, and servers that delay, restart or reply wrongly.
#include "rpcrdma/nfs/copy.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <random>

#include "scripted_server.hpp"

namespace rpcrdma::nfs {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

/// If set, limits how many of the `wanted` bytes pread() returns.
std::atomic<std::size_t (*)(off_t at, std::size_t wanted)> bytes_at = nullptr;

}  // namespace
}  // namespace rpcrdma::nfs

extern "C" ssize_t pread(int fd, void* into, size_t size,
                         off_t at) {  // NOLINT(readability-inconsistent-declaration-parameter-name)
  const auto limit = rpcrdma::nfs::bytes_at.load();
  return ::syscall(SYS_pread64, fd, into, limit != nullptr ? limit(at, size) : size, at);
}

namespace rpcrdma::nfs {
namespace {

class Quiet : public CopyObserver {
 public:
  void on_found(std::uint64_t) override {}
  void on_moved(std::uint64_t bytes) override { moved += bytes; }
  void on_file_done() override {}
  void on_problem(std::string_view path, const error_code& why) override { problems[std::string(path)] = why; }
  std::uint64_t moved = 0;
  std::map<std::string, error_code> problems;
};

std::string noise(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

class CopyTest : public testing::Test {
 protected:
  CopyTest() : server_(context_) {
    std::string name = (fs::temp_directory_path() / "copy_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
  }
  ~CopyTest() override { fs::remove_all(folder_); }

  /// Uploads a file that contains `content` with Copier::upload(), in WRITEs of at most `piece` bytes, and returns the
  /// outcome. If `size` is given, the test gives this size of the file to upload() instead of the true size.
  Result<void> upload(const std::string& content, std::uint32_t piece, std::optional<std::uint64_t> size = {}) {
    const std::string path = (folder_ / "source").string();
    const Fd out = std::move(*open_to_write(path, 0600));
    EXPECT_TRUE(write_at(out, 0, std::as_bytes(std::span(content))));
    const Fd in = std::move(*open_to_read(path));
    Result<void> outcome;
    server_.run([&](Client& client) -> asio::awaitable<void> {
      Copier copier(client, observer_, {piece, piece});
      outcome = co_await copier.upload(in, size.value_or(content.size()), file_of(7));
    });
    return outcome;
  }

  /// Downloads a file with Copier::stream(), and returns the bytes that stream() has written. `size` is the size of the
  /// file that the test gives to stream(). The server's file may have another size.
  std::string stream(std::uint64_t size) {
    const std::string path = (folder_ / "stream").string();
    const Fd out = std::move(*open_to_write(path, 0600));
    server_.run([&](Client& client) -> asio::awaitable<void> {
      Copier copier(client, observer_, {16384, 16384});
      const Result<void> outcome = co_await copier.stream(file_of(7), size, out.get());
      EXPECT_TRUE(outcome);
    });
    std::string back(fs::file_size(path), '\0');
    EXPECT_TRUE(read_at(std::move(*open_to_read(path)), 0, std::as_writable_bytes(std::span(back))));
    return back;
  }

  Result<std::string> download(std::uint64_t size, std::uint32_t piece) {
    const std::string path = (folder_ / "target").string();
    const Fd out = std::move(*open_to_write(path, 0600));
    Result<void> outcome;
    server_.run([&](Client& client) -> asio::awaitable<void> {
      Copier copier(client, observer_, {piece, piece});
      outcome = co_await copier.download(file_of(7), size, out);
    });
    if (!outcome) return outcome.error();
    std::string back(fs::file_size(path), '\0');
    EXPECT_TRUE(read_at(std::move(*open_to_read(path)), 0, std::as_writable_bytes(std::span(back))));
    return Result<std::string>(back);
  }

  /// Serves WRITE and COMMIT for a file whose content is `stored_`. A WRITE stores at most `most` bytes. `unstable_`
  /// lists the ranges that a crash loses.
  void serve_writes(std::size_t most) {
    server_.on_write([this, most](const WRITE3args& args, std::string data) {
      if (before_write_) before_write_();
      data.resize(std::min(data.size(), most));
      if (stored_.size() < args.offset + data.size()) stored_.resize(args.offset + data.size());
      stored_.replace(args.offset, data.size(), data);
      if (args.stable == UNSTABLE) unstable_.emplace_back(args.offset, data.size());
      ++writes_;
      WRITE3res result{};
      result.WRITE3res_u.resok.count = static_cast<count3>(data.size());
      result.WRITE3res_u.resok.committed = args.stable;
      result.WRITE3res_u.resok.verf[0] = static_cast<char>(instance_);
      return result;
    });
    server_.on<nfs3::Commit>([this](const COMMIT3args&) {
      if (before_commit_) before_commit_();
      unstable_.clear();
      COMMIT3res result{};
      result.COMMIT3res_u.resok.verf[0] = static_cast<char>(instance_);
      return result;
    });
  }

  /// Simulates a crash and restart of the server.
  void restart() {
    for (const auto& [offset, length] : unstable_) stored_.replace(offset, length, length, '\0');
    unstable_.clear();
    ++instance_;
  }

  void serve_reads(const std::string& content, std::size_t most, bool tells_eof) {
    server_.on<nfs3::Read>([this, &content, most, tells_eof](const READ3args& args) {
      READ3res result{};
      READ3resok& ok = result.READ3res_u.resok;
      ++reads_;
      const std::size_t from = std::min<std::size_t>(args.offset, content.size());
      const std::string_view part = std::string_view(content).substr(from, std::min<std::size_t>(most, args.count));
      ok.count = static_cast<count3>(part.size());
      const bool at_end = from + part.size() == content.size();
      ok.eof = at_end && (tells_eof || part.empty()) ? TRUE : FALSE;
      ok.data.set_text(part);
      return result;
    });
  }

  asio::io_context context_;
  ScriptedServer server_;
  Quiet observer_;
  fs::path folder_;
  std::string stored_;
  std::vector<std::pair<std::uint64_t, std::size_t>> unstable_;
  int instance_ = 1;
  int writes_ = 0;
  int reads_ = 0;
  std::function<void()> before_write_;
  std::function<void()> before_commit_;
};

TEST_F(CopyTest, UploadsInPieces) {
  serve_writes(1 << 20);
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 1000000}) {
    stored_.clear();
    const std::string content = noise(size);
    ASSERT_TRUE(upload(content, 65536)) << size;
    EXPECT_TRUE(stored_ == content) << size;
    EXPECT_TRUE(unstable_.empty()) << size;
  }
}

TEST_F(CopyTest, ShortWritesAreContinued) {
  serve_writes(1000);
  const std::string content = noise(100000);
  ASSERT_TRUE(upload(content, 16384));
  EXPECT_TRUE(stored_ == content);
  EXPECT_EQ(observer_.moved, content.size());
}

TEST_F(CopyTest, RewritesDataThatARestartLost) {
  serve_writes(1 << 20);
  const std::string content = noise(1000000);
  before_write_ = [this] {
    if (writes_ == 7) restart();
  };
  ASSERT_TRUE(upload(content, 65536));
  EXPECT_TRUE(stored_ == content);
  EXPECT_GT(writes_, 16);
}

TEST_F(CopyTest, RewritesDataThatARestartBeforeCommitLost) {
  serve_writes(1 << 20);
  const std::string content = noise(1000000);
  int commits = 0;
  before_commit_ = [&] {
    if (++commits <= 2) restart();
  };
  ASSERT_TRUE(upload(content, 65536));
  EXPECT_TRUE(stored_ == content);
  EXPECT_EQ(commits, 3);
}

TEST_F(CopyTest, GivesUpOnAServerThatKeepsRestarting) {
  serve_writes(1 << 20);
  before_commit_ = [this] { restart(); };
  const Result<void> outcome = upload(noise(100000), 16384);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error(), ClientError::keeps_restarting);
}

TEST_F(CopyTest, AWriteOfZeroBytesIsAnError) {
  serve_writes(0);
  const Result<void> outcome = upload(noise(10), 16384);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error(), ClientError::malformed_reply);
}

TEST_F(CopyTest, AnErrorEndsTheUpload) {
  server_.on_write([](const WRITE3args&, std::string) {
    WRITE3res result{};
    result.status = NFS3ERR_NOSPC;
    return result;
  });
  const Result<void> outcome = upload(noise(1000000), 16384);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error(), Status::nospc);
}

TEST_F(CopyTest, Jukebox) {
  serve_writes(1 << 20);
  int refusals = 2;
  server_.on_write([&](const WRITE3args& args, std::string data) {
    WRITE3res result{};
    if (refusals-- > 0) {
      result.status = NFS3ERR_JUKEBOX;
      return result;
    }
    stored_ = std::move(data);
    result.WRITE3res_u.resok.count = args.count;
    result.WRITE3res_u.resok.committed = FILE_SYNC;
    return result;
  });
  ASSERT_TRUE(upload("content", 16384));
  EXPECT_EQ(stored_, "content");
}

TEST_F(CopyTest, ALostConnectionIsReestablishedWithoutLossOfData) {
  serve_writes(1 << 20);
  const std::string content = noise(1000000);
  int drops = 0;
  before_write_ = [&] {
    if (writes_ % 5 == 4 && drops < 3) {
      ++drops;
      server_.network().drop_connection_after(2);
    }
  };
  ASSERT_TRUE(upload(content, 65536));
  EXPECT_TRUE(stored_ == content);
  EXPECT_EQ(drops, 3);
}

TEST_F(CopyTest, DownloadsInPieces) {
  for (const bool tells_eof : {true, false}) {
    for (const std::size_t size : {1, 65535, 65536, 65537, 1000000}) {
      const std::string content = noise(size);
      serve_reads(content, 1 << 20, tells_eof);
      const auto back = download(size, 65536);
      ASSERT_TRUE(back) << size;
      EXPECT_TRUE(*back == content) << size;
    }
  }
}

TEST_F(CopyTest, ShortReadsAreContinued) {
  const std::string content = noise(100000);
  serve_reads(content, 777, true);
  const auto back = download(content.size(), 16384);
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == content);
}

TEST_F(CopyTest, FollowsAFileThatHasGrownOrShrunk) {
  const std::string content = noise(100000);
  serve_reads(content, 1 << 20, true);
  for (const std::uint64_t believed : {0, 1, 50000, 300000}) {
    reads_ = 0;
    const auto back = download(believed, 16384);
    ASSERT_TRUE(back) << believed;
    EXPECT_TRUE(*back == content) << believed;
    EXPECT_LE(reads_, 20) << "pieces are as long as the server allows";
  }
}

TEST_F(CopyTest, StreamsAFileThatHasGrownOrShrunk) {
  const std::string content = noise(100000);
  serve_reads(content, 1 << 20, true);
  for (const std::uint64_t believed : {0, 1, 50000, 300000}) {
    reads_ = 0;
    EXPECT_TRUE(stream(believed) == content) << believed;
    EXPECT_LE(reads_, 20) << "pieces are as long as the server allows";
  }
}

TEST_F(CopyTest, StreamEndsAtTheFirstEndOfAFileThatGrows) {
  const std::string content = noise(300000);
  server_.on<nfs3::Read>([&content](const READ3args& args) {
    READ3res result{};
    READ3resok& ok = result.READ3res_u.resok;
    // The file has 10,000 bytes when its first piece is read, and its full size when later pieces are read.
    const std::string_view now = std::string_view(content).substr(0, args.offset == 0 ? 10000 : content.size());
    const std::string_view part = now.substr(std::min<std::size_t>(args.offset, now.size()), args.count);
    ok.count = static_cast<count3>(part.size());
    ok.eof = args.offset + part.size() == now.size() ? TRUE : FALSE;
    ok.data.set_text(part);
    return result;
  });
  EXPECT_TRUE(stream(content.size()) == content.substr(0, 10000));
}

TEST_F(CopyTest, UploadsAFileThatHasGrownOrShrunk) {
  serve_writes(1 << 20);
  const std::string content = noise(1000000);
  for (const std::uint64_t believed : {0, 1, 65536, 500000, 3000000}) {
    stored_.clear();
    writes_ = 0;
    ASSERT_TRUE(upload(content, 65536, believed)) << believed;
    EXPECT_TRUE(stored_ == content) << believed;
    EXPECT_TRUE(unstable_.empty()) << believed;
    EXPECT_LE(writes_, 18) << "pieces are as long as the server allows";
  }
}

// The read of the second piece meets the end of the file, but returns only after a later piece has been written. Later
// pieces are read in full, as if the file had grown after the read of the second piece. The target must still end where
// that read met the end.
TEST_F(CopyTest, UploadEndsAtTheFirstEndOfAFileThatGrows) {
  constexpr std::uint32_t kPiece = 65536;
  constexpr std::size_t kEnd = kPiece + 1000;
  static std::atomic<bool> has_later_piece;
  has_later_piece = false;
  serve_writes(1 << 20);
  before_write_ = [this] {
    if (stored_.size() > 2 * kPiece) has_later_piece = true;
  };
  server_.on<nfs3::Setattr>([this](const SETATTR3args& args) {
    stored_.resize(args.new_attributes.size.set_size3_u.size);
    return SETATTR3res{};
  });
  bytes_at = [](off_t at, std::size_t wanted) {
    const auto from = static_cast<std::size_t>(at);
    if (from < kPiece || from >= 2 * kPiece) return wanted;
    while (!has_later_piece) std::this_thread::yield();
    return from < kEnd ? std::min(wanted, kEnd - from) : 0;
  };
  const std::string content = noise(8 * kPiece);
  const Result<void> outcome = upload(content, kPiece);
  bytes_at = nullptr;
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(stored_ == content.substr(0, kEnd));
}

// The pool has room for a few pieces only, as under a low limit of locked memory.
TEST_F(CopyTest, UploadsThroughASmallPool) {
  constexpr std::uint32_t kPiece = 1 << 20;
  serve_writes(kPiece);
  const std::string content = noise(16 * kPiece);
  const std::string path = (folder_ / "source").string();
  const Fd out = std::move(*open_to_write(path, 0600));
  ASSERT_TRUE(write_at(out, 0, std::as_bytes(std::span(content))));
  const Fd in = std::move(*open_to_read(path));
  const auto body = [&](Client& client) -> asio::awaitable<void> {
    Copier copier(client, observer_, {kPiece, kPiece});
    const Result<void> outcome = co_await copier.upload(in, content.size(), file_of(7));
    EXPECT_TRUE(outcome) << (outcome ? std::string() : outcome.error().message());
  };
  ClientOptions options;
  options.max_registered = std::size_t{6} << 20;
  server_.run(body, options);
  EXPECT_TRUE(stored_ == content);
}

TEST_F(CopyTest, AnEmptyReadWithoutEofIsAnError) {
  server_.on<nfs3::Read>([](const READ3args&) { return READ3res{}; });
  const auto back = download(1000, 16384);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error(), ClientError::malformed_reply);
}

TEST_F(CopyTest, ACountThatIsNotTheDataIsAnError) {
  server_.on<nfs3::Read>([](const READ3args&) {
    READ3res result{};
    result.READ3res_u.resok.count = 100;
    result.READ3res_u.resok.data.set_text("short");
    return result;
  });
  const auto back = download(1000, 16384);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error(), ClientError::malformed_reply);
}

TEST_F(CopyTest, AnEmptyFile) {
  const std::string nothing;
  serve_reads(nothing, 1 << 20, true);
  const auto back = download(0, 16384);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, "");
}

TEST_F(CopyTest, StreamsAFileOfUnknownSize) {
  const std::string content = noise(100000);
  serve_reads(content, 5000, true);
  EXPECT_EQ(stream(0), content);
}

TEST_F(CopyTest, StreamsInOrder) {
  const std::string content = noise(1000000);
  serve_reads(content, 5000, true);
  EXPECT_TRUE(stream(700000) == content);
}

}  // namespace
}  // namespace rpcrdma::nfs
