// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Bounded cursors over bytes in network order. Failure is sticky: after the first read or write past the end, ok() is
// false, further reads yield zero, and further writes do nothing. Check ok() once, at the end.
#include <boost/endian/conversion.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rpcrdma {

using Octets = std::span<const std::byte>;
using MutableOctets = std::span<std::byte>;

/// Reads big-endian values from memory that it does not own.
class Reader {
 public:
  explicit Reader(Octets octets) noexcept : next_(octets.data()), left_(octets.size()) {}

  bool ok() const noexcept { return ok_; }
  std::size_t remaining() const noexcept { return left_; }
  /// The bytes that have not been read yet; empty after a failure.
  Octets rest() const noexcept { return {next_, left_}; }
  /// Makes this cursor fail, for a value that the caller found to be wrong.
  void fail() noexcept {
    ok_ = false;
    left_ = 0;
  }

  std::uint8_t u8() noexcept { return integer<std::uint8_t>(); }
  std::uint16_t u16() noexcept { return integer<std::uint16_t>(); }
  std::uint32_t u32() noexcept { return integer<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return integer<std::uint64_t>(); }

  /// The next `count` bytes, in place. If fewer remain, fails and returns an empty span.
  Octets octets(std::size_t count) noexcept {
    if (!take(count)) return {};
    return {next_ - count, count};
  }
  void skip(std::size_t count) noexcept { take(count); }

 private:
  bool take(std::size_t count) noexcept {
    if (count > left_) {
      fail();
      return false;
    }
    next_ += count;
    left_ -= count;
    return true;
  }
  template <class T>
  T integer() noexcept {
    T value = 0;
    if (take(sizeof(T))) std::memcpy(&value, next_ - sizeof(T), sizeof(T));
    return boost::endian::big_to_native(value);
  }

  const std::byte* next_;
  std::size_t left_;
  bool ok_ = true;
};

/// Writes big-endian values to memory that it does not own.
class Writer {
 public:
  explicit Writer(MutableOctets octets) noexcept : begin_(octets.data()), next_(octets.data()), left_(octets.size()) {}

  bool ok() const noexcept { return ok_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(next_ - begin_); }
  std::size_t remaining() const noexcept { return left_; }
  Octets written() const noexcept { return {begin_, size()}; }

  void u8(std::uint8_t value) noexcept { integer(value); }
  void u16(std::uint16_t value) noexcept { integer(value); }
  void u32(std::uint32_t value) noexcept { integer(value); }
  void u64(std::uint64_t value) noexcept { integer(value); }
  void octets(Octets value) noexcept {
    if (std::byte* at = take(value.size()); at != nullptr && !value.empty())
      std::memcpy(at, value.data(), value.size());
  }
  void zeros(std::size_t count) noexcept {
    if (std::byte* at = take(count); at != nullptr && count != 0) std::memset(at, 0, count);
  }

 private:
  std::byte* take(std::size_t count) noexcept {
    if (count > left_) {
      ok_ = false;
      left_ = 0;
      return nullptr;
    }
    std::byte* at = next_;
    next_ += count;
    left_ -= count;
    return at;
  }
  template <class T>
  void integer(T value) noexcept {
    boost::endian::native_to_big_inplace(value);
    if (std::byte* at = take(sizeof(T))) std::memcpy(at, &value, sizeof(T));
  }

  std::byte* begin_;
  std::byte* next_;
  std::size_t left_;
  bool ok_ = true;
};

/// `n` rounded up to a multiple of four (XDR, RFC 4506 section 3).
constexpr std::size_t pad4(std::size_t n) noexcept { return (n + 3) & ~std::size_t{3}; }
constexpr std::uint32_t pad4(std::uint32_t n) noexcept { return (n + 3) & ~std::uint32_t{3}; }

}  // namespace rpcrdma
