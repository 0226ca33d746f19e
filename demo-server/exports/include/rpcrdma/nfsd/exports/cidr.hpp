// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace rpcrdma::nfsd {

/// A range of addresses: ADDRESS/BITS, or one ADDRESS. A range of IPv4-mapped IPv6 addresses stands for the IPv4
/// addresses.
class Cidr {
 public:
  /// Returns nothing if `text` is neither ADDRESS nor ADDRESS/BITS, or if ADDRESS has an IPv6 zone. Also returns
  /// nothing if ADDRESS is IPv4-mapped and BITS is less than 96, because not all addresses of this range would be
  /// IPv4-mapped.
  static std::optional<Cidr> parse(std::string_view text);
  /// Treats an IPv4-mapped IPv6 address as the IPv4 address.
  bool contains(const boost::asio::ip::address& address) const noexcept;
  std::string text() const;

 private:
  static std::optional<Cidr> make(const boost::asio::ip::address& base, unsigned bits);

  boost::asio::ip::address base_;
  unsigned bits_ = 0;
};

}  // namespace rpcrdma::nfsd
