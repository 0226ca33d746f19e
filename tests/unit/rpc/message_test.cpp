// SPDX-License-Identifier: BSD-3-Clause
// Call and reply headers: every status encoded and decoded, bounds of credentials, truncated headers.
#include <gtest/gtest.h>
#include <unistd.h>

#include "rpcrdma/rpc/message.hpp"
#include "unit/xdr/stream.hpp"

namespace rpcrdma::rpc {
namespace {

using test::Bytes;
using test::from_hex;
using test::InMessage;
using test::OutMessage;
using test::to_hex;

template <class Header>
Bytes encoded(const Header& header) {
  OutMessage message;
  xdr::Encoder out(message.out());
  encode(out, header);
  EXPECT_TRUE(out.ok());
  return message.reduced();
}

CallCheck check(Octets wire, CallHeader& header) {
  const InMessage message{wire};
  xdr::Decoder in(message.payload());
  return decode(in, header);
}

CallHeader a_call(Credential credential = {}) { return {7, kRpcVersion, 100003, 3, 1, credential}; }

TEST(CallHeaderTest, AuthNone) {
  const Bytes wire = encoded(a_call());
  EXPECT_EQ(to_hex(wire), to_hex(from_hex("00000007 00000000 00000002 000186a3 00000003 00000001"
                                          "00000000 00000000 00000000 00000000")));
  CallHeader back;
  EXPECT_EQ(check(wire, back), CallCheck::ok);
  EXPECT_EQ(back.xid, 7u);
  EXPECT_EQ(back.program, 100003u);
  EXPECT_EQ(back.credential.flavor, AuthFlavor::none);
}

TEST(CallHeaderTest, LargestAuthSys) {
  std::array<std::uint32_t, 20> gids;
  for (std::uint32_t i = 0; i < 20; ++i) gids[i] = i * 3;
  const Credential credential = Credential::sys(1000, 4, gids, std::string(300, 'm'), 0x5eed);
  EXPECT_EQ(credential.gids().size(), kMaxGids);
  EXPECT_EQ(credential.machine().size(), kMaxMachineName);
  const Bytes wire = encoded(a_call(credential));
  EXPECT_EQ(wire.size(), 380u);  // 24 + 8 + 340 + 8
  CallHeader back;
  ASSERT_EQ(check(wire, back), CallCheck::ok);
  EXPECT_EQ(back.credential.uid, 1000u);
  EXPECT_EQ(back.credential.gid, 4u);
  EXPECT_EQ(back.credential.stamp, 0x5eedu);
  EXPECT_EQ(back.credential.machine(), std::string(255, 'm'));
  EXPECT_TRUE(std::equal(back.credential.gids().begin(), back.credential.gids().end(), gids.begin()));
}

TEST(CallHeaderTest, PrefixesAreRejected) {
  const Bytes wire = encoded(a_call(Credential::sys(1, 2, {}, "cli")));
  for (std::size_t size = 0; size < wire.size(); ++size) {
    CallHeader back;
    const CallCheck found = check(Octets(wire).first(size), back);
    EXPECT_NE(found, CallCheck::ok) << size;
    EXPECT_EQ(found == CallCheck::unreadable, size < 8) << size;
    EXPECT_EQ(found == CallCheck::truncated, size >= 8 && size < 24) << size;
  }
}

TEST(CallHeaderTest, OtherMessages) {
  Bytes wire = encoded(a_call());
  CallHeader back;
  Writer(MutableOctets(wire).subspan(4)).u32(1);
  EXPECT_EQ(check(wire, back), CallCheck::unreadable);  // a reply
  Writer(MutableOctets(wire).subspan(4)).u32(0);
  for (const std::uint32_t version : {0u, 1u, 3u, 0xffffffffu}) {
    Writer(MutableOctets(wire).subspan(8)).u32(version);
    EXPECT_EQ(check(wire, back), CallCheck::rpc_mismatch);
    EXPECT_EQ(back.xid, 7u);
  }
}

/// A call whose credential has the given flavor, length and body.
Bytes with_credential(std::uint32_t flavor, std::uint32_t length, const Bytes& body) {
  OutMessage message;
  xdr::Encoder out(message.out());
  for (const std::uint32_t word : {7u, 0u, 2u, 100003u, 3u, 1u, flavor, length}) out.u32(word);
  out.out().octets(body);
  out.u32(0);
  out.u32(0);
  return message.reduced();
}

TEST(CallHeaderTest, CredentialBodiesAreBounded) {
  CallHeader back;
  EXPECT_EQ(check(with_credential(6, 400, Bytes(400)), back), CallCheck::ok);
  EXPECT_EQ(back.credential.flavor, AuthFlavor::gss);
  EXPECT_EQ(check(with_credential(0, 4, Bytes(4)), back), CallCheck::ok);  // AUTH_NONE: the body is ignored
  EXPECT_EQ(check(with_credential(6, 401, Bytes(404)), back), CallCheck::bad_credential);
  EXPECT_EQ(check(with_credential(6, 0xffffffff, Bytes(404)), back), CallCheck::bad_credential);
  EXPECT_EQ(check(with_credential(6, 396, Bytes(4)), back), CallCheck::bad_credential);
}

/// An AUTH_SYS body that claims the given length of the machine name and number of gids.
Bytes sys_body(std::uint32_t name, std::uint32_t gids, std::size_t size) {
  Bytes body(size);
  Writer out(body);
  out.u32(1);
  out.u32(name);
  if (pad4(std::size_t{name}) + 20 <= size) out.zeros(pad4(std::size_t{name}));
  out.u32(5);
  out.u32(6);
  out.u32(gids);
  return body;
}

TEST(CallHeaderTest, HostileAuthSys) {
  CallHeader back;
  EXPECT_EQ(check(with_credential(1, 84, sys_body(0, 16, 84)), back), CallCheck::ok);
  EXPECT_EQ(back.credential.gids().size(), 16u);
  EXPECT_EQ(check(with_credential(1, 88, sys_body(0, 17, 88)), back), CallCheck::bad_credential);
  EXPECT_EQ(check(with_credential(1, 84, sys_body(0, 0xffffffff, 84)), back), CallCheck::bad_credential);
  EXPECT_EQ(check(with_credential(1, 20, sys_body(0, 1, 20)), back), CallCheck::bad_credential);
  EXPECT_EQ(check(with_credential(1, 276, sys_body(255, 0, 276)), back), CallCheck::ok);
  EXPECT_EQ(check(with_credential(1, 276, sys_body(256, 0, 276)), back), CallCheck::bad_credential);
  EXPECT_EQ(check(with_credential(1, 276, sys_body(0xfffffffe, 0, 276)), back), CallCheck::bad_credential);
  EXPECT_EQ(check(with_credential(1, 0, {}), back), CallCheck::bad_credential);
}

TEST(CallHeaderTest, Verifiers) {
  Bytes wire = encoded(a_call());
  CallHeader back;
  Writer(MutableOctets(wire).subspan(36)).u32(401);
  EXPECT_EQ(check(wire, back), CallCheck::bad_verifier);
  Writer(MutableOctets(wire).subspan(36)).u32(4);
  EXPECT_EQ(check(wire, back), CallCheck::bad_verifier);
  wire.resize(wire.size() + 4);
  EXPECT_EQ(check(wire, back), CallCheck::ok);
}

struct ReplyCase {
  ReplyHeader header;
  error_code meaning;
};

std::vector<ReplyCase> all_replies() {
  using Kind = ReplyHeader::Kind;
  std::vector<ReplyCase> all{
      {{.xid = 1}, {}},
      {{.xid = 1, .accept = AcceptStat::program_unavailable}, RpcError::program_unavailable},
      {{.xid = 1, .accept = AcceptStat::program_mismatch, .low = 2, .high = 4}, RpcError::program_mismatch},
      {{.xid = 1, .accept = AcceptStat::procedure_unavailable}, RpcError::procedure_unavailable},
      {{.xid = 1, .accept = AcceptStat::garbage_args}, RpcError::garbage_args},
      {{.xid = 1, .accept = AcceptStat::system_err}, RpcError::system_err},
      {{.xid = 1, .kind = Kind::rpc_mismatch, .low = 2, .high = 2}, RpcError::rpc_mismatch}};
  const auto add = [&all](std::uint32_t stat, RpcError meaning) {
    all.push_back({{.xid = 1, .kind = Kind::auth_error, .auth = static_cast<AuthStat>(stat)}, meaning});
  };
  add(1, RpcError::auth_bad_credential);
  add(2, RpcError::auth_rejected);
  add(3, RpcError::auth_bad_verifier);
  add(4, RpcError::auth_bad_verifier);
  add(5, RpcError::auth_too_weak);
  for (const std::uint32_t stat : {6u, 7u, 8u, 14u, 99u}) add(stat, RpcError::auth_failed);
  return all;
}

TEST(ReplyHeaderTest, EveryStatusRoundTrips) {
  for (const ReplyCase& expected : all_replies()) {
    const Bytes wire = encoded(expected.header);
    const InMessage message{wire};
    xdr::Decoder in(message.payload());
    ReplyHeader back;
    ASSERT_TRUE(decode(in, back));
    EXPECT_EQ(in.remaining(), 0u);
    EXPECT_EQ(outcome(back), expected.meaning);
    EXPECT_EQ(back.low, expected.header.low);
    EXPECT_EQ(back.high, expected.header.high);
    EXPECT_EQ(to_hex(encoded(back)), to_hex(wire));
    for (std::size_t size = 0; size < wire.size(); ++size) {
      const InMessage cut(Octets(wire).first(size));
      xdr::Decoder short_in(cut.payload());
      ReplyHeader refused;
      EXPECT_FALSE(decode(short_in, refused)) << size;
    }
  }
}

TEST(ReplyHeaderTest, Sizes) {
  EXPECT_EQ(encoded(ReplyHeader{.xid = 1}).size(), kReplyHeaderSize);
  EXPECT_EQ(encoded(ReplyHeader{.xid = 1, .kind = ReplyHeader::Kind::auth_error}).size(), 20u);
}

TEST(ReplyHeaderTest, VerifiersAreSkipped) {
  const InMessage message(from_hex("00000001 00000001 00000000 00000006 00000005 01020304 05000000 00000000 0000002a"));
  xdr::Decoder in(message.payload());
  ReplyHeader header;
  ASSERT_TRUE(decode(in, header));
  EXPECT_EQ(in.u32(), 42u);
}

TEST(ReplyHeaderTest, Malformed) {
  for (const char* wire : {"00000001 00000000 00000000 00000000 00000000 00000000",     // a call
                           "00000001 00000001 00000002 00000000 00000000 00000000",     // reply_stat 2
                           "00000001 00000001 00000000 00000000 00000000 00000006",     // accept_stat 6
                           "00000001 00000001 00000001 00000002 00000000 00000000",     // reject_stat 2
                           "00000001 00000001 00000000 00000000 00000191 00000000"}) {  // a verifier of 401 bytes
    const InMessage message(from_hex(wire));
    xdr::Decoder in(message.payload());
    ReplyHeader header;
    EXPECT_FALSE(decode(in, header)) << wire;
  }
}

TEST(RpcErrorTest, Conditions) {
  EXPECT_EQ(make_error_code(RpcError::system_err), Condition::retry);
  EXPECT_EQ(make_error_code(RpcError::garbage_args), Condition::bug);
  EXPECT_EQ(make_error_code(RpcError::bad_reduction), Condition::bug);
  EXPECT_EQ(make_error_code(RpcError::program_unavailable), Condition::give_up);
  for (int i = 1; i <= static_cast<int>(RpcError::unencodable); ++i)
    EXPECT_NE(make_error_code(static_cast<RpcError>(i)).message(), "unknown RPC error");
}

TEST(CredentialTest, OfThisProcess) {
  const Credential mine = Credential::of_process();
  EXPECT_EQ(mine.flavor, AuthFlavor::sys);
  EXPECT_EQ(mine.uid, geteuid());
  EXPECT_FALSE(mine.machine().empty());
}

}  // namespace
}  // namespace rpcrdma::rpc
