// SPDX-License-Identifier: BSD-3-Clause
// RDMA_ERROR (RFC 8166 section 4.5).
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// RDMA_NOMSG without chunks.
Bytes bad_call(std::uint32_t xid) { return encode(RdmaHeader{.xid = xid, .procedure = kNomsg}); }

Bytes other_version(std::uint32_t xid) {
  return Out().words({xid, 99, 32, kMsg, 0, 0, 0, xid, 0, 2, 0, 0, 0, 0, 0, 0, 0}).bytes();
}

}  // namespace

void add_errors(const MakeFamily& make) {
  ServerFamily family = make("errors");
  for (const std::uint32_t xid : {0u, 1u, 0x80000001u, 0xffffffffu}) {
    family.must(fmt::format("err-chunk-keeps-xid-{:x}", xid), "8166-4.5-d 8166-4.5-e",
                fmt::format("an RDMA_NOMSG without chunks, with XID {:#x}", xid),
                "ERR_CHUNK with this XID, and version 1", [xid](Session& s) {
                  s.connection();
                  s.send(bad_call(xid));
                  s.expect_err_chunk(xid);
                  s.expect_alive();
                });
    family.must(fmt::format("err-vers-keeps-xid-{:x}", xid), "8166-4.5-d 8166-4.5-e",
                fmt::format("a call of version 99, with XID {:#x}", xid),
                "ERR_VERS with this XID, and the version of the call", [xid](Session& s) {
                  s.connection();
                  s.send(other_version(xid));
                  s.expect_err_vers(xid, 99);
                  s.expect_alive();
                });
  }
  family.must("err-chunk-is-20-bytes", "8166-4-a 8166-4.5.2-a", "an RDMA_NOMSG without chunks",
              "a message of exactly 20 bytes", [](Session& s) {
                s.connection();
                const std::uint32_t xid = s.new_xid();
                s.send(bad_call(xid));
                Record::expect(s.answer_to(xid).bytes.size() == 20, "another size");
              });
  family.must("err-vers-is-28-bytes", "8166-4-a 8166-4.5.1-a", "a call of version 99", "a message of exactly 28 bytes",
              [](Session& s) {
                s.connection();
                const std::uint32_t xid = s.new_xid();
                s.send(other_version(xid));
                Record::expect(s.answer_to(xid).bytes.size() == 28, "another size");
              });
  family.must("as-the-first-message", "8166-4.5-b", "an RDMA_NOMSG without chunks as the first message of a connection",
              "ERR_CHUNK; the next call is executed", [](Session& s) {
                s.connect();
                const std::uint32_t xid = s.new_xid();
                s.send(bad_call(xid));
                s.expect_err_chunk(xid);
                s.expect_alive();
              });
  family.must("err-vers-as-the-first-message", "8166-4.5.1-a 8166-7-a",
              "a call of version 99 as the first message of a connection", "ERR_VERS; the next call is executed",
              [](Session& s) {
                s.connect();
                const std::uint32_t xid = s.new_xid();
                s.send(other_version(xid));
                s.expect_err_vers(xid, 99);
                s.expect_alive();
              });
  family.must("many-in-a-row", "8166-4.5-b", "100 wrong messages, one after the other",
              "an error for each; the connection stays open", [](Session& s) {
                s.connection();
                for (int i = 0; i < 100; ++i) {
                  const std::uint32_t xid = s.new_xid();
                  s.send(bad_call(xid));
                  s.expect_err_chunk(xid);
                }
                s.expect_alive();
              });
  family.must("beside-good-calls", "8166-4.5-b 8166-4.5-d", "a wrong message between two NULL calls, all at once",
              "an error with the XID of the wrong message, and two replies", [](Session& s) {
                if (s.connection().granted() < 3) Record::skip("the server grants fewer than 3 credits");
                const Outgoing first = s.null(), last = s.null();
                const std::uint32_t bad = s.new_xid();
                s.send(first);
                s.send(bad_call(bad));
                s.send(last);
                for (int i = 0; i < 3; ++i) {
                  const RdmaHeader header = s.answer().header;
                  Record::expect((header.procedure == kError) == (header.xid == bad),
                                 fmt::format("the answer to {:#x} is of the wrong kind", header.xid));
                }
              });
  family.must("never-to-an-error", "8166-4.2.4-d", "a NULL call, then RDMA_ERROR with its XID after its reply",
              "nothing; the connection stays open", [](Session& s) {
                const Outgoing call = s.null();
                s.call(call);
                s.send(encode(RdmaHeader{.xid = call.xid(), .procedure = kError, .lists = {}, .error = kErrChunk}));
                s.expect_silence();
              });
  family.should(
      "resent-after-a-fatal-chunk", "8166-4.5.3-a",
      "a long call whose chunk cannot be read, which ends the connection; the same call again on a new connection",
      "the second time ERR_CHUNK, and the connection stays open", [](Session& s) {
        RdmaHeader header{.xid = s.new_xid(), .procedure = kNomsg};
        header.lists.reads = {{0, {0xdeadbeef, 40, 0}}};
        s.connection();
        s.send(encode(header));
        Connection& first = s.connection();
        s.network().wait([&] { return first.ended() || first.has_messages(); }, s.network().patience);
        if (!first.ended()) Record::skip("the connection does not end the first time");
        s.connect_and_call();
        s.send(encode(header));
        s.expect_err_chunk(header.xid);
        s.expect_alive();
      });
}

}  // namespace rpcrdma::conform
