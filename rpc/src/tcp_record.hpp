// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Record marking (RFC 5531 section 11): a record is a sequence of fragments, each preceded by a word with its length
// and, in the top bit, whether it is the last one.
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <utility>
#include <vector>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::rpc {

inline constexpr std::uint32_t kLastFragment = 0x80000000u;
inline constexpr std::size_t kRecordMark = 4;

/// Reads one record at a time from a socket that it does not own. Memory grows with the bytes that arrive, not with the
/// length that a mark claims.
class RecordReader {
 public:
  /// A record of more than `room` bytes is read to its end only after use() has provided memory.
  RecordReader(std::uint32_t max_record, std::uint32_t room) noexcept : max_record_(max_record), room_(room) {}
  explicit RecordReader(std::uint32_t max_record) noexcept : RecordReader(max_record, max_record) {}

  /// Reads a whole record into record(), or as much as there is memory for; `handler`, void(error_code), must keep this
  /// object and the socket alive.
  template <class Handler>
  void async_read(boost::asio::ip::tcp::socket& socket, Handler handler) {
    if (record_.capacity() == 0) record_.swap(small_);
    record_.clear();
    partial_ = false;
    granted_ = room_;
    read_mark(socket, std::move(handler));
  }
  /// The memory required to continue the record; 0 if it is complete.
  std::size_t wanted() const noexcept { return wanted_; }
  /// Provides memory of wanted() bytes. async_go_on() must follow.
  void use(std::vector<std::byte> memory) {
    memory.assign(record_.begin(), record_.end());
    small_.swap(record_);
    record_.swap(memory);
    granted_ = std::exchange(wanted_, 0);
  }
  template <class Handler>
  void async_go_on(boost::asio::ip::tcp::socket& socket, Handler handler) {
    read_fragment(socket, std::move(handler));
  }
  std::vector<std::byte>& record() noexcept { return record_; }
  /// Frees the memory kept for the next record, unless one has begun.
  void shrink() noexcept {
    if (partial_) return;
    std::vector<std::byte>().swap(record_);
    std::vector<std::byte>().swap(small_);
  }
  /// Runs when a record begins. May be empty.
  UniqueFunction<void()> on_begin;

  /// The number of record marks and parts of fragments that have arrived.
  std::uint64_t steps() const noexcept { return steps_; }
  /// True if a record has begun and is not complete.
  bool partial() const noexcept { return partial_; }

 private:
  static constexpr std::size_t kStep = 65536;

  template <class Handler>
  void read_mark(boost::asio::ip::tcp::socket& socket, Handler handler) {
    boost::asio::async_read(socket, boost::asio::buffer(mark_),
                            [this, &socket, handler = std::move(handler)](error_code status, std::size_t) mutable {
                              if (status) return handler(status);
                              ++steps_;
                              if (!std::exchange(partial_, true) && on_begin) on_begin();
                              const std::uint32_t word = Reader(mark_).u32();
                              last_ = (word & kLastFragment) != 0;
                              fragment_left_ = word & ~kLastFragment;
                              const bool endless = fragment_left_ == 0 && !last_;
                              if (endless || fragment_left_ > max_record_ - record_.size())
                                return handler(boost::asio::error::message_size);
                              // Only the last mark tells how long the record is.
                              const std::size_t whole = last_ ? record_.size() + fragment_left_ : max_record_;
                              if (record_.size() + fragment_left_ > granted_) {
                                wanted_ = whole;
                                return handler(error_code());
                              }
                              read_fragment(socket, std::move(handler));
                            });
  }
  template <class Handler>
  void read_fragment(boost::asio::ip::tcp::socket& socket, Handler handler) {
    if (fragment_left_ == 0) {
      if (last_) {
        partial_ = false;
        return handler(error_code());
      }
      return read_mark(socket, std::move(handler));
    }
    const std::size_t step = std::min<std::size_t>(fragment_left_, kStep);
    const std::size_t begin = record_.size();
    record_.resize(begin + step);
    const auto all = [this](error_code status, std::size_t) {
      ++steps_;
      return status ? 0 : kStep;
    };
    boost::asio::async_read(
        socket, boost::asio::buffer(record_.data() + begin, step), all,
        [this, &socket, step, handler = std::move(handler)](error_code status, std::size_t) mutable {
          if (status) return handler(status);
          fragment_left_ -= static_cast<std::uint32_t>(step);
          read_fragment(socket, std::move(handler));
        });
  }

  std::uint32_t max_record_;
  std::uint32_t room_;
  std::size_t granted_ = 0;
  std::size_t wanted_ = 0;
  std::array<std::byte, kRecordMark> mark_{};
  std::uint32_t fragment_left_ = 0;
  bool last_ = false;
  bool partial_ = false;
  std::uint64_t steps_ = 0;
  std::vector<std::byte> record_;
  std::vector<std::byte> small_;  // the memory of record_ before use()
};

/// Describes a record as a message without items.
inline void as_payload(std::vector<std::byte>& record, Payload& message) {
  message.clear();
  message.length = static_cast<std::uint32_t>(record.size());
  message.pieces.push_back({0, {record.data(), message.length, 0}});
}

}  // namespace rpcrdma::rpc
