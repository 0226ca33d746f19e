// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/link/tun.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "netlink.hpp"
#include "packet_bytes.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::ipoib {
namespace {

// TUN_F_USO4 and TUN_F_USO6, new in Linux 6.2.
constexpr unsigned kUso4 = 0x20, kUso6 = 0x40;

/// struct virtio_net_hdr of linux/virtio_net.h, which does not compile as C++.
struct VirtioHeader {
  static constexpr std::uint8_t kNeedsChecksum = 1;
  static constexpr std::uint8_t kNone = 0, kTcp4 = 1, kTcp6 = 4, kUdp = 5;  // kUdp is new in Linux 6.2
  std::uint8_t flags, type;
  std::uint16_t headers, cut_size, checksum_start, checksum_offset;
};
/// The maximum number of parts of a packet in one write.
constexpr std::size_t kMaxParts = 128;

error_code tun_error() noexcept { return {errno, boost::system::system_category()}; }

error_code control(int descriptor, unsigned long request, ifreq& interface) noexcept {
  return ::ioctl(descriptor, request, &interface) < 0 ? tun_error() : error_code();
}

/// Permits the kernel to leave work on packets to this program: to complete checksums, and to cut a large packet into
/// TCP segments or UDP datagrams. Kernels before Linux 6.2 support this without the cutting for UDP.
error_code set_offloads(int descriptor) noexcept {
  constexpr unsigned long tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
  if (::ioctl(descriptor, TUNSETOFFLOAD, tcp | kUso4 | kUso6) == 0) return {};
  return ::ioctl(descriptor, TUNSETOFFLOAD, tcp) == 0 ? error_code() : tun_error();
}

Offload offload_of(const VirtioHeader& header) noexcept {
  Offload out{.cut_size = header.cut_size,
              .checksum = (header.flags & VirtioHeader::kNeedsChecksum) != 0,
              .checksum_start = header.checksum_start,
              .checksum_offset = header.checksum_offset};
  if (header.type != VirtioHeader::kNone)
    out.cut = header.type == VirtioHeader::kUdp ? Offload::Cut::udp : Offload::Cut::tcp;
  return out;
}

VirtioHeader header_of(Octets packet, const Offload& offload) noexcept {
  VirtioHeader header{};
  if (!offload.checksum) return header;
  header.flags = VirtioHeader::kNeedsChecksum;
  header.checksum_start = offload.checksum_start;
  header.checksum_offset = offload.checksum_offset;
  if (offload.cut != Offload::Cut::tcp) return header;
  header.type = byte_at(packet, 0) >> 4 == 6 ? VirtioHeader::kTcp6 : VirtioHeader::kTcp4;
  header.cut_size = offload.cut_size;
  header.headers = static_cast<std::uint16_t>(packet.size());
  return header;
}

/// Sets the MTU, brings the interface up, and adds the addresses.
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
      // The process has the privileges, because it has just brought the interface up. The kernel also reports
      // "permission denied" for other reasons, for example if IPv6 is disabled. Therefore the caller gets an error that
      // does not suggest a lack of privileges.
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
  interface.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  Fd descriptor(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor) return tun_error();
  if (const error_code failed = control(descriptor.get(), TUNSETIFF, interface)) return failed;
  if (options.offload)
    if (const error_code failed = set_offloads(descriptor.get())) return failed;
  if (const error_code failed = configure(interface, options)) return failed;
  return std::unique_ptr<Tun>(new Tun(context, descriptor.release(), interface.ifr_name));
}

void Tun::wait(UniqueFunction<void()> ready) {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [ready = std::move(ready)](error_code failed) mutable {
                           if (!failed) ready();
                         });
}

Result<std::size_t> Tun::read(MutableOctets out, MutableOctets rest, Offload& offload) noexcept {
  VirtioHeader header{};
  const std::array<iovec, 3> parts{iovec{&header, sizeof header}, iovec{out.data(), out.size()},
                                   iovec{rest.data(), rest.size()}};
  const ssize_t size = ::readv(descriptor_.native_handle(), parts.data(), static_cast<int>(parts.size()));
  if (size < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
    return tun_error();
  }
  offload = offload_of(header);
  return std::max(static_cast<std::size_t>(size), sizeof header) - sizeof header;
}

bool Tun::write(std::span<const Octets> packet, const Offload& offload) noexcept {
  VirtioHeader header = header_of(packet.front(), offload);
  std::array<iovec, kMaxParts + 1> parts;
  parts[0] = {&header, sizeof header};
  std::size_t count = 1, size = sizeof header;
  for (const Octets part : packet.first(std::min(packet.size(), kMaxParts))) {
    parts[count++] = {const_cast<std::byte*>(part.data()), part.size()};  // writev() does not write to the data
    size += part.size();
  }
  return ::writev(descriptor_.native_handle(), parts.data(), static_cast<int>(count)) == static_cast<ssize_t>(size);
}

}  // namespace rpcrdma::ipoib
