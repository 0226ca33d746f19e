// SPDX-License-Identifier: BSD-3-Clause
#include "support/hex.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>

namespace rpcrdma::test {
namespace {

unsigned digit(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto at = kDigits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  if (at == std::string_view::npos) throw std::invalid_argument("not a hexadecimal digit");
  return static_cast<unsigned>(at);
}

}  // namespace

Bytes from_hex(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (std::isspace(static_cast<unsigned char>(c)) == 0) digits.push_back(c);
  if (digits.size() % 2 != 0) throw std::invalid_argument("odd number of hexadecimal digits");
  Bytes out;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    out.push_back(static_cast<std::byte>(digit(digits[i]) << 4 | digit(digits[i + 1])));
  return out;
}

std::string to_hex(Octets octets) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte octet : octets) {
    out.push_back(kDigits[static_cast<std::size_t>(octet >> 4)]);
    out.push_back(kDigits[static_cast<std::size_t>(octet & std::byte{15})]);
  }
  return out;
}

std::map<std::string, Bytes> load_vectors(std::string_view file_name) {
  std::ifstream file(std::string(RPCRDMA_TEST_DATA "/") + std::string(file_name));
  if (!file) throw std::runtime_error("no such test data: " + std::string(file_name));
  std::map<std::string, Bytes> out;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.back() == ':') {
      name = line.substr(0, line.size() - 1);
      out[name];
      continue;
    }
    const Bytes octets = from_hex(line);
    out[name].insert(out[name].end(), octets.begin(), octets.end());
  }
  return out;
}

ExactCopy::ExactCopy(Octets octets) : data_(new std::byte[octets.size()]), size_(octets.size()) {
  std::copy(octets.begin(), octets.end(), data_.get());
}

}  // namespace rpcrdma::test
