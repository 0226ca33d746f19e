// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Record marking (RFC 5531 section 11): a record is a row of fragments, each behind a word that holds its length
// and, in its top bit, whether it is the last one.
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <vector>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/error.hpp"

namespace rpcrdma::rpc {

inline constexpr std::uint32_t kLastFragment = 0x80000000u;
inline constexpr std::size_t kRecordMark = 4;

/// Collects one record at a time from a socket that it does not own. Memory grows with what arrives, not with what
/// is promised.
class RecordReader {
 public:
  explicit RecordReader(std::uint32_t max_record) noexcept : max_record_(max_record) {}

  /// Reads a whole record into record(); `handler` is void(error_code) and keeps this object and the socket alive.
  template <class Handler>
  void async_read(boost::asio::ip::tcp::socket& socket, Handler handler) {
    record_.clear();
    partial_ = false;
    read_mark(socket, std::move(handler));
  }
  std::vector<std::byte>& record() noexcept { return record_; }
  /// Gives back memory kept for the next record, unless one has begun.
  void shrink() noexcept {
    if (!partial_) std::vector<std::byte>().swap(record_);
  }
  /// Counts what has come: marks, and pieces of fragments.
  std::uint64_t steps() const noexcept { return steps_; }
  /// Whether a record has begun, of which there is more to come.
  bool partial() const noexcept { return partial_; }

 private:
  static constexpr std::size_t kStep = 65536;

  template <class Handler>
  void read_mark(boost::asio::ip::tcp::socket& socket, Handler handler) {
    boost::asio::async_read(socket, boost::asio::buffer(mark_),
                            [this, &socket, handler = std::move(handler)](error_code status, std::size_t) mutable {
                              if (status) return handler(status);
                              ++steps_;
                              partial_ = true;
                              const std::uint32_t word = Reader(mark_).u32();
                              last_ = (word & kLastFragment) != 0;
                              fragment_left_ = word & ~kLastFragment;
                              const bool endless = fragment_left_ == 0 && !last_;
                              if (endless || fragment_left_ > max_record_ - record_.size())
                                return handler(boost::asio::error::message_size);
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
    boost::asio::async_read(
        socket, boost::asio::buffer(record_.data() + begin, step),
        [this, &socket, step, handler = std::move(handler)](error_code status, std::size_t) mutable {
          if (status) return handler(status);
          ++steps_;
          fragment_left_ -= static_cast<std::uint32_t>(step);
          read_fragment(socket, std::move(handler));
        });
  }

  std::uint32_t max_record_;
  std::array<std::byte, kRecordMark> mark_{};
  std::uint32_t fragment_left_ = 0;
  bool last_ = false;
  bool partial_ = false;
  std::uint64_t steps_ = 0;
  std::vector<std::byte> record_;
};

/// A record in one piece of memory, as a message without items.
inline void as_payload(std::vector<std::byte>& record, Payload& message) {
  message.clear();
  message.length = static_cast<std::uint32_t>(record.size());
  message.pieces.push_back({0, {record.data(), message.length, 0}});
}

}  // namespace rpcrdma::rpc
