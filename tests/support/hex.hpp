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

/// Bytes of hexadecimal digits; white space is skipped. Throws std::invalid_argument on anything else.
Bytes from_hex(std::string_view text);
std::string to_hex(Octets octets);

/// Reads a file of tests/data: lines of "name:", each followed by lines of hexadecimal digits; # comments.
std::map<std::string, Bytes> load_vectors(std::string_view file_name);

/// A copy in heap memory of exactly its size, so that the address sanitizer sees any read past the end.
class ExactCopy {
 public:
  explicit ExactCopy(Octets octets);
  Octets octets() const noexcept { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_;
};

}  // namespace rpcrdma::test
