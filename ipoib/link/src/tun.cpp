// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/link/tun.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "netlink.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::ipoib {
namespace {

error_code tun_error() noexcept { return {errno, boost::system::system_category()}; }

error_code control(int descriptor, unsigned long request, ifreq& interface) noexcept {
  return ::ioctl(descriptor, request, &interface) < 0 ? tun_error() : error_code();
}

/// MTU, addresses, up.
error_code configure(ifreq interface, const TunOptions& options) {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return tun_error();
  interface.ifr_mtu = static_cast<int>(options.mtu);
  if (const error_code failed = control(socket.get(), SIOCSIFMTU, interface)) return failed;
  if (const error_code failed = control(socket.get(), SIOCGIFINDEX, interface)) return failed;
  const int index = interface.ifr_ifindex;
  if (const error_code failed = control(socket.get(), SIOCGIFFLAGS, interface)) return failed;
  interface.ifr_flags = static_cast<short>(interface.ifr_flags | IFF_UP);
  if (const error_code failed = control(socket.get(), SIOCSIFFLAGS, interface)) return failed;
  for (const IpPrefix& address : options.addresses)
    if (const error_code failed = add_address(index, address)) {
      // No lack of privileges, as the interface is up: IPv6 is disabled, for example.
      const bool refused = failed == boost::system::errc::permission_denied;
      return refused ? boost::system::errc::make_error_code(boost::system::errc::address_not_available) : failed;
    }
  return {};
}

}  // namespace

Tun::Tun(boost::asio::io_context& context, int descriptor, std::string name)
    : descriptor_(context, descriptor), name_(std::move(name)) {}

Result<std::unique_ptr<Tun>> Tun::make(boost::asio::io_context& context, const TunOptions& options) {
  ifreq interface {};
  if (options.name.size() >= sizeof interface.ifr_name) return BaseError::invalid_argument;
  std::memcpy(interface.ifr_name, options.name.data(), options.name.size());
  interface.ifr_flags = IFF_TUN | IFF_NO_PI;
  Fd descriptor(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor) return tun_error();
  if (const error_code failed = control(descriptor.get(), TUNSETIFF, interface)) return failed;
  if (const error_code failed = configure(interface, options)) return failed;
  return std::unique_ptr<Tun>(new Tun(context, descriptor.release(), interface.ifr_name));
}

void Tun::wait(UniqueFunction<void()> ready) {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [ready = std::move(ready)](error_code failed) mutable {
                           if (!failed) ready();
                         });
}

Result<std::size_t> Tun::read(MutableOctets out) noexcept {
  const ssize_t size = ::read(descriptor_.native_handle(), out.data(), out.size());
  if (size >= 0) return static_cast<std::size_t>(size);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return tun_error();
}

bool Tun::write(Octets packet) noexcept {
  return ::write(descriptor_.native_handle(), packet.data(), packet.size()) == static_cast<ssize_t>(packet.size());
}

}  // namespace rpcrdma::ipoib
