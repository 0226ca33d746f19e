// SPDX-License-Identifier: BSD-3-Clause
#include "netlink.hpp"

#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::ipoib {
namespace {

error_code netlink_error() noexcept { return {errno, boost::system::system_category()}; }

struct Request {
  nlmsghdr header{};
  ifaddrmsg message{};
  std::array<std::byte, 64> attributes{};

  void add(std::uint16_t type, const void* data, std::size_t size) noexcept {
    const rtattr attribute{static_cast<std::uint16_t>(RTA_LENGTH(size)), type};
    std::byte* const at = reinterpret_cast<std::byte*>(this) + NLMSG_ALIGN(header.nlmsg_len);
    std::memcpy(at, &attribute, sizeof attribute);
    std::memcpy(at + RTA_LENGTH(0), data, size);
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_ALIGN(header.nlmsg_len) + RTA_ALIGN(attribute.rta_len));
  }
};

/// Sends `request`, and returns the status in the kernel's answer.
error_code exchange(int socket, const Request& request) {
  if (::send(socket, &request, request.header.nlmsg_len, 0) < 0) return netlink_error();
  struct {
    nlmsghdr header;
    nlmsgerr error;
    std::array<std::byte, 256> quoted;
  } answer{};
  if (::recv(socket, &answer, sizeof answer, 0) < static_cast<ssize_t>(sizeof answer.header + sizeof(int)))
    return netlink_error();
  if (answer.header.nlmsg_type != NLMSG_ERROR)
    return boost::system::errc::make_error_code(boost::system::errc::protocol_error);
  return {-answer.error.error, boost::system::system_category()};
}

}  // namespace

error_code add_address(int interface_index, const IpPrefix& address) {
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return netlink_error();
  Request request;
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.message);
  request.header.nlmsg_type = RTM_NEWADDR;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
  request.message.ifa_family = address.address.is_v4() ? AF_INET : AF_INET6;
  request.message.ifa_prefixlen = address.length;
  request.message.ifa_flags = IFA_F_NODAD;
  request.message.ifa_index = static_cast<std::uint32_t>(interface_index);
  const auto add = [&](const auto& bytes) {
    request.add(IFA_LOCAL, bytes.data(), bytes.size());
    request.add(IFA_ADDRESS, bytes.data(), bytes.size());
  };
  if (address.address.is_v4())
    add(address.address.to_v4().to_bytes());
  else
    add(address.address.to_v6().to_bytes());
  return exchange(socket.get(), request);
}

}  // namespace rpcrdma::ipoib
