// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/header.hpp"

#include "chunk_codec.hpp"

namespace rpcrdma::wire {
namespace {

/// Has the interface of Writer and counts only, so that sizes come from the encoder.
class Counter {
 public:
  void u32(std::uint32_t) noexcept { size_ += 4; }
  void u64(std::uint64_t) noexcept { size_ += 8; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
};

DecodeResult decode_error_body(Reader& in, std::size_t message_size, Header& out) noexcept {
  out.error = static_cast<ErrorKind>(in.u32());
  switch (out.error) {
    case ErrorKind::vers:
      out.lowest_version = in.u32();
      out.highest_version = in.u32();
      break;
    case ErrorKind::chunk: break;
    default: return WireError::bad_error;  // [8166-4.5-g]
  }
  if (!in.ok()) return WireError::bad_error;  // [8166-4.5-g]
  return message_size - in.remaining();
}

DecodeResult decode_lists(Reader& in, std::size_t message_size, const DecodeLimits& limits, Header& out) {
  if (const auto error = decode_chunks(in, out.chunks, limits.max_segments)) return *error;
  const std::size_t length = message_size - in.remaining();
  if (out.procedure == Procedure::nomsg) {
    // [8166-4.2.4-a] some chunk list holds the payload
    if (out.chunks.empty()) return WireError::bad_chunks;
  } else if (in.u32() != out.xid || !in.ok()) {
    // [8166-4.2.1-a] [8166-3.2-a] the payload begins with the same XID
    return WireError::xid_mismatch;
  }
  return length;
}

/// What encode() refuses to send.
bool sendable(const Header& header) noexcept {
  switch (header.procedure) {
    case Procedure::msg: return true;
    case Procedure::nomsg: return !header.chunks.empty();  // [8166-4.2.4-a]
    case Procedure::error: return header.error == ErrorKind::vers || header.error == ErrorKind::chunk;
    case Procedure::msgp:                // [8166-4.6.1-a]
    case Procedure::done: return false;  // [8166-4.6.2-a]
  }
  return false;
}

template <class Sink>
void encode_to(Sink& out, const Header& header) noexcept {
  // [8166-4-a]
  out.u32(header.xid);
  out.u32(header.version);
  out.u32(header.credits);
  out.u32(static_cast<std::uint32_t>(header.procedure));
  if (header.procedure != Procedure::error) return encode_chunks(out, header.chunks);
  out.u32(static_cast<std::uint32_t>(header.error));
  if (header.error == ErrorKind::vers) {
    out.u32(header.lowest_version);
    out.u32(header.highest_version);
  }
}

void make_error(const Header& bad, std::uint32_t granted_credits, ErrorKind kind, Header& out) noexcept {
  const std::uint32_t xid = bad.xid;
  const std::uint32_t version = bad.version;  // `out` may be `bad`
  out.clear();
  out.xid = xid;          // [8166-4.5-d]
  out.version = version;  // [8166-4.5-e]
  out.credits = granted_credits;
  out.procedure = Procedure::error;
  out.error = kind;
}

}  // namespace

void Header::clear() noexcept {
  xid = 0;
  version = kVersion;
  credits = 1;
  procedure = Procedure::msg;
  chunks.clear();
  error = ErrorKind::chunk;
  lowest_version = highest_version = kVersion;
}

DecodeResult decode(Octets message, Header& out, const DecodeLimits& limits) {
  out.clear();
  if (message.size() < kFixedPart) return WireError::too_short;
  Reader in(message);
  // [8166-7-a] these words are the same in every version
  out.xid = in.u32();
  out.version = in.u32();
  out.credits = in.u32();
  out.procedure = static_cast<Procedure>(in.u32());
  // An RDMA_ERROR may be shorter than the smallest header, and its version is that of the message refused.
  if (out.procedure == Procedure::error) return decode_error_body(in, message.size(), out);
  // [8166-4.5-a] discarded before it is parsed
  if (message.size() < kMinHeader) return WireError::too_short;
  // [8166-4.2.2-a]
  if (out.version != kVersion) return WireError::bad_version;
  switch (out.procedure) {
    case Procedure::msg:
    case Procedure::nomsg: return decode_lists(in, message.size(), limits, out);
    case Procedure::msgp: return WireError::obsolete_msgp;
    case Procedure::done: return WireError::obsolete_done;
    default: return WireError::bad_procedure;
  }
}

Result<std::size_t> encode(const Header& header, MutableOctets out) noexcept {
  if (!sendable(header)) return make_error_code(BaseError::invalid_argument);
  Writer writer(out);
  encode_to(writer, header);
  if (!writer.ok()) return make_error_code(BaseError::buffer_overflow);
  return writer.size();
}

std::size_t encoded_size(const Header& header) noexcept {
  if (!sendable(header)) return 0;
  Counter counter;
  encode_to(counter, header);
  return counter.size();
}

void make_err_vers(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept {
  make_error(bad, granted_credits, ErrorKind::vers, out);  // [8166-4.5.1-a] the range is kVersion..kVersion
}

void make_err_chunk(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept {
  make_error(bad, granted_credits, ErrorKind::chunk, out);  // [8166-4.5.2-a]
}

}  // namespace rpcrdma::wire
