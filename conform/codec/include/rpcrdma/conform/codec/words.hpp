// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// XDR (RFC 4506) as far as the testers need it: big-endian words and opaques.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::conform {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

/// Thrown by all decoders; what() names the error in the message.
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `size` rounded up to a multiple of four.
constexpr std::size_t padded(std::size_t size) noexcept { return (size + 3) / 4 * 4; }

/// Appends to a message. Nothing is checked: messages of a tester may be malformed.
class Out {
 public:
  Out& u32(std::uint32_t value);
  Out& u64(std::uint64_t value);
  Out& words(std::initializer_list<std::uint32_t> values);
  Out& raw(View bytes);                ///< the bytes alone
  Out& opaque(View bytes);             ///< length, bytes, pad
  Out& text(std::string_view string);  ///< as opaque()
  Out& zeros(std::size_t count);
  std::size_t size() const noexcept { return bytes_.size(); }
  const Bytes& bytes() const& noexcept { return bytes_; }
  Bytes bytes() && noexcept { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Reads a message from its start; reading beyond its end throws DecodeError. The message must outlive this object.
class In {
 public:
  explicit In(View bytes) noexcept : bytes_(bytes) {}
  std::uint32_t u32();
  std::uint64_t u64();
  bool boolean();                  ///< 0 or 1; throws for other words
  View raw(std::size_t count);     ///< the bytes alone
  View opaque(std::size_t limit);  ///< length, bytes, pad; throws if longer than `limit`
  std::string text(std::size_t limit);
  View rest() noexcept { return bytes_.subspan(at_); }
  std::size_t position() const noexcept { return at_; }
  std::size_t left() const noexcept { return bytes_.size() - at_; }
  void end() const;  ///< throws if bytes are left

 private:
  View bytes_;
  std::size_t at_ = 0;
};

View view_of(std::string_view text) noexcept;
/// The first `limit` bytes in hexadecimal, in groups of four bytes. If there are more, the number of all bytes follows.
std::string hex(View bytes, std::size_t limit = 64);
/// Returns `size` bytes that depend on the position and on the seed.
Bytes pattern(std::size_t size, std::uint32_t seed);

}  // namespace rpcrdma::conform
