// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "rpcrdma/conform/codec/header.hpp"
#include "rpcrdma/conform/codec/rpc.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

using Time = std::chrono::milliseconds;
constexpr Time kSoon{300};
constexpr std::size_t kMarkerSize = 4, kMarkerDistance = 512, kMostRest = 1 << 20;
constexpr unsigned kFirstXid = 0xC0F00000;

unsigned value_of(std::byte byte) noexcept { return std::to_integer<unsigned>(byte); }

}  // namespace

Peer::Peer(const IwarpOptions& options, Record& record) : options_(options), record_(record), xid_(kFirstXid) {
  reconnect();
}

Peer::~Peer() {
  if (socket_ >= 0) ::close(socket_);
}

void Peer::reconnect() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = ::socket(options_.peer.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || ::connect(socket_, options_.peer.data(), static_cast<socklen_t>(options_.peer.size())) != 0)
    Record::fail(fmt::format("cannot connect: {}", std::strerror(errno)));
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  crc_ = true;
  markers_ = false;
  position_ = fpdu_at_ = 0;
  msn_ = 1;
  received_.clear();
  end_ = End::timeout;
}

bool Peer::wait(short events, Time patience) {
  pollfd one{socket_, events, 0};
  return ::poll(&one, 1, static_cast<int>(patience.count())) > 0;
}

void Peer::send(View bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return;  // the peer has ended the connection; a later read reports that
    } else if (!wait(POLLOUT, options_.patience)) {
      Record::fail("the peer does not read the data sent to it");
    }
  }
}

void Peer::finish_sending() { ::shutdown(socket_, SHUT_WR); }

