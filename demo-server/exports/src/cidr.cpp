// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/cidr.hpp"

#include <charconv>
#include <cstring>

#include "rpcrdma/base/host_path.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace ip = boost::asio::ip;

/// True if the first `bits` bits are equal.
template <class Bytes>
bool same_prefix(const Bytes& a, const Bytes& b, unsigned bits) noexcept {
  for (std::size_t i = 0; i < a.size() && bits != 0; ++i) {
    const unsigned here = bits < 8 ? bits : 8;
    const unsigned mask = 0xffu << (8 - here) & 0xffu;
    if (((a[i] ^ b[i]) & mask) != 0) return false;
    bits -= here;
  }
  return true;
}

}  // namespace

/// Makes the range of the addresses that have the first `bits` bits of `base`. If `base` is an IPv4-mapped IPv6
/// address, the result is a range of IPv4 addresses, or nothing if `bits` is less than 96. With fewer than 96 bits, the
/// range would also hold addresses that are not IPv4-mapped.
std::optional<Cidr> Cidr::make(const ip::address& base, unsigned bits) {
  Cidr range;
  range.base_ = unmapped(base);
  range.bits_ = bits;
  if (!base.is_v6() || range.base_.is_v6()) return range;
  constexpr unsigned kMappedPrefix = 96;
  if (bits < kMappedPrefix) return std::nullopt;
  range.bits_ = bits - kMappedPrefix;
  return range;
}

std::optional<Cidr> Cidr::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  boost::system::error_code bad;
  const ip::address base = ip::make_address(std::string(text.substr(0, slash)), bad);
  // Refuses an IPv6 zone, as a zone names an interface of this machine, not a range of addresses.
  if (bad || text.find('%') != text.npos) return std::nullopt;
  const unsigned most = base.is_v4() ? 32 : 128;
  if (slash == text.npos) return make(base, most);
  const std::string_view digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (failed != std::errc() || end != digits.data() + digits.size() || bits > most) return std::nullopt;
  return make(base, bits);
}

bool Cidr::contains(const ip::address& address) const noexcept {
  const ip::address other = unmapped(address);
  if (other.is_v4() != base_.is_v4()) return false;
  return base_.is_v4() ? same_prefix(base_.to_v4().to_bytes(), other.to_v4().to_bytes(), bits_)
                       : same_prefix(base_.to_v6().to_bytes(), other.to_v6().to_bytes(), bits_);
}

std::string Cidr::text() const {
  const bool single = bits_ == (base_.is_v4() ? 32u : 128u);
  return single ? base_.to_string() : base_.to_string() + "/" + std::to_string(bits_);
}

}  // namespace rpcrdma::nfsd
