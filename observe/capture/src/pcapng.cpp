// SPDX-License-Identifier: BSD-3-Clause
#include "pcapng.hpp"

#include <cstring>

namespace rpcrdma::capture::pcapng {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kInterfaceStatistics = 5;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrder = 0x1A2B3C4D;
constexpr std::uint16_t kRawIp = 101;  // LINKTYPE_RAW

enum Option : std::uint16_t {
  kEndOfOptions = 0,
  kComment = 1,
  kInterfaceName = 2,
  kApplication = 4,
  kPacketFlags = 2,
  kResolution = 9,
  kStartTime = 2,
  kEndTime = 3,
  kReceived = 4,
  kDropped = 5,
};
constexpr std::uint8_t kNanoseconds = 9;  // 10^-9 s

/// Appends one block, in the byte order of this machine. The destructor completes the block.
class Block {
 public:
  Block(Bytes& out, std::uint32_t type) : out_(out), start_(out.size()) {
    number(type);
    number(std::uint32_t{0});
  }
  ~Block() {
    const auto length = static_cast<std::uint32_t>(out_.size() - start_ + sizeof(std::uint32_t));
    std::memcpy(out_.data() + start_ + sizeof(std::uint32_t), &length, sizeof length);
    number(length);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  template <class T>
  void number(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), from, from + sizeof value);
  }
  void time(std::int64_t nanoseconds) {
    number(static_cast<std::uint32_t>(static_cast<std::uint64_t>(nanoseconds) >> 32));
    number(static_cast<std::uint32_t>(nanoseconds));
  }
  void padded(Octets octets) {
    out_.insert(out_.end(), octets.begin(), octets.end());
    out_.resize(out_.size() + pad4(octets.size()) - octets.size());
  }
  void option(std::uint16_t code, Octets value) {
    number(code);
    number(static_cast<std::uint16_t>(value.size()));
    padded(value);
  }
  void option(std::uint16_t code, std::string_view text) {
    option(code, std::as_bytes(std::span(text.substr(0, std::size_t{1} << 15))));
  }
  template <class T>
  void option_number(std::uint16_t code, T value) {
    option(code, std::as_bytes(std::span(&value, 1)));
  }
  void option_time(std::uint16_t code, std::int64_t nanoseconds) {
    number(code);
    number(static_cast<std::uint16_t>(sizeof nanoseconds));
    time(nanoseconds);
  }
  void end_options() {
    number(std::uint16_t{kEndOfOptions});
    number(std::uint16_t{0});
  }

 private:
  Bytes& out_;
  const std::size_t start_;
};

}  // namespace

void begin_file(Bytes& out, std::string_view application, std::string_view comment) {
  {
    Block block(out, kSectionHeader);
    block.number(kByteOrder);
    block.number(std::uint16_t{1});  // version 1.0
    block.number(std::uint16_t{0});
    block.number(~std::uint64_t{0});  // the length of the section is not given
    block.option(kComment, comment);
    block.option(kApplication, application);
    block.end_options();
  }
  Block block(out, kInterfaceDescription);
  block.number(kRawIp);
  block.number(std::uint16_t{0});
  block.number(std::uint32_t{0});  // packets are not cut
  block.option(kInterfaceName, "rdma");
  block.option_number(kResolution, kNanoseconds);
  block.end_options();
}

void add_packet(Bytes& out, const Packet& packet) {
  Block block(out, kEnhancedPacket);
  block.number(std::uint32_t{0});  // the number of the interface
  block.time(packet.when);
  block.number(static_cast<std::uint32_t>(packet.bytes.size()));
  block.number(static_cast<std::uint32_t>(packet.bytes.size()));
  block.padded(packet.bytes);
  block.option_number(kPacketFlags, packet.outbound ? std::uint32_t{2} : std::uint32_t{1});
  if (!packet.comment.empty()) block.option(kComment, packet.comment);
  block.end_options();
}

void add_statistics(Bytes& out, const Statistics& statistics) {
  Block block(out, kInterfaceStatistics);
  block.number(std::uint32_t{0});  // the number of the interface
  block.time(statistics.now);
  block.option_time(kStartTime, statistics.began);
  block.option_time(kEndTime, statistics.now);
  block.option_number(kReceived, statistics.received);
  block.option_number(kDropped, statistics.dropped);
  block.end_options();
}

}  // namespace rpcrdma::capture::pcapng