void Peer::reset() {
  const linger hard{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  ::close(socket_);
  socket_ = -1;
}

/// Returns 0 if the stream has ended or nothing arrives in time; end_ tells which.
std::size_t Peer::read_some(std::byte* to, std::size_t size, Time patience) {
  end_ = End::timeout;
  if (!wait(POLLIN, patience)) return 0;
  const ssize_t got = ::recv(socket_, to, size, 0);
  if (got > 0) return static_cast<std::size_t>(got);
  end_ = got == 0 ? End::closed : End::reset;
  return 0;
}

Bytes Peer::receive(std::size_t count) {
  Bytes out(count);
  std::size_t have = 0;
  while (have < count) {
    const std::size_t got = read_some(out.data() + have, count - have, options_.patience);
    if (got == 0) break;
    have += got;
  }
  out.resize(have);
  return out;
}

End Peer::drain(Bytes& rest, Time patience) {
  std::byte buffer[4096];
  while (true) {
    const std::size_t got = read_some(buffer, sizeof buffer, patience);
    if (got == 0) return end_;
    rest.insert(rest.end(), buffer, buffer + got);
    Record::expect(rest.size() <= kMostRest, "the peer sends without end");
  }
}

bool Peer::speaks_soon() { return wait(POLLIN, kSoon); }

Reply Peer::expect_reply() {
  const Bytes head = receive(kStartUpSize);
  if (head.size() < kStartUpSize)
    Record::fail(head.empty() && end_ != End::timeout ? "the connection ended without a Reply"
                                                      : "no whole Reply: " + hex(head));
  Record::expect(std::equal(kReplyKey.begin(), kReplyKey.end(), head.begin(),
                            [](char one, std::byte two) { return static_cast<std::byte>(one) == two; }),
                 "not the key of a Reply: " + hex(head));
  Reply reply;
  reply.flags = static_cast<std::uint8_t>(value_of(head[16]));
  reply.revision = static_cast<std::uint8_t>(value_of(head[17]));
  const std::size_t length = value_of(head[18]) << 8 | value_of(head[19]);
  Record::expect(length <= 512, fmt::format("a Reply with {} bytes of private data", length));
  reply.private_data = receive(length);
  Record::expect(reply.private_data.size() == length, "the private data of the Reply is not complete");
  record_.received(fmt::format("Reply: flags {:#04x}, revision {}, {} bytes", reply.flags, reply.revision, length));
  if ((reply.flags & kEnhanced) != 0) reply.enhanced = decode_enhanced(In(reply.private_data).u32());
  if ((reply.flags & kReject) == 0) std::this_thread::sleep_for(options_.pause);
  return reply;
}

Reply Peer::start(const Request& request) {
  send(encode(request));
  const Reply reply = expect_reply();
  Record::expect((reply.flags & kReject) == 0, "the peer rejected the connection");
  if ((reply.flags & kMarkers) != 0) Record::skip("the peer asks for markers, which this tester does not send");
  crc_ = (request.flags & kCrc) != 0 || (reply.flags & kCrc) != 0;
  const auto data = find_private_data(reply.private_data);
  size_of_receives_ = data ? bytes_of_size(data->receive_size) : 1024;
  return reply;
}

void Peer::expect_refused(Time patience, bool may_announce) {
  Bytes rest;
  const End end = drain(rest, patience);
  Record::expect(end != End::timeout,
                 rest.empty() ? "the peer keeps the connection" : "the peer answered: " + hex(rest));
  if (rest.empty()) return;
  // The peer may send a Reply before it closes the connection. If the Reply does not reject the connection, the end
  // proves nothing: an accepted connection ends as well when the tester has finished sending.
  const bool accepted = rest.size() < kStartUpSize || (value_of(rest[16]) & kReject) == 0;
  record_.received("before the end: " + hex(rest));
  Record::expect(!accepted || (may_announce && rest.size() == kStartUpSize),
                 "the peer answered and then closed: " + hex(rest));
}

/// Receives bytes of the stream of FPDUs, and removes the markers. fpdu_ keeps the bytes with the markers.
Bytes Peer::receive_framed(std::size_t count) {
  Bytes out;
  while (out.size() < count) {
    if (markers_ && position_ % kMarkerDistance == 0) {
      const Bytes marker = receive(kMarkerSize);
      if (marker.size() < kMarkerSize) break;
      check_marker(marker);
      // A marker between two FPDUs belongs to the second one, which begins after it.
      if (position_ == fpdu_at_) fpdu_at_ += kMarkerSize;
      position_ += kMarkerSize;
      fpdu_.insert(fpdu_.end(), marker.begin(), marker.end());
    }
    const std::size_t left = count - out.size();
    const std::size_t part = markers_ ? std::min(left, kMarkerDistance - position_ % kMarkerDistance) : left;
    const Bytes more = receive(part);
    position_ += more.size();
    out.insert(out.end(), more.begin(), more.end());
    fpdu_.insert(fpdu_.end(), more.begin(), more.end());
    if (more.size() < part) break;
  }
  return out;
}

void Peer::check_marker(View marker) {
  // [5044-4.2-a] [5044-4.3-c] [5044-4.3-d] a marker holds the distance to the start of its FPDU, or 0 between FPDUs
  const std::uint32_t value = In(marker).u32();
  const std::uint32_t expected = static_cast<std::uint32_t>(position_ - fpdu_at_);
  Record::expect(value == expected, fmt::format("the marker at byte {} of the stream is {:#x}, expected {:#x}",
                                                position_, value, expected));
}

std::optional<Segment> Peer::next() {
  fpdu_at_ = position_;
  fpdu_.clear();
  Bytes whole = receive_framed(2);
  if (whole.size() < 2) {
    if (whole.empty() && end_ != End::timeout) return std::nullopt;
    Record::fail(end_ == End::timeout ? "no answer in time" : "the stream ends within an FPDU");
  }
  const std::size_t length = value_of(whole[0]) << 8 | value_of(whole[1]);
  const std::size_t pad = padded(2 + length) - 2 - length;
  const Bytes body = receive_framed(length + pad + 4);
  Record::expect(body.size() == length + pad + 4, "the stream ends within an FPDU");
  whole.insert(whole.end(), body.begin(), body.end());
  for (std::size_t i = 0; i < pad; ++i)  // [5044-4.1-b] the pad is zero
    Record::expect(whole[2 + length + i] == std::byte{0}, "the pad is not zero: " + hex(whole));
  if (crc_) {  // [5044-4.4-c] [5044-4.4-g] [5044-4.4-h] the CRC covers markers
    std::uint32_t crc = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) crc |= value_of(fpdu_[fpdu_.size() - 4 + byte]) << (8 * byte);
    Record::expect(crc == crc32c(View(fpdu_).first(fpdu_.size() - 4)),
                   "the CRC of the peer's FPDU is wrong: " + hex(fpdu_));
  }
  Segment segment = decode_segment(Bytes(whole.begin() + 2, whole.begin() + 2 + static_cast<std::ptrdiff_t>(length)));
  record_.received(describe(segment));
  if (!segment.tagged && segment.offset == 0) {  // [5041-4.3-b] MSNs count from 1
    const std::uint32_t expected = ++received_[segment.queue];
    Record::expect(segment.msn == expected, fmt::format("MSN {}, expected {}", segment.msn, expected));
  }
  return segment;
}

