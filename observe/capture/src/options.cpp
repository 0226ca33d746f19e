// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>
#include <limits>

#include "rpcrdma/base/host_path.hpp"

#include "rpcrdma/capture/capture.hpp"

namespace rpcrdma::capture {
namespace {

using IpAddress = boost::asio::ip::address;

constexpr std::uint32_t kMostFiles = 1000;

std::optional<std::uint64_t> parse_count(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc()) return std::nullopt;
  if (stop == end) return value;
  const std::size_t unit = kUnits.find(*stop);
  if (unit == kUnits.npos || stop + 1 != end) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (unit + 1));
  if (value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

std::optional<AddressRange> parse_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  boost::system::error_code bad;
  const IpAddress base = boost::asio::ip::make_address(std::string(text.substr(0, slash)), bad);
  if (bad) return std::nullopt;
  const unsigned most = base.is_v4() ? 32 : 128;
  unsigned bits = most;
  if (slash != text.npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (failed != std::errc() || stop != digits.data() + digits.size() || bits > most) return std::nullopt;
  }
  return AddressRange{base, bits};
}

/// Sets the option `name` (peer, size, files or snap) to `value`; false if the value is wrong.
bool take(std::string_view name, std::string_view value, CaptureOptions& options) {
  if (name == "peer") {
    options.peer = parse_range(value);
    return options.peer.has_value();
  }
  const auto count = parse_count(value);
  if (!count) return false;
  if (name == "size") {
    options.size = *count;
    return *count >= kLeastSize;
  }
  if (name == "files") {
    options.files = static_cast<std::uint32_t>(std::min<std::uint64_t>(*count, kMostFiles + 1));
    return *count >= 1 && *count <= kMostFiles;
  }
  options.snap = static_cast<std::uint32_t>(std::min<std::uint64_t>(*count, kWhole));
  return true;
}

}  // namespace

bool AddressRange::contains(const IpAddress& other) const noexcept {
  if (const IpAddress plain = rpcrdma::unmapped(other); plain != other && address.is_v4()) return contains(plain);
  const auto same = [this](const auto& one, const auto& two) {
    for (unsigned bit = 0; bit < bits; ++bit)
      if (((one[bit / 8] ^ two[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
    return true;
  };
  if (address.is_v4() != other.is_v4()) return false;
  return address.is_v4() ? same(address.to_v4().to_bytes(), other.to_v4().to_bytes())
                         : same(address.to_v6().to_bytes(), other.to_v6().to_bytes());
}

boost::system::result<CaptureOptions, CaptureRefusal> parse_capture(std::string_view text) {
  CaptureOptions options;
  const std::size_t comma = text.find(',');
  options.file = text.substr(0, comma);
  if (options.file.empty()) return CaptureRefusal{"the name of the file is missing"};
  std::string_view rest = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  bool more = comma != text.npos;
  while (more) {
    const std::size_t end = rest.find(',');
    const std::string_view option = rest.substr(0, end);
    more = end != rest.npos;
    rest = more ? rest.substr(end + 1) : std::string_view();
    const std::size_t equals = option.find('=');
    const std::string_view name = option.substr(0, equals);
    if (option == "stopped") {
      options.stopped = true;
    } else if (equals == option.npos || (name != "size" && name != "files" && name != "snap" && name != "peer")) {
      return CaptureRefusal{"unknown option: '" + std::string(option) + "'"};
    } else if (!take(name, option.substr(equals + 1), options)) {
      return CaptureRefusal{"wrong value: '" + std::string(option) + "'"};
    }
  }
  return options;
}

}  // namespace rpcrdma::capture
