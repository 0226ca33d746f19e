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
constexpr std::size_t kLongestText = std::size_t{1} << 15;

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
    option(code, std::as_bytes(std::span(text.substr(0, kLongestText))));
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
  block.number(std::uint32_t{0});  // no limit on the size of a packet
  block.option(kInterfaceName, "rdma");
  block.option_number(kResolution, kNanoseconds);
  block.end_options();
}

/// Appends the block of a packet to `out`. Returns the place of the packet's bytes, which the caller must write. Most
/// blocks of a file are packets. Therefore this function does not use Block, but resizes `out` only once.
MutableOctets add_packet(Bytes& out, const Packet& packet) {
  struct Head {
    std::uint32_t type, length, interface, high, low, captured, original;
  };
  struct Option {
    std::uint16_t code, size;
  };
  const std::string_view comment = packet.comment.substr(0, kLongestText);
  const auto size = static_cast<std::uint32_t>(packet.size);
  const std::uint32_t flags = packet.outbound ? 2 : 1;
  const auto length = static_cast<std::uint32_t>(sizeof(Head) + pad4(size) + sizeof(Option) + sizeof flags +
                                                 (comment.empty() ? 0 : sizeof(Option) + pad4(comment.size())) +
                                                 sizeof(Option) + sizeof(std::uint32_t));
  const std::size_t start = out.size();
  out.resize(start + length);
  std::byte* to = out.data() + start;
  const auto put = [&to](Octets bytes) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += pad4(bytes.size());
  };
  const auto put_value = [&put](const auto& value) { put(std::as_bytes(std::span(&value, 1))); };
  const auto when = static_cast<std::uint64_t>(packet.when);
  put_value(Head{kEnhancedPacket, length, 0, static_cast<std::uint32_t>(when >> 32), static_cast<std::uint32_t>(when),
                 size, size});
  const MutableOctets place(to, size);
  to += pad4(size);
  put_value(Option{kPacketFlags, sizeof flags});
  put_value(flags);
  if (!comment.empty()) {
    put_value(Option{kComment, static_cast<std::uint16_t>(comment.size())});
    put(std::as_bytes(std::span(comment)));
  }
  put_value(Option{kEndOfOptions, 0});
  put_value(length);
  return place;
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
