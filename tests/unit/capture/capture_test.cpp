// SPDX-License-Identifier: BSD-3-Clause
// Captures: their options and files, and disks that are slow, never answer or fail.
#include "rpcrdma/capture/capture.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "core.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::capture {
namespace {

namespace fs = std::filesystem;
using test::Memory;
using test::Node;

constexpr std::uint32_t kMessage = 4096;

struct Block {
  std::uint32_t type;
  std::string body;
};

/// The blocks of a pcapng file. Fails if one is incomplete.
std::vector<Block> blocks_of(const std::string& bytes) {
  std::vector<Block> blocks;
  for (std::size_t at = 0; at + 12 <= bytes.size();) {
    std::uint32_t type = 0, length = 0, again = 0;
    std::memcpy(&type, &bytes[at], 4);
    std::memcpy(&length, &bytes[at + 4], 4);
    if (length < 12 || length % 4 != 0 || length > bytes.size() - at) break;
    std::memcpy(&again, &bytes[at + length - 4], 4);
    EXPECT_EQ(again, length);
    blocks.push_back({type, bytes.substr(at + 8, length - 12)});
    at += length;
    if (at == bytes.size()) return blocks;
  }
  ADD_FAILURE() << "the file does not end with a whole block";
  return blocks;
}

std::size_t packets_in(const std::vector<Block>& blocks) {
  return static_cast<std::size_t>(std::ranges::count(blocks, 6u, &Block::type));
}

bool mentions(const std::vector<Block>& blocks, std::string_view text) {
  return std::ranges::any_of(blocks, [text](const Block& block) { return block.body.find(text) != std::string::npos; });
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Two loopback fabrics, and a folder for the files of the capture. Only the fabric of the client is captured.
class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    std::string name = (fs::temp_directory_path() / "rpcrdma-capture-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    file_ = folder_ / "trace.pcapng";
  }
  ~CaptureTest() override {
    client_.reset();
    server_.reset();
    fabric_.reset();
    if (capture_ != nullptr) capture_->close();
    fs::remove_all(folder_);
  }

  void open(CaptureOptions options) {
    options.file = file_;
    auto opened = Capture::open(std::move(options), Log{});
    ASSERT_TRUE(opened) << opened.error().message();
    capture_ = std::move(*opened);
    fabric_ = capture_->wrap(network_.make_fabric("client"));
  }
  void connect() {
    listener_ = std::move(*peer_->listen({boost::asio::ip::address_v4::loopback(), 0}, [this](auto request) {
      server_ = std::make_unique<Node>(*peer_);
      server_->qp = std::move(*peer_->make_acceptor(std::move(request), {}, *server_));
      for (int i = 0; i < 32; ++i) EXPECT_FALSE(server_->qp->post_receive(sink_->all(), server_->op(0)));
      peer_->start(*server_->qp);
    }));
    sink_ = std::make_unique<Memory>(*peer_, kMessage);
    source_ = std::make_unique<Memory>(*fabric_, kMessage, std::byte{'x'});
    client_ = std::make_unique<Node>(*fabric_);
    client_->qp = std::move(*fabric_->make_connector(listener_->local(), {}, *client_));
    fabric_->start(*client_->qp);
    ASSERT_TRUE(test::run_until(context_, [this] { return client_->established() && server_ != nullptr; }));
  }
  /// Sends one message, then replaces the Receive that it has used.
  void send() {
    const std::size_t received = server_->log.size();
    ASSERT_FALSE(client_->send(source_->all(), 1));
    client_->qp->submit();
    ASSERT_TRUE(test::run_until(context_, [&] { return server_->log.size() > received; }));
    ASSERT_FALSE(server_->qp->post_receive(sink_->all(), server_->op(0)));
  }
  /// Waits until `done` holds; the thread of the capture makes it true.
  template <class Predicate>
  void await(Predicate done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!done() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(done());
  }

  fs::path folder_;
  fs::path file_;
  boost::asio::io_context context_;
  fabric::LoopbackNetwork network_{context_, {}};
  std::unique_ptr<fabric::Fabric> peer_ = network_.make_fabric("server");
  std::shared_ptr<Capture> capture_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Listener> listener_;
  std::unique_ptr<Memory> sink_, source_;
  std::unique_ptr<Node> client_, server_;
};

TEST_F(CaptureTest, FileIsWholeAfterStopAndAfterClose) {
  open({});
  connect();
  send();
  capture_->stop();
  send();                                                    // not captured
  await([this] { return capture_->counts().frames == 6; });  // five frames of the connection setup, and one Send
  await([this] { return blocks_of(read_file(file_)).back().type == 5; });
  capture_->start();
  send();
  capture_->close();
  const auto blocks = blocks_of(read_file(file_));
  EXPECT_EQ(blocks.front().type, 0x0A0D0D0Au);
  EXPECT_EQ(blocks.back().type, 5u);
  EXPECT_EQ(packets_in(blocks), 7u);
  EXPECT_TRUE(mentions(blocks, "the capture was stopped before this frame"));
  EXPECT_EQ(capture_->counts().frames, 7u);
  EXPECT_EQ(capture_->counts().dropped, 0u);
  EXPECT_EQ(capture_->counts().bytes, fs::file_size(file_));
  capture_->start();
  EXPECT_FALSE(capture_->running());  // closed
  send();
}

TEST_F(CaptureTest, ClosedByTwoThreadsAtOnce) {
  for (int round = 0; round < 100; ++round) {
    open({});
    std::thread other([this] { capture_->close(); });
    capture_->close();
    other.join();
    EXPECT_EQ(blocks_of(read_file(file_)).back().type, 5u);
    fabric_.reset();
  }
}

TEST_F(CaptureTest, StoppedFromTheStart) {
  open({.stopped = true});
  connect();
  send();
  capture_->toggle();
  EXPECT_TRUE(capture_->running());
  send();
  capture_->close();
  const auto blocks = blocks_of(read_file(file_));
  EXPECT_EQ(packets_in(blocks), 6u);
  EXPECT_TRUE(mentions(blocks, "it was opened before its first frame in this file"));
}

TEST_F(CaptureTest, OnlyTheWantedPeers) {
  open({.peer = AddressRange{boost::asio::ip::make_address("192.0.2.0"), 24}});
  connect();
  send();
  capture_->close();
  EXPECT_EQ(packets_in(blocks_of(read_file(file_))), 0u);
}

TEST_F(CaptureTest, WritesAreCut) {
  open({.snap = 200});
  connect();
  send();
  Memory target(*peer_, 2 * kMessage);
  const test::Exposed exposed(*server_, target.all(), fabric::Access::remote_write);
  ASSERT_FALSE(client_->write(source_->all(), exposed.segment, 2));
  client_->qp->submit();
  ASSERT_TRUE(test::run_until(context_, [this] { return client_->count(2) != 0; }));
  capture_->close();
  const auto blocks = blocks_of(read_file(file_));
  EXPECT_TRUE(mentions(blocks, "the first bytes of 4096"));
  std::vector<std::uint32_t> lengths;
  for (const Block& block : blocks)
    if (block.type == 6) std::memcpy(&lengths.emplace_back(), &block.body[12], 4);
  ASSERT_EQ(lengths.size(), 7u);
  EXPECT_EQ(lengths[5], 20 + 20 + pad4(2 + 18 + kMessage) + 4);  // the Send
  EXPECT_EQ(lengths[6], 20 + 20 + pad4(2 + 14 + 200u) + 4);
}

TEST_F(CaptureTest, RingOfFiles) {
  constexpr std::uint64_t kSize = 65536;
  open({.size = kSize, .files = 3});
  connect();
  for (int i = 0; i < 100; ++i) send();
  capture_->close();
  for (const char* name : {"trace.pcapng", "trace.1.pcapng", "trace.2.pcapng"}) {
    const auto blocks = blocks_of(read_file(folder_ / name));
    EXPECT_TRUE(mentions(blocks, "MPA ID Req Frame")) << name;  // each file begins with the connection setup
    EXPECT_EQ(blocks.back().type, 5u) << name;
    EXPECT_LT(fs::file_size(folder_ / name), kSize + 2 * kMessage);
  }
  EXPECT_FALSE(fs::exists(folder_ / "trace.3.pcapng"));
  EXPECT_EQ(capture_->counts().dropped, 0u);
}

/// A FIFO that the test does not read at first stands for a disk that does not respond.
TEST_F(CaptureTest, SlowDiskDropsFramesAndDelaysNoWork) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  const Fd reader(::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  open({.buffer = std::size_t{128} << 10});
  connect();
  std::uint64_t sent = 0;
  for (; capture_->counts().dropped < 10; ++sent) send();
  EXPECT_LT(sent, 1000u);  // frames are dropped once the buffer is full

  std::string bytes;
  std::vector<char> buffer(65536);
  const auto read_on = [&] {
    for (ssize_t count; (count = ::read(reader.get(), buffer.data(), buffer.size())) > 0;)
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
  };
  while (bytes.find("of this connection were dropped before this one") == bytes.npos) {
    read_on();
    send();
    ++sent;
  }
  std::thread closer([this] { capture_->close(); });
  while (capture_->counts().bytes > bytes.size() || capture_->counts().frames + capture_->counts().dropped < sent + 5)
    read_on();
  closer.join();
  read_on();
  const auto blocks = blocks_of(bytes);
  EXPECT_EQ(packets_in(blocks), capture_->counts().frames);
  EXPECT_EQ(capture_->counts().frames + capture_->counts().dropped, sent + 5);
}

TEST_F(CaptureTest, DiskThatNeverAnswersDoesNotDelayTheEnd) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  const Fd reader(::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  open({.buffer = std::size_t{128} << 10});
  connect();
  while (capture_->counts().dropped == 0) send();
  capture_->close();
  EXPECT_FALSE(capture_->running());
}

// A disk that does not answer delays the removal of connections that have ended. When kMostEnded ended connections have
// not been removed, the capture does not record a new connection, and counts one dropped frame for it.
TEST_F(CaptureTest, ReconnectsFillNoMemoryWhileTheDiskDoesNotAnswer) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  const Fd reader(::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  open({.buffer = std::size_t{128} << 10});
  connect();
  while (capture_->counts().dropped == 0) send();
  const auto reconnect = [this] {
    const std::uint64_t before = capture_->counts().dropped;
    client_.reset();
    server_.reset();
    client_ = std::make_unique<Node>(*fabric_);
    client_->qp = std::move(*fabric_->make_connector(listener_->local(), {}, *client_));
    fabric_->start(*client_->qp);
    EXPECT_TRUE(test::run_until(context_, [this] { return client_->established() && server_ != nullptr; }));
    return capture_->counts().dropped - before;
  };
  // Reconnects until the ring has room neither for the record of the end of the old connection nor for the record of
  // the opening of the new one. reconnect() then counts two dropped frames.
  while (reconnect() < 2) continue;
  for (std::size_t i = 0; i < kMostEnded; ++i) reconnect();
  EXPECT_EQ(reconnect(), 1u);
  EXPECT_EQ(reconnect(), 1u);
  send();  // on a connection that is not recorded
  const std::uint64_t dropped = capture_->counts().dropped;
  server_.reset();
  ASSERT_TRUE(test::run_until(context_, [this] { return client_->disconnected.has_value(); }));
  EXPECT_EQ(capture_->counts().dropped, dropped) << "a connection that is not recorded is no failed one";
  capture_->close();
}

TEST_F(CaptureTest, FailedWriteStopsTheCapture) {
  file_ = "/dev/full";
  const auto opened = Capture::open({.file = file_}, Log{});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), boost::system::errc::no_space_on_device);
}

TEST_F(CaptureTest, WrongOptions) {
  const auto refused = [this](CaptureOptions options) {
    options.file = file_;
    return Capture::open(std::move(options), Log{}).error();
  };
  EXPECT_EQ(refused({.size = 1000}), BaseError::invalid_argument);
  EXPECT_EQ(refused({.files = 0}), BaseError::invalid_argument);
  EXPECT_EQ(refused({.buffer = 200000}), BaseError::invalid_argument);
  file_ = folder_ / "no folder" / "trace.pcapng";
  EXPECT_EQ(refused({}), boost::system::errc::no_such_file_or_directory);
}

}  // namespace
}  // namespace rpcrdma::capture
