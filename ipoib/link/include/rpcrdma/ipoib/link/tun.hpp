// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A TUN device of Linux. The program reads from a file descriptor the packets that the kernel's IP stack sends to the
// device. The IP stack receives the packets that the program writes to the descriptor.
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <vector>

#include "rpcrdma/ipoib/link/ip_address.hpp"
#include "rpcrdma/ipoib/link/packet_device.hpp"

namespace rpcrdma::ipoib {

struct TunOptions {
  std::string name{};                 ///< empty: the kernel chooses; "%d" in it becomes a number
  std::uint32_t mtu = 0;              ///< the MTU of the device
  std::vector<IpPrefix> addresses{};  ///< addresses of this host; each prefix becomes a route to the device
  bool offload = true;                ///< whether the stack leaves checksums and segmentation to this device
};

/// Owns a TUN device. The kernel removes the device when this object is destroyed or the process ends.
class Tun final : public PacketDevice {
 public:
  /// Makes the device, brings it up, and gives it its addresses. Needs CAP_NET_ADMIN; later operations work without it.
  static Result<std::unique_ptr<Tun>> make(boost::asio::io_context& context, const TunOptions& options);

  const std::string& name() const noexcept { return name_; }

  void wait(UniqueFunction<void()> ready) override;
  Result<std::size_t> read(MutableOctets out, MutableOctets rest, Offload& offload) noexcept override;
  /// `packet` has at most 128 parts. The first part begins with the headers, and contains all headers if the packet
  /// must be cut.
  bool write(std::span<const Octets> packet, const Offload& offload) noexcept override;

 private:
  Tun(boost::asio::io_context& context, int descriptor, std::string name);
  boost::asio::posix::stream_descriptor descriptor_;
  const std::string name_;
};

}  // namespace rpcrdma::ipoib
