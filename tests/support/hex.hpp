// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::test {

using Bytes = std::vector<std::byte>;

/// Returns the bytes that hexadecimal digits stand for; skips white space. Throws std::invalid_argument on any other
/// character.
Bytes from_hex(std::string_view text);
std::string to_hex(Octets octets);

/// Reads a file of tests/data. A line "NAME:" starts a vector; lines of hexadecimal digits follow it. Lines that begin
/// with # are comments.
std::map<std::string, Bytes> load_vectors(std::string_view file_name);

/// A copy in heap memory of exactly its size, so that the address sanitizer detects a read past its end.
class ExactCopy {
 public:
  explicit ExactCopy(Octets octets);
  Octets octets() const noexcept { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_;
};

}  // namespace rpcrdma::test
