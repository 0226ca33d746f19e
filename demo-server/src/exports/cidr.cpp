// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/cidr.hpp"

#include <charconv>
#include <cstring>

namespace rpcrdma::nfsd {
namespace {

namespace ip = boost::asio::ip;

ip::address plain(const ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  return address;
}

/// Whether the first `bits` bits are the same.
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

std::optional<Cidr> Cidr::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  boost::system::error_code bad;
  Cidr range;
  range.base_ = ip::make_address(std::string(text.substr(0, slash)), bad);
  if (bad) return std::nullopt;
  const unsigned most = range.base_.is_v4() ? 32 : 128;
  range.bits_ = most;
  if (slash == text.npos) return range;
  const std::string_view digits = text.substr(slash + 1);
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), range.bits_);
  if (failed != std::errc() || end != digits.data() + digits.size() || range.bits_ > most) return std::nullopt;
  return range;
}

bool Cidr::contains(const ip::address& address) const noexcept {
  const ip::address other = plain(address);
  if (other.is_v4() != base_.is_v4()) return false;
  return base_.is_v4() ? same_prefix(base_.to_v4().to_bytes(), other.to_v4().to_bytes(), bits_)
                       : same_prefix(base_.to_v6().to_bytes(), other.to_v6().to_bytes(), bits_);
}

std::string Cidr::text() const { return base_.to_string() + "/" + std::to_string(bits_); }

}  // namespace rpcrdma::nfsd
