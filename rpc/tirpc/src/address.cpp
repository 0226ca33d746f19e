// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <netdb.h>
#include <rpc/rpcb_prot.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>

#include "outgoing_call.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::tirpc {
namespace {

using boost::asio::ip::address;

constexpr std::uint16_t kRpcbindPort = 111;

bool parse_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

/// The port in a universal address: the address ends with the two bytes of the port (RFC 5665 section 5.2.3.3).
std::optional<std::uint16_t> port_of(std::string_view universal) {
  const std::size_t low_dot = universal.rfind('.');
  if (low_dot == std::string_view::npos || low_dot == 0) return std::nullopt;
  const std::size_t high_dot = universal.rfind('.', low_dot - 1);
  std::uint16_t high = 0;
  std::uint16_t low = 0;
  const std::size_t start = high_dot == std::string_view::npos ? 0 : high_dot + 1;
  if (!parse_port(universal.substr(start, low_dot - start), high) || !parse_port(universal.substr(low_dot + 1), low) ||
      high > 255 || low > 255) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(high << 8 | low);
}

/// Returns the port of `program` on the transport `netid`. If no entry has `version`, returns the port of another
/// version, as rpcbind's GETADDR procedure does. The server then answers a call with the versions that it serves. The
/// library searches rpcbind's list itself because GETADDR ignores the netid in its argument: it uses the netid of the
/// transport on which the request arrives.
std::optional<std::uint16_t> find_port(const rpcblist* entries, rpcprog_t program, rpcvers_t version,
                                       std::string_view netid) {
  std::optional<std::uint16_t> other;
  for (const rpcblist* one = entries; one != nullptr; one = one->rpcb_next) {
    const rpcb& map = one->rpcb_map;
    if (map.r_prog != program || map.r_netid != netid) continue;
    const auto port = port_of(map.r_addr);
    if (port && map.r_vers == version) return port;
    if (port) other = port;
  }
  return other;
}

std::nullopt_t failed(clnt_stat stat, const rpc_err& error) {
  rpc_createerr.cf_stat = stat;
  rpc_createerr.cf_error = error;
  return std::nullopt;
}

std::nullopt_t failed(int number) {
  rpc_err error{};
  error.re_status = RPC_SYSTEMERROR;
  error.re_errno = number;
  return failed(RPC_SYSTEMERROR, error);
}

}  // namespace

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    if (!fabric::parse_provider(text.substr(0, at), target.provider)) return std::nullopt;
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    target.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return std::nullopt;
  } else if (const std::size_t colon = text.find(':'); colon == text.rfind(':') && colon != std::string_view::npos) {
    target.host = text.substr(0, colon);
    port = text.substr(colon);
  } else {
    target.host = text;  // no colon, or the colons of an IPv6 address
  }
  if (!port.empty()) {
    target.port = 0;
    if (!parse_port(port.substr(1), *target.port)) return std::nullopt;
  }
  if (target.host.empty()) return std::nullopt;
  return target;
}

std::vector<address> addresses_of(const std::string& host) {
  std::vector<address> out;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return out;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    fabric::Endpoint endpoint;
    if (one->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    out.push_back(endpoint.address());
  }
  ::freeaddrinfo(found);
  return out;
}

const char* netid_of(const address& address) noexcept { return address.is_v6() ? "rdma6" : "rdma"; }

sockaddr_storage socket_address(const fabric::Endpoint& endpoint, socklen_t& length) noexcept {
  sockaddr_storage out{};
  length = static_cast<socklen_t>(endpoint.size());
  std::memcpy(&out, endpoint.data(), length);
  return out;
}

std::optional<std::uint16_t> ask_rpcbind(const address& host, rpcprog_t program, rpcvers_t version,
                                         std::chrono::milliseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timeval limit{seconds.count(),
                      std::chrono::duration_cast<std::chrono::microseconds>(timeout - seconds).count()};
  socklen_t length = 0;
  sockaddr_storage peer = socket_address({host, kRpcbindPort}, length);
  const Fd fd(::socket(peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // The send timeout also limits the time of connect().
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer), length) != 0) {
    return failed(errno);
  }
  netbuf where{length, length, &peer};
  CLIENT* client = ::clnt_vc_create(fd.get(), &where, RPCBPROG, RPCBVERS, 0, 0);
  if (client == nullptr) return failed(rpc_createerr.cf_error.re_errno);
  rpcblist_ptr entries = nullptr;
  const auto decode = reinterpret_cast<xdrproc_t>(xdr_rpcblist_ptr);
  const clnt_stat status = clnt_call(client, RPCBPROC_DUMP, no_results, nullptr, decode, &entries, limit);
  rpc_err error{};
  clnt_geterr(client, &error);
  // Searches the entries only if the whole reply has been decoded. After the decoding of a truncated reply, the strings
  // of an entry may be null pointers.
  const auto port = status == RPC_SUCCESS ? find_port(entries, program, version, netid_of(host)) : std::nullopt;
  clnt_freeres(client, decode, &entries);
  auth_destroy(client->cl_auth);
  clnt_destroy(client);
  if (status != RPC_SUCCESS) return failed(RPC_PMAPFAILURE, error);
  return port ? port : failed(RPC_PROGNOTREGISTERED, {});
}

}  // namespace rpcrdma::tirpc