Segment Peer::expect(Opcode opcode) {
  auto segment = next();
  if (!segment) Record::fail(end_ == End::reset ? "the connection was reset" : "the connection ended");
  Record::expect(segment->opcode == opcode, "received a " + describe(*segment));
  return std::move(*segment);
}

Bytes Peer::null_call() {
  RdmaHeader header;
  header.xid = ++xid_;
  RpcCall call;
  call.xid = header.xid;
  call.program = options_.program;
  call.version = options_.version;
  Bytes out = conform::encode(header);
  const Bytes message = conform::encode(call);
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

void Peer::expect_answer() {
  auto segment = next();
  if (!segment)
    Record::fail(end_ == End::reset ? "the connection was reset" : "the connection ended without an answer");
  const bool is_send = !segment->tagged && segment->opcode >= kSend && segment->opcode <= kSendSeInvalidate;
  Record::expect(is_send && segment->queue == kSendQueue,
                 "received a " + describe(*segment) + " instead of the answer");
  View payload;
  const RdmaHeader header = decode_header(segment->payload(), payload);
  Record::expect(header.xid == xid_ && header.procedure == kMsg && In(payload).u32() == xid_,
                 "not the answer to the call: " + hex(segment->payload()));
}

void Peer::expect_alive() {
  Untagged header;
  header.msn = next_msn();
  segment(header, null_call());
  expect_answer();
}

std::optional<Segment> Peer::expect_end() {
  auto segment = next();
  if (!segment) return segment;
  Record::expect(segment->opcode == kTerminate, "received a " + describe(*segment) + " instead of the end");
  Bytes rest;
  Record::expect(drain(rest, options_.patience) != End::timeout, "the connection stays open after the Terminate");
  Record::expect(rest.empty(), "bytes follow the Terminate: " + hex(rest));  // [5040-5.4-c]
  return segment;
}

Segment Peer::expect_terminate(const std::vector<TerminateCode>& codes) {
  auto segment = expect_end();
  if (!segment) Record::fail("the connection ended without a Terminate");
  // [5040-5.4-a] [5040-4.8-a] a Terminate is one untagged segment on queue 2
  Record::expect(!segment->tagged && segment->queue == kTerminateQueue && segment->offset == 0 && segment->last,
                 "the Terminate is not a message on queue 2: " + describe(*segment));
  const View payload = segment->payload();
  Record::expect(payload.size() >= 4, "a Terminate of " + std::to_string(payload.size()) + " bytes");
  const TerminateCode code{value_of(payload[0]) >> 4, value_of(payload[0]) & 15, value_of(payload[1])};
  std::string expected;
  for (const TerminateCode& one : codes) expected += (expected.empty() ? "" : " or ") + describe(one);
  Record::expect(std::find(codes.begin(), codes.end(), code) != codes.end(),
                 fmt::format("Terminate {}, expected {}", describe(code), expected));
  return std::move(*segment);
}

}  // namespace rpcrdma::conform::iwarp
