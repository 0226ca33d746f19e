// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Entries in the table of this machine's rpcbind (RFC 1833 section 2.1), made and taken back over its local socket.
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::rpc {

struct RpcbindEntry {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::string netid;    ///< tcp, tcp6; rdma, rdma6 (RFC 8166 section 9)
  std::string address;  ///< universal address
  friend bool operator==(const RpcbindEntry&, const RpcbindEntry&) = default;
};

/// The universal address of an endpoint: the address as text, then both octets of the port (RFC 5665 section 5.2.3).
std::string universal_address(const boost::asio::ip::tcp::endpoint& endpoint);

/// Entries that exist as long as this object. All functions block, for `timeout` at most with each question to
/// rpcbind: not for threads that serve. Not synchronized.
class RpcbindRegistration {
 public:
  explicit RpcbindRegistration(std::chrono::seconds timeout = std::chrono::seconds(5)) : timeout_(timeout) {}
  ~RpcbindRegistration() { remove(); }
  RpcbindRegistration(const RpcbindRegistration&) = delete;
  RpcbindRegistration& operator=(const RpcbindRegistration&) = delete;

  /// All of `entries`, or none, false and one line in `why`: there is no rpcbind, or it refuses, as when somebody
  /// else is registered already.
  bool add(const std::vector<RpcbindEntry>& entries, std::string& why);
  /// Takes back what is there. A rpcbind that is gone has forgotten already.
  void remove() noexcept;

 private:
  std::chrono::seconds timeout_;
  std::vector<RpcbindEntry> entries_;
};

}  // namespace rpcrdma::rpc
