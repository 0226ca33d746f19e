// SPDX-License-Identifier: BSD-3-Clause
#include "frames.hpp"

#include <algorithm>
#include <cstring>

namespace rpcrdma::proxy {
namespace {

constexpr std::string_view kRequestKey = "MPA ID Req Frame", kReplyKey = "MPA ID Rep Frame";
constexpr std::size_t kStartUpSize = 20, kMaxPrivateData = 512;
constexpr unsigned kMarkerBit = 0x80, kCrcBit = 0x40, kRejectBit = 0x20;
constexpr unsigned kTaggedBit = 0x80, kLastBit = 0x40, kOpcodeMask = 0x0F;
enum Opcode : unsigned { kWrite, kReadRequest, kReadResponse, kSend, kSendSeInvalidate = 6, kTerminate };

}  // namespace

std::optional<Frame> FrameReader::next(Octets bytes) {
  if (unframed_) return std::nullopt;
  if (!flags_) return start_up(bytes);
  Reader reader(bytes);
  const std::size_t length = reader.u16();
  const Octets ulpdu = reader.octets(length);
  reader.skip(pad4(kLengthSize + length) - kLengthSize - length);
  reader.skip(kCrcSize);
  if (!reader.ok()) return std::nullopt;
  return segment(ulpdu, bytes.size() - reader.remaining());
}

std::optional<Frame> FrameReader::start_up(Octets bytes) {
  const std::string_view key = side_ == Side::to_server ? kRequestKey : kReplyKey;
  const std::size_t compared = std::min(bytes.size(), key.size());
  if (compared != 0 && std::memcmp(bytes.data(), key.data(), compared) != 0) unframed_ = true;
  if (unframed_ || bytes.size() < kStartUpSize) return std::nullopt;
  Reader reader(bytes.subspan(key.size()));
  const unsigned bits = reader.u8();
  reader.skip(1);  // revision
  const std::size_t private_size = reader.u16();
  unframed_ = private_size > kMaxPrivateData;
  reader.skip(private_size);
  if (unframed_ || !reader.ok()) return std::nullopt;
  flags_ = Flags{(bits & kMarkerBit) != 0, (bits & kCrcBit) != 0, (bits & kRejectBit) != 0};
  Frame frame;
  frame.kind = side_ == Side::to_server ? Kind::mpa_request : Kind::mpa_reply;
  frame.size = kStartUpSize + private_size;
  return frame;
}

Frame FrameReader::segment(Octets ulpdu, std::size_t size) {
  Frame frame;
  frame.size = size;
  Reader reader(ulpdu);
  const unsigned control = reader.u8(), opcode = reader.u8() & kOpcodeMask;
  const bool is_tagged = (control & kTaggedBit) != 0;
  if (ulpdu.size() < (is_tagged ? kTaggedSize : kUntaggedSize)) return frame;
  frame.last = (control & kLastBit) != 0;
  if (is_tagged)
    tagged(frame, opcode);
  else
    untagged(frame, opcode, ulpdu);
  return frame;
}

void FrameReader::tagged(Frame& frame, unsigned opcode) {
  if (opcode == kWrite) frame.kind = Kind::write;
  if (opcode == kReadResponse) frame.kind = Kind::read_response;
  frame.first = !in_message_[opcode];
  in_message_[opcode] = !frame.last;
}

void FrameReader::untagged(Frame& frame, unsigned opcode, Octets ulpdu) {
  Reader reader(ulpdu.subspan(kMsnOffset - kLengthSize + 4));
  frame.first = reader.u32() == 0;  // message offset
  if (opcode == kReadRequest) frame.kind = Kind::read_request;
  if (opcode == kTerminate) frame.kind = Kind::terminate;
  if (opcode < kSend || opcode > kSendSeInvalidate) return;
  if (frame.first) {
    frame.rpc = read_rpc_message(ulpdu.subspan(kUntaggedSize), side_);
    send_kind_ = !frame.rpc ? Kind::send : frame.rpc->is_call ? Kind::call : Kind::reply;
  }
  frame.kind = send_kind_;
}

}  // namespace rpcrdma::proxy
