// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Record marking (RFC 5531 section 11): a record is a sequence of fragments. A word precedes each fragment; it has the
// fragment's length and, in the top bit, a flag that marks the last fragment.
#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <optional>
#include <span>
#include <utility>

#include "record_store.hpp"
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::rpc {

inline constexpr std::uint32_t kLastFragment = 0x80000000u;
inline constexpr std::size_t kRecordMark = 4;

/// Reads one record at a time from a socket that it does not own. Its memory grows with the bytes that arrive, not with
/// the length that a mark claims. One receive may return several short records: they wait in a buffer until the next
/// read.
class RecordReader {
 public:
  /// Accepts records of at most `max_record` bytes. A read stops without an error before a fragment with which the
  /// record would exceed `room` bytes. The owner must then provide memory with use() before the rest can be read.
  RecordReader(std::uint32_t max_record, std::uint32_t room) noexcept : max_record_(max_record), room_(room) {}
  explicit RecordReader(std::uint32_t max_record) noexcept : RecordReader(max_record, max_record) {}

  /// Reads the next record into record(). If the record exceeds the `room` of the constructor, the read stops before
  /// the fragment that would exceed it, and wanted() is then not 0. `handler` has the signature void(error_code). It
  /// must keep this object and the socket alive. It does not run before this function returns.
  template <class Handler>
  void async_read(boost::asio::ip::tcp::socket& socket, Handler handler) {
    begin();
    async_go_on(socket, std::move(handler));
  }
  /// Begins a read as async_read() does, but receives nothing from the socket. It uses the bytes that an earlier read
  /// has received beyond its record. If these bytes end the read, returns its outcome. If it returns nothing,
  /// async_go_on() must follow.
  std::optional<error_code> read_received() {
    begin();
    return parse();
  }
  /// The bytes of memory required to continue the record; 0 if it is complete.
  std::size_t wanted() const noexcept { return wanted_; }
  /// Continues the record in `memory`, whose capacity must be at least wanted() bytes. Copies the bytes of the record
  /// that have arrived into this memory. async_go_on() must follow.
  void use(Record memory) {
    memory.assign(record_.begin(), record_.end());
    small_.swap(record_);
    record_.swap(memory);
    granted_ = std::exchange(wanted_, 0);
  }
  template <class Handler>
  void async_go_on(boost::asio::ip::tcp::socket& socket, Handler handler) {
    const std::optional<error_code> end = parse();
    if (!end) return receive(socket, std::move(handler));
    posted_ = true;
    boost::asio::post(socket.get_executor(), [this, handler = std::move(handler), status = *end]() mutable {
      posted_ = false;
      handler(status);
    });
  }
  /// Drops all received bytes. To be called when the connection has ended, before the socket connects again. The
  /// handler of a read in progress still runs.
  void restart() noexcept {
    ++connection_;
    ahead_begin_ = ahead_end_ = 0;
    fragment_left_ = 0;
    partial_ = false;
  }
  Record& record() noexcept { return record_; }
  /// Frees the memory that is kept for the next record. Does nothing while a record is incomplete, or while the handler
  /// of a read that has ended is still to run.
  void shrink() noexcept {
    if (partial_ || posted_) return;
    Record().swap(record_);
    Record().swap(small_);
  }
  /// Runs when a record begins. May be empty.
  UniqueFunction<void()> on_begin;

  /// Counts the record marks and parts of fragments that have arrived: it changes when the peer makes progress.
  std::uint64_t steps() const noexcept { return steps_; }
  /// True if a record has begun and is not complete.
  bool partial() const noexcept { return partial_; }

 private:
  static constexpr std::size_t kStep = 65536;
  /// The maximum number of bytes that one receive may read ahead. A longer fragment is received directly into the
  /// record.
  static constexpr std::size_t kAhead = 4096;

  void begin() {
    if (record_.capacity() == 0) record_.swap(small_);
    record_.clear();
    partial_ = false;
    granted_ = room_;
  }
  /// Moves received bytes into the record. Returns nothing if the socket must supply more bytes. Returns success if the
  /// record is complete, or needs memory from use(): wanted() tells which. Returns an error for an invalid mark.
  std::optional<error_code> parse() {
    for (;;) {
      const std::span<const std::byte> ahead(ahead_.data() + ahead_begin_, ahead_end_ - ahead_begin_);
      if (fragment_left_ != 0) {
        const std::size_t taken = std::min<std::size_t>(fragment_left_, ahead.size());
        if (taken == 0) return std::nullopt;
        record_.insert(record_.end(), ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(taken));
        ahead_begin_ += taken;
        fragment_left_ -= static_cast<std::uint32_t>(taken);
      } else if (partial_ && last_) {
        partial_ = false;
        return error_code();
      } else {
        if (ahead.size() < kRecordMark) return std::nullopt;
        ahead_begin_ += kRecordMark;
        if (const auto end = begin_fragment(Reader(ahead).u32())) return end;
      }
    }
  }
  /// Begins the fragment whose record mark is `mark`. Returns nothing if the read goes on. Returns success if the read
  /// ends because the record needs memory from use(). Returns an error if the mark is invalid.
  std::optional<error_code> begin_fragment(std::uint32_t mark) {
    ++steps_;
    if (!std::exchange(partial_, true) && on_begin) on_begin();
    last_ = (mark & kLastFragment) != 0;
    fragment_left_ = mark & ~kLastFragment;
    const bool endless = fragment_left_ == 0 && !last_;
    if (endless || fragment_left_ > max_record_ - record_.size()) return boost::asio::error::message_size;
    if (record_.size() + fragment_left_ <= granted_) return std::nullopt;
    // The length of the record is known once its last fragment begins. Until then, memory is requested for the longest
    // possible record.
    wanted_ = last_ ? record_.size() + fragment_left_ : max_record_;
    return error_code();
  }
  /// Receives more bytes. parse() has processed all earlier bytes except those of an incomplete mark.
  template <class Handler>
  void receive(boost::asio::ip::tcp::socket& socket, Handler handler) {
    if (fragment_left_ > kAhead) return receive_in_place(socket, std::move(handler));
    std::copy(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_begin_),
              ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_end_), ahead_.begin());
    ahead_end_ -= std::exchange(ahead_begin_, 0);
    socket.async_read_some(boost::asio::buffer(ahead_.data() + ahead_end_, ahead_.size() - ahead_end_),
                           [this, &socket, connection = connection_, handler = std::move(handler)](
                               error_code status, std::size_t size) mutable {
                             if (connection != connection_) status = boost::asio::error::operation_aborted;
                             if (status) return handler(status);
                             ahead_end_ += size;
                             if (partial_) ++steps_;
                             received(socket, std::move(handler));
                           });
  }
  template <class Handler>
  void receive_in_place(boost::asio::ip::tcp::socket& socket, Handler handler) {
    const std::size_t begin = record_.size();
    const std::size_t step = std::min<std::size_t>(fragment_left_, std::max(record_.capacity() - begin, kStep));
    record_.resize(begin + step, boost::container::default_init);
    const auto all = [this, step, connection = connection_](error_code status, std::size_t) {
      ++steps_;
      return status || connection != connection_ ? 0 : step;
    };
    boost::asio::async_read(socket, boost::asio::buffer(record_.data() + begin, step), all,
                            [this, &socket, step, connection = connection_, handler = std::move(handler)](
                                error_code status, std::size_t) mutable {
                              if (connection != connection_) status = boost::asio::error::operation_aborted;
                              if (status) return handler(status);
                              fragment_left_ -= static_cast<std::uint32_t>(step);
                              received(socket, std::move(handler));
                            });
  }
  template <class Handler>
  void received(boost::asio::ip::tcp::socket& socket, Handler handler) {
    if (const auto end = parse()) return handler(*end);
    receive(socket, std::move(handler));
  }

  std::uint32_t max_record_;
  std::uint32_t room_;
  std::size_t granted_ = 0;
  std::size_t wanted_ = 0;
  std::array<std::byte, kAhead> ahead_;
  std::size_t ahead_begin_ = 0;  // start of the bytes that were received but not processed
  std::size_t ahead_end_ = 0;
  std::uint64_t connection_ = 0;
  std::uint32_t fragment_left_ = 0;
  bool last_ = false;
  bool partial_ = false;
  bool posted_ = false;  // a read has ended, and its handler has been posted but has not run yet
  std::uint64_t steps_ = 0;
  Record record_;
  Record small_;  // keeps the memory that record_ had before use() replaced it
};

/// Describes a record as a message without items.
inline void as_payload(Record& record, Payload& message) {
  message.clear();
  message.length = static_cast<std::uint32_t>(record.size());
  message.pieces.push_back({0, {record.data(), message.length, 0}});
}

}  // namespace rpcrdma::rpc
