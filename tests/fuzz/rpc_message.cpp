// SPDX-License-Identifier: BSD-3-Clause
// Headers of RPC calls and replies. The first byte of the input is the size of the pieces of the message; the outcome
// must not depend on it. A decoded header encodes to bytes that decode to the same header, but a credential other than
// AUTH_SYS encodes as AUTH_NONE.
#include <algorithm>

#include "input.hpp"
#include "message.hpp"
#include "rpcrdma/rpc/message.hpp"

namespace {

using namespace rpcrdma;
using namespace rpcrdma::rpc;
using rpcrdma::fuzz::require;

bool same(const Credential& a, const Credential& b) {
  return a.flavor == b.flavor && a.stamp == b.stamp && a.uid == b.uid && a.gid == b.gid && a.machine() == b.machine() &&
         std::ranges::equal(a.gids(), b.gids());
}

bool same(const CallHeader& a, const CallHeader& b) {
  return a.xid == b.xid && a.rpc_version == b.rpc_version && a.program == b.program && a.version == b.version &&
         a.procedure == b.procedure && same(a.credential, b.credential);
}

bool same(const ReplyHeader& a, const ReplyHeader& b) {
  return a.xid == b.xid && a.kind == b.kind && a.accept == b.accept && a.auth == b.auth && a.low == b.low &&
         a.high == b.high;
}

struct Outcome {
  CallCheck call = CallCheck::unreadable;
  CallHeader call_header;
  bool reply = false;
  ReplyHeader reply_header;
  std::uint32_t call_end = 0;
  std::uint32_t reply_end = 0;
};

Outcome read(Octets octets, std::size_t step) {
  Outcome out;
  test::InMessage message;
  fuzz::cut(message, octets, step);
  xdr::Decoder call(message.payload());
  out.call = decode(call, out.call_header);
  out.call_end = call.position();
  xdr::Decoder reply(message.payload());
  out.reply = decode(reply, out.reply_header);
  out.reply_end = reply.position();
  require(out.call_end <= octets.size() && out.reply_end <= octets.size());
  return out;
}

void encode_again(const Outcome& first) {
  if (first.call == CallCheck::ok) {
    CallHeader header = first.call_header;
    // Only AUTH_SYS credentials are kept; any other credential encodes as AUTH_NONE.
    if (header.credential.flavor != AuthFlavor::sys) header.credential = Credential();
    test::OutMessage message;
    xdr::Encoder out(message.out());
    encode(out, header);
    require(out.ok());
    const Outcome again = read(message.reduced(), 0);
    require(again.call == CallCheck::ok && same(again.call_header, header));
    require(again.call_end == message.reduced().size());
  }
  if (first.reply) {
    static_cast<void>(outcome(first.reply_header));
    test::OutMessage message;
    xdr::Encoder out(message.out());
    encode(out, first.reply_header);
    const Outcome again = read(message.reduced(), 0);
    require(out.ok() && again.reply && same(again.reply_header, first.reply_header));
    require(again.reply_end == message.reduced().size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const std::size_t step = in.u8();
  const Octets octets = in.rest();
  const Outcome whole = read(octets, 0);
  const Outcome cut = read(octets, step);
  require(whole.call == cut.call && whole.reply == cut.reply);
  if (whole.call == CallCheck::ok) require(same(whole.call_header, cut.call_header) && whole.call_end == cut.call_end);
  if (whole.reply) require(same(whole.reply_header, cut.reply_header) && whole.reply_end == cut.reply_end);
  encode_again(whole);
  return 0;
}
