// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/header.hpp"

#include <algorithm>
#include <optional>

#include "chunk_codec.hpp"
#include "counter.hpp"

namespace rpcrdma::wire {
namespace {

DecodeResult decode_error_body(Reader& in, std::size_t message_size, Header& out) noexcept {
  out.direction = Direction::reply;  // [v2-4.2.2-b] an error is a reply
  out.error = static_cast<ErrorKind>(in.u32());
  switch (out.error) {
    case ErrorKind::vers:
      out.lowest_version = in.u32();
      out.highest_version = in.u32();
      break;
    case ErrorKind::chunk: break;
    case ErrorKind::invalid_option:
      if (out.version >= kVersionTwo) break;
      return WireError::bad_error;
    default: return WireError::bad_error;  // [8166-4.5-g] malformed
  }
  if (!in.ok()) return WireError::bad_error;  // [8166-4.5-g] malformed
  return message_size - in.remaining();
}

bool decode_direction(Reader& in, Direction& out) noexcept {
  const std::uint32_t word = in.u32();
  out = static_cast<Direction>(word);
  return in.ok() && word <= static_cast<std::uint32_t>(Direction::reply);
}

/// Checks the first words of an RDMA_MSG's payload, which repeat fields of the header.
std::optional<WireError> check_payload(Reader& in, const Header& header) noexcept {
  // [8166-4.2.1-a] [8166-3.2-a] [v2-4.2.1-a] the payload begins with the same XID
  if (in.u32() != header.xid || !in.ok()) return WireError::xid_mismatch;
  // [v2-4.2.2-a] in version two, the header and the RPC message state the same direction
  if (header.version < kVersionTwo) return std::nullopt;
  if (in.u32() != static_cast<std::uint32_t>(header.direction) || !in.ok()) return WireError::bad_direction;
  return std::nullopt;
}

DecodeResult decode_lists(Reader& in, std::size_t message_size, const DecodeLimits& limits, Header& out) {
  if (out.version >= kVersionTwo && !decode_direction(in, out.direction)) return WireError::bad_direction;
  if (const auto error = decode_chunks(in, out.chunks, limits.max_segments)) return *error;
  const std::size_t length = message_size - in.remaining();
  if (out.procedure == Procedure::nomsg) {
    // [8166-4.2.4-a] an RDMA_NOMSG must have a chunk, which holds the payload
    if (out.chunks.empty()) return WireError::bad_chunks;
  } else if (const auto error = check_payload(in, out)) {
    return *error;
  }
  return length;
}

DecodeResult decode_optional(Reader& in, std::size_t message_size, Header& out) noexcept {
  if (!decode_direction(in, out.direction)) return WireError::bad_direction;
  out.option_type = in.u32();
  const std::uint32_t size = in.u32();
  out.option = in.octets(size);
  in.skip(pad4(std::size_t{size}) - size);
  if (!in.ok()) return WireError::bad_option;
  return message_size - in.remaining();
}

/// False for a header that encode() refuses.
bool sendable(const Header& header) noexcept {
  const bool two = header.version >= kVersionTwo;
  switch (header.procedure) {
    case Procedure::msg: return true;
    case Procedure::nomsg: return !header.chunks.empty();  // [8166-4.2.4-a] a chunk must hold the payload
    case Procedure::optional: return two;
    case Procedure::error:
      return header.error == ErrorKind::vers || header.error == ErrorKind::chunk ||
             (two && header.error == ErrorKind::invalid_option);
    case Procedure::msgp:                // [8166-4.6.1-a] never sent
    case Procedure::done: return false;  // [8166-4.6.2-a] never sent
  }
  return false;
}

template <class Sink>
void encode_error_body(Sink& out, const Header& header) noexcept {
  out.u32(static_cast<std::uint32_t>(header.error));
  if (header.error == ErrorKind::vers) {
    out.u32(header.lowest_version);
    out.u32(header.highest_version);
  }
}

template <class Sink>
void encode_to(Sink& out, const Header& header) noexcept {
  // [8166-4-a] [v2-4.2-a] a header consists of four fixed words and a body that depends on the procedure
  out.u32(header.xid);
  out.u32(header.version);
  out.u32(header.credits);
  out.u32(static_cast<std::uint32_t>(header.procedure));
  if (header.procedure == Procedure::error) return encode_error_body(out, header);
  if (header.version >= kVersionTwo) out.u32(static_cast<std::uint32_t>(header.direction));
  if (header.procedure != Procedure::optional) return encode_chunks(out, header.chunks);
  out.u32(header.option_type);
  out.u32(static_cast<std::uint32_t>(header.option.size()));
  out.octets(header.option);
  out.zeros(pad4(header.option.size()) - header.option.size());
}

void make_error(const Header& bad, std::uint32_t granted_credits, ErrorKind kind, Header& out) noexcept {
  const std::uint32_t xid = bad.xid;
  const std::uint32_t version = bad.version;  // `out` may be `bad`
  out.clear();
  out.xid = xid;          // [8166-4.5-d] the XID of the refused message
  out.version = version;  // [8166-4.5-e] the version of the refused message
  out.credits = granted_credits;
  out.procedure = Procedure::error;
  out.direction = Direction::reply;  // [v2-4.2.2-b] an error is a reply
  out.error = kind;
}

}  // namespace

std::string_view name_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::vers: return "ERR_VERS";
    case ErrorKind::chunk: return "ERR_CHUNK";
    case ErrorKind::invalid_option: return "INVAL_OPTION";
  }
  return "unknown";
}

