// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Registers services with this machine's rpcbind (RFC 1833 section 2.1) over its local socket.
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma::rpc {

/// One program version at one address, as rpcbind lists it.
struct RpcbindEntry {
  std::uint32_t program = 0;  ///< program number
  std::uint32_t version = 0;  ///< program version
  std::string netid;          ///< tcp, tcp6; rdma, rdma6 (RFC 8166 section 9)
  std::string address;        ///< universal address
  friend bool operator==(const RpcbindEntry&, const RpcbindEntry&) = default;
};

/// Returns the entries to register for `programs`, which are pairs of a program number and a version. Each program has
/// up to four entries: for the first IPv4 and the first IPv6 listener in `tcp`, and for the first IPv4 and the first
/// IPv6 listener in `rdma`. A TCP listener at the IPv6 address :: can also accept IPv4 connections. Therefore, if `tcp`
/// has no IPv4 listener, its first listener at :: also has an IPv4 entry.
RPCRDMA_EXPORT std::vector<RpcbindEntry> rpcbind_entries(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& programs,
    const std::vector<boost::asio::ip::tcp::endpoint>& tcp, const std::vector<boost::asio::ip::tcp::endpoint>& rdma);

/// Success, or one line of text with the reason for the failure.
using RpcbindResult = boost::system::result<void, std::string>;

/// The universal address of an endpoint: the address as text, then both bytes of the port (RFC 5665 section 5.2.3).
RPCRDMA_EXPORT std::string universal_address(const boost::asio::ip::tcp::endpoint& endpoint);

/// Keeps entries registered as long as this object exists. All functions block, up to `timeout` for each request to
/// rpcbind: do not call them on a thread that serves calls. Not synchronized.
class RPCRDMA_EXPORT RpcbindRegistration {
 public:
  /// Registers nothing yet.
  explicit RpcbindRegistration(std::chrono::seconds timeout = std::chrono::seconds(5)) : timeout_(timeout) {}
  ~RpcbindRegistration() { remove(); }
  RpcbindRegistration(const RpcbindRegistration&) = delete;
  RpcbindRegistration& operator=(const RpcbindRegistration&) = delete;

  /// Registers all of `entries`. Fails with one line of text if rpcbind does not answer or refuses an entry, for
  /// example because another server is registered. If an entry fails, calls remove().
  RpcbindResult add(const std::vector<RpcbindEntry>& entries);
  /// As add(), but first removes existing entries of the same programs, versions and netids, such as the entries of a
  /// server that was killed.
  RpcbindResult replace(const std::vector<RpcbindEntry>& entries);
  /// Asks rpcbind to remove the entries that this object has registered, one after the other. Stops when rpcbind does
  /// not answer or refuses a request: the remaining entries then stay.
  void remove() noexcept;

 private:
  RpcbindResult set(const std::vector<RpcbindEntry>& entries, bool unset_first);

  std::chrono::seconds timeout_;
  std::vector<RpcbindEntry> entries_;
};

}  // namespace rpcrdma::rpc
