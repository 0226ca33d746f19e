// SPDX-License-Identifier: BSD-3-Clause
// Records read from a TCP socket, however their bytes are divided.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <random>

#include "support/hex.hpp"
#include "support/run.hpp"
#include "tcp_record.hpp"

namespace rpcrdma::rpc {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Appends a record in fragments of at most `longest` bytes.
void append_record(test::Bytes& out, std::span<const std::byte> record, std::size_t longest) {
  const auto append = [&out](std::uint32_t mark, std::span<const std::byte> fragment) {
    out.resize(out.size() + kRecordMark);
    Writer(MutableOctets(out).last(kRecordMark)).u32(mark | static_cast<std::uint32_t>(fragment.size()));
    out.insert(out.end(), fragment.begin(), fragment.end());
  };
  for (; record.size() > longest; record = record.subspan(longest)) append(0, record.first(longest));
  append(kLastFragment, record);
}

test::Bytes record_of(RecordReader& reader) { return {reader.record().begin(), reader.record().end()}; }

class RecordReaderTest : public ::testing::Test {
 protected:
  RecordReaderTest() { connect(); }

  void connect() {
    tcp::acceptor acceptor(context_, {asio::ip::make_address("127.0.0.1"), 0});
    writer_ = tcp::socket(context_);
    writer_.connect(acceptor.local_endpoint());
    writer_.set_option(tcp::no_delay(true));
    reader_ = acceptor.accept();
  }
  void begin(RecordReader& reader) {
    ended_.reset();
    reader.async_read(reader_, [this](error_code status) { ended_ = status; });
    EXPECT_FALSE(ended_) << "the handler must not run within the call";
  }
  /// Reads a record; supplies memory for it if the reader asks for some.
  error_code read(RecordReader& reader) {
    begin(reader);
    EXPECT_TRUE(test::run_until(context_, [&] { return ended_.has_value(); }));
    if (!*ended_ && reader.wanted() != 0) {
      Record memory;
      memory.reserve(reader.wanted());
      reader.use(std::move(memory));
      ended_.reset();
      reader.async_go_on(reader_, [this](error_code status) { ended_ = status; });
      EXPECT_FALSE(ended_);
      EXPECT_TRUE(test::run_until(context_, [&] { return ended_.has_value(); }));
    }
    return *ended_;
  }

  asio::io_context context_;
  tcp::socket writer_{context_};
  tcp::socket reader_{context_};
  std::optional<error_code> ended_;
};

// Both records arrive together, so the second one is complete when begin() asks for it. shrink() must keep this record
// until the handler has received it.
TEST_F(RecordReaderTest, KeepsARecordThatWaitsForItsHandler) {
  RecordReader reader(1000);
  const test::Bytes first(8, std::byte{1}), second(12, std::byte{2});
  test::Bytes stream;
  append_record(stream, first, 1000);
  append_record(stream, second, 1000);
  asio::write(writer_, asio::buffer(stream));
  ASSERT_FALSE(read(reader));
  EXPECT_EQ(record_of(reader), first);
  begin(reader);
  reader.shrink();
  EXPECT_TRUE(test::run_until(context_, [&] { return ended_.has_value(); }));
  EXPECT_EQ(record_of(reader), second);
  reader.shrink();
  EXPECT_EQ(reader.record().capacity(), 0u);
}

TEST_F(RecordReaderTest, RecordsOfAllLengthsInPiecesOfAllLengths) {
  std::mt19937 random(5);
  std::vector<test::Bytes> records;
  test::Bytes stream;
  for (int i = 0; i < 300; ++i) {
    constexpr std::size_t kBounds[] = {1, 8, 200, 5000, 150000};
    test::Bytes record(random() % kBounds[random() % std::size(kBounds)]);
    for (std::byte& byte : record) byte = static_cast<std::byte>(random());
    append_record(stream, record, 1 + random() % kBounds[2 + random() % 3]);
    records.push_back(std::move(record));
  }
  int begun = 0;
  RecordReader reader(200000, 60000);
  reader.on_begin = [&begun] { ++begun; };
  std::span<const std::byte> rest(stream);
  std::function<void()> write = [&] {
    constexpr std::size_t kBounds[] = {3, 300, 100000};
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), 1 + random() % kBounds[random() % 3]));
    rest = rest.subspan(piece.size());
    asio::async_write(writer_, asio::buffer(piece.data(), piece.size()), [&](error_code failed, std::size_t) {
      if (!failed && !rest.empty()) write();
    });
  };
  write();
  for (std::size_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(read(reader), error_code()) << i;
    ASSERT_EQ(record_of(reader), records[i]) << i;
    ASSERT_FALSE(reader.partial());
    ASSERT_EQ(begun, static_cast<int>(i) + 1);
    if (i % 10 == 0) reader.shrink();
  }
}

TEST_F(RecordReaderTest, ShortRecordsAreReceivedTogether) {
  const test::Bytes record(100, std::byte{7});
  test::Bytes stream;
  for (int i = 0; i < 20; ++i) append_record(stream, record, 1000);
  asio::write(writer_, asio::buffer(stream));
  ASSERT_TRUE(test::run_until(context_, [&] { return reader_.available() == stream.size(); }));
  RecordReader reader(1000);
  ASSERT_EQ(read(reader), error_code());
  EXPECT_EQ(reader_.available(), 0u);
  EXPECT_FALSE(reader.partial()) << "the next record is not asked for yet";
  for (int i = 1; i < 20; ++i) {
    ASSERT_EQ(read(reader), error_code());
    EXPECT_EQ(record_of(reader), record);
  }
  begin(reader);
  writer_.close();
  ASSERT_TRUE(test::run_until(context_, [&] { return ended_.has_value(); }));
  EXPECT_EQ(*ended_, asio::error::eof);
}

TEST_F(RecordReaderTest, ARecordThatIsTooLongOrNeverEndsIsRefused) {
  for (const std::uint32_t mark : {kLastFragment | 1001u, 1001u, 0u, 0x7fffffffu, 0xffffffffu}) {
    connect();
    test::Bytes stream(kRecordMark);
    Writer(stream).u32(mark);
    asio::write(writer_, asio::buffer(stream));
    RecordReader reader(1000);
    EXPECT_EQ(read(reader), asio::error::message_size) << mark;
    EXPECT_LE(reader.record().capacity(), 1000u);
  }
}

TEST_F(RecordReaderTest, WhatAnEarlierConnectionHasSentIsForgotten) {
  const test::Bytes first(100, std::byte{1});
  const test::Bytes second(100, std::byte{2});
  test::Bytes stream;
  append_record(stream, first, 1000);
  append_record(stream, first, 1000);
  stream.resize(stream.size() - 10);
  asio::write(writer_, asio::buffer(stream));
  RecordReader reader(1000);
  ASSERT_EQ(read(reader), error_code());
  begin(reader);
  ASSERT_TRUE(test::run_until(context_, [&] { return reader.partial(); }));
  // The rest of the record arrives. The connection is replaced before the read handler runs.
  asio::write(writer_, asio::buffer(test::Bytes(10, std::byte{1})));
  error_code ignored;
  reader_.close(ignored);
  connect();
  reader.restart();
  ASSERT_TRUE(test::run_until(context_, [&] { return ended_.has_value(); }));
  EXPECT_TRUE(*ended_);
  stream.clear();
  append_record(stream, second, 1000);
  asio::write(writer_, asio::buffer(stream));
  ASSERT_EQ(read(reader), error_code());
  EXPECT_EQ(record_of(reader), second);
}

}  // namespace
}  // namespace rpcrdma::rpc
