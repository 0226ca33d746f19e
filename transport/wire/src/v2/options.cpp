// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/wire/v2/options.hpp"

#include "characteristic_codec.hpp"

namespace rpcrdma::wire::v2 {
namespace {

using Decoded = boost::system::result<void, WireError>;

Decoded finished(const Reader& in) noexcept {
  if (!in.ok() || in.remaining() != 0) return WireError::bad_option;
  return {};
}

Result<std::size_t> written(const Writer& out) noexcept {
  if (!out.ok()) return make_error_code(BaseError::buffer_overflow);
  return out.size();
}

}  // namespace

// [xchar-4.1-a] INIT_XCHAR contains a list of the sender's characteristics, and then the positions in this list of the
// values that do not change during the connection.
Decoded decode(Octets option, InitOption& out) {
  Reader in(option);
  decode(in, out.start);
  decode(in, out.unchanging);
  return finished(in);
}

// [xchar-4.2-a] REQ_XCHAR contains the values to which the receiver is asked to change its characteristics.
Decoded decode(Octets option, RequestOption& out) {
  Reader in(option);
  decode(in, out.wanted);
  return finished(in);
}

// [xchar-4.3-a] RESP_XCHAR contains three subsets of the characteristics in the request: those whose change is done,
// rejected or pending.
Decoded decode(Octets option, ResponseOption& out) {
  Reader in(option);
  decode(in, out.done);
  decode(in, out.rejected);
  decode(in, out.pending);
  return finished(in);
}

// [xchar-4.4-a] UPD_XCHAR contains the present value of one characteristic of the sender, and a boolean. The boolean is
// true if an earlier request for this characteristic is no longer pending.
Decoded decode(Octets option, UpdateOption& out) {
  Reader in(option);
  decode(in, out.now);
  const std::uint32_t cleared = in.u32();
  if (cleared > 1) in.fail();
  out.pending_cleared = cleared == 1;
  return finished(in);
}

Result<std::size_t> encode(const InitOption& option, MutableOctets out) noexcept {
  Writer writer(out);
  encode(writer, option.start);
  encode(writer, option.unchanging);
  return written(writer);
}

Result<std::size_t> encode(const RequestOption& option, MutableOctets out) noexcept {
  Writer writer(out);
  encode(writer, option.wanted);
  return written(writer);
}

Result<std::size_t> encode(const ResponseOption& option, MutableOctets out) noexcept {
  Writer writer(out);
  encode(writer, option.done);
  encode(writer, option.rejected);
  encode(writer, option.pending);
  return written(writer);
}

Result<std::size_t> encode(const UpdateOption& option, MutableOctets out) noexcept {
  Writer writer(out);
  encode(writer, option.now);
  writer.u32(option.pending_cleared ? 1 : 0);
  return written(writer);
}

}  // namespace rpcrdma::wire::v2
