// SPDX-License-Identifier: BSD-3-Clause
// Fixed words of the header, and its procedures (RFC 8166 section 4.2).
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

void add_short(ServerFamily& family) {
  for (const std::size_t size : {0u, 1u, 4u, 8u, 12u, 16u, 20u, 24u, 27u})
    family.must(fmt::format("truncated-to-{}", size), "8166-4.5-a", fmt::format("a call cut short to {} bytes", size),
                "the message is discarded, the connection stays open", [size](Session& s) {
                  s.connection();
                  const Bytes message = s.null().bytes();
                  s.send(View(message).first(size));
                  s.expect_silence();
                });
}

/// Skips the case of version 2 if the server supports it.
void skip_if_served(const Message& message, std::uint32_t version) {
  const RdmaHeader& header = message.header;
  const bool refused = !message.malformed.empty() || (header.procedure == kError && header.error == kErrVers);
  if (version == 2 && !refused) Record::skip("the server supports version 2");
}

void add_versions(ServerFamily& family) {
  for (const std::uint32_t version : {0u, 2u, 3u, 0x7fffffffu, 0xffffffffu})
    family.must(fmt::format("version-{}", version), "8166-4.5.1-a 8166-4.5-d 8166-4.5-e",
                fmt::format("a call with rdma_vers {}", version),
                "ERR_VERS with the supported range, and the XID and version of the call", [version](Session& s) {
                  Outgoing call = s.null();
                  call.header.version = version;
                  s.send(call);
                  const Message message = s.answer_to(call.xid());
                  skip_if_served(message, version);
                  Session::check_err_vers(message.header, version);
                  s.expect_alive();
                });
  family.must("version-9-of-another-form", "8166-4.5.1-a 8166-7-a",
              "rdma_vers 9, procedure 77, and a body that version 1 does not have", "ERR_VERS", [](Session& s) {
                const std::uint32_t xid = s.new_xid();
                s.connection();
                s.send(Out().words({xid, 9, 32, 77}).raw(pattern(60, 5)).bytes());
                s.expect_err_vers(xid, 9);
                s.expect_alive();
              });
}

void add_procedures(ServerFamily& family) {
  for (const std::uint32_t procedure : {5u, 6u, 255u, 0xffffffffu})
    family.must(fmt::format("procedure-{}", procedure), "8166-4.5.2-a",
                fmt::format("a call with rdma_proc {}", procedure), "ERR_CHUNK; the connection stays open",
                [procedure](Session& s) {
                  Outgoing call = s.null();
                  call.header.procedure = procedure;
                  Bytes message = call.bytes();
                  const Bytes payload = call.payload();
                  message.insert(message.end(), payload.begin(), payload.end());
                  s.send(message);
                  s.expect_err_chunk(call.xid());
                  s.expect_alive();
                });
  family.should("msgp", "8166-4.6.1-b", "RDMA_MSGP with alignment, threshold, empty lists and a NULL call", "ERR_CHUNK",
                [](Session& s) {
                  const Outgoing call = s.null();
                  s.send(Out().words({call.xid(), 1, 32, kMsgp, 0, 0, 0, 0, 0}).raw(call.payload()).bytes());
                  s.expect_err_chunk(call.xid());
                  s.expect_alive();
                });
  const auto silent = [&family](const char* name, const char* rule, const char* sends,
                                std::initializer_list<std::uint32_t> words) {
    family.must(name, rule, sends, "the message is discarded, the connection stays open",
                [words = std::vector<std::uint32_t>(words)](Session& s) {
                  s.connection();
                  Out message;
                  message.u32(s.new_xid());
                  for (const std::uint32_t word : words) message.u32(word);
                  s.send(message.bytes());
                  s.expect_silence();
                });
  };
  silent("done", "8166-4.6.2-b", "RDMA_DONE: 16 bytes", {1, 32, kDone});
  silent("done-of-28-bytes", "8166-4.6.2-b", "RDMA_DONE with 12 bytes after it", {1, 32, kDone, 0, 0, 0});
  silent("error-chunk", "8166-4.2.4-d", "RDMA_ERROR, ERR_CHUNK: 20 bytes", {1, 32, kError, kErrChunk});
  silent("error-vers", "8166-4.2.4-d", "RDMA_ERROR, ERR_VERS: 28 bytes", {1, 32, kError, kErrVers, 1, 1});
  silent("error-unknown", "8166-4.2.4-d", "RDMA_ERROR with rdma_err 99", {1, 32, kError, 99, 0, 0});
  silent("error-truncated", "8166-4.2.4-d 8166-4.5-a", "RDMA_ERROR, ERR_VERS without its range",
         {1, 32, kError, kErrVers});
}