void Header::clear() noexcept {
  xid = 0;
  version = kVersion;
  credits = 1;
  procedure = Procedure::msg;
  chunks.clear();
  error = ErrorKind::chunk;
  lowest_version = highest_version = kVersion;
  direction = Direction::call;
  option_type = 0;
  option = {};
}

bool operator==(const Header& a, const Header& b) noexcept {
  return a.xid == b.xid && a.version == b.version && a.credits == b.credits && a.procedure == b.procedure &&
         a.chunks == b.chunks && a.error == b.error && a.lowest_version == b.lowest_version &&
         a.highest_version == b.highest_version && a.direction == b.direction && a.option_type == b.option_type &&
         std::ranges::equal(a.option, b.option);
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
  // An RDMA_ERROR is exempt from the two checks below. It may be shorter than kMinHeader. Its version may be one that
  // this receiver does not support, because it repeats the version of the message that its sender refuses.
  if (out.procedure == Procedure::error) return decode_error_body(in, message.size(), out);
  // [8166-4.5-a] a message shorter than a header is discarded
  if (message.size() < kMinHeader) return WireError::too_short;
  // [8166-4.2.2-a] refuses versions that this receiver does not support
  if (out.version < limits.lowest_version || out.version > limits.highest_version) return WireError::bad_version;
  const bool two = out.version >= kVersionTwo;
  switch (out.procedure) {
    case Procedure::msg:
    case Procedure::nomsg: return decode_lists(in, message.size(), limits, out);
    case Procedure::msgp: return two ? WireError::bad_procedure : WireError::obsolete_msgp;
    case Procedure::done: return two ? WireError::bad_procedure : WireError::obsolete_done;
    case Procedure::optional:
      if (two) return decode_optional(in, message.size(), out);
      return WireError::bad_procedure;
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

void make_err_vers(const Header& bad, std::uint32_t granted_credits, Header& out,
                   const DecodeLimits& accepted) noexcept {
  make_error(bad, granted_credits, ErrorKind::vers, out);
  out.lowest_version = accepted.lowest_version;  // [8166-4.5.1-a] the supported versions
  out.highest_version = accepted.highest_version;
}

void make_err_chunk(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept {
  // [8166-4.5.2-a] [v2-4.2.3-a] the error is ERR_CHUNK in version one, and RDMA2_ERR_BAD_HEADER in version two
  make_error(bad, granted_credits, ErrorKind::chunk, out);
}

void make_err_option(const Header& bad, std::uint32_t granted_credits, Header& out) noexcept {
  make_error(bad, granted_credits, ErrorKind::invalid_option, out);  // [v2-3.1-a] RDMA2_ERR_INVAL_OPTION
}

}  // namespace rpcrdma::wire