void add_payloads(ServerFamily& family) {
  family.must("nomsg-without-lists", "8166-4.2.4-a 8166-4.5.2-a", "RDMA_NOMSG with three empty lists", "ERR_CHUNK",
              [](Session& s) {
                Outgoing call = s.null();
                call.header.procedure = kNomsg;
                s.send(call);
                s.expect_err_chunk(call.xid());
                s.expect_alive();
              });
  family.must("nomsg-with-a-reply-chunk-only", "8166-4.2.4-a 8166-4.5.2-a", "RDMA_NOMSG with nothing but a Reply chunk",
              "ERR_CHUNK", [](Session& s) {
                Outgoing call = s.null();
                call.header.procedure = kNomsg;
                call.header.lists.reply = Chunk{s.writable(1000).segment()};
                s.send(call);
                s.expect_err_chunk(call.xid());
                s.expect_alive();
              });
  family.must("nomsg-with-a-write-list-only", "8166-4.2.4-a 8166-4.5.2-a", "RDMA_NOMSG with nothing but a Write list",
              "ERR_CHUNK", [](Session& s) {
                Outgoing call = s.null();
                call.header.procedure = kNomsg;
                call.header.lists.writes = {{s.writable(1000).segment()}};
                s.send(call);
                s.expect_err_chunk(call.xid());
                s.expect_alive();
              });
  family.must("xids-differ", "8166-4.2.1-a 8166-4.5-d", "a call whose RPC message has another XID than the header",
              "ERR_CHUNK with the XID of the header", [](Session& s) {
                Outgoing call = s.null();
                call.rpc.xid = ~call.xid();
                s.send(call);
                s.expect_err_chunk(call.xid());
                s.expect_alive();
              });
  for (const std::uint32_t xid : {0u, 0xffffffffu})
    family.must(xid == 0 ? "xid-0" : "xid-ffffffff", "8166-4.2.1-a 8167-2.4-b",
                fmt::format("a NULL call with the XID {:#x}", xid), "a reply with this XID", [xid](Session& s) {
                  Outgoing call = s.null();
                  call.header.xid = call.rpc.xid = xid;
                  s.send(call);
                  s.results_of(xid);
                });
  family.robust("no-payload", "8166-4.5-b", "an RDMA_MSG of 28 bytes, without a payload",
                "an error or nothing; the connection ends or stays; the server stays healthy", [](Session& s) {
                  const Outgoing call = s.null();
                  s.send(encode(call.header));
                  s.connection().receive(std::chrono::milliseconds(500));
                });
  family.robust("bytes-behind-the-call", "", "a NULL call with 64 bytes after it", "the call is answered",
                [](Session& s) {
                  Outgoing call = s.null();
                  call.rpc.arguments = pattern(64, 2);
                  s.send(call);
                  s.reply_to(call.xid());
                  s.expect_alive();
                });
}

}  // namespace

void add_header(const MakeFamily& make) {
  ServerFamily family = make("header");
  add_short(family);
  add_versions(family);
  add_procedures(family);
  add_payloads(family);
}

}  // namespace rpcrdma::conform
