// SPDX-License-Identifier: BSD-3-Clause
// Credits (RFC 8166 section 3.3.1).
#include <fmt/format.h>

#include <set>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

Message ask_for(Session& s, std::uint32_t credits) {
  Outgoing call = s.null();
  call.header.credits = credits;
  s.send(call);
  Message out = s.answer_to(call.xid());
  s.record().received(fmt::format("{} credits granted", out.header.credits));
  Record::expect(out.header.credits != 0, "a grant of zero");
  return out;
}

/// Sends `count` NULL calls at once.
std::set<std::uint32_t> send_many(Session& s, std::uint32_t count, std::uint32_t credits) {
  std::set<std::uint32_t> xids;
  for (std::uint32_t i = 0; i < count; ++i) {
    Outgoing call = s.null();
    call.header.credits = credits;
    xids.insert(call.xid());
    s.send(call);
  }
  s.record().sent(fmt::format("{} calls at once", count));
  return xids;
}

void expect_all(Session& s, std::set<std::uint32_t> xids) {
  while (!xids.empty()) Record::expect(xids.erase(s.answer().header.xid) == 1, "a reply that answers no open call");
}

/// Receives at most `count` messages. Ends earlier if none arrives for 500 ms, or if the connection ends.
void receive_answers(Connection& connection, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count && !connection.ended(); ++i)
    if (!connection.receive(std::chrono::milliseconds(500))) return;
}

constexpr std::uint32_t kMost = 60;  // less than the number of posted Receives, so that each reply finds a Receive

/// Asks for `credits`, and sends as many calls at once as the server grants, but no more than `credits` or kMost.
void use_all(Session& s, std::uint32_t credits) {
  const std::uint32_t granted = ask_for(s, credits).header.credits;
  expect_all(s, send_many(s, std::min({granted, credits, kMost}), credits));
}

}  // namespace

void add_credits(const MakeFamily& make) {
  ServerFamily family = make("credits");
  const char* const granted = "a grant of at least one";
  family.must("ask-for-0", "8166-3.3.1-b", "a NULL call that asks for no credits", granted,
              [](Session& s) { ask_for(s, 0); });
  family.must("ask-for-1", "8166-3.3.1-b", "a NULL call that asks for one credit", granted,
              [](Session& s) { ask_for(s, 1); });
  family.must("ask-for-very-many", "8166-3.3.1-b", "a NULL call that asks for 4,294,967,295 credits", granted,
              [](Session& s) { ask_for(s, 0xffffffff); });
  family.must("granted-by-err-vers", "8166-3.3.1-b", "a call of version 9", granted, [](Session& s) {
    Outgoing call = s.null();
    call.header.version = 9;
    s.send(call);
    Record::expect(s.answer_to(call.xid()).header.credits != 0, "a grant of zero in ERR_VERS");
  });
  family.must("granted-by-err-chunk", "8166-3.3.1-b", "an RDMA_NOMSG without chunks", granted, [](Session& s) {
    Outgoing call = s.null();
    call.header.procedure = kNomsg;
    s.send(call);
    Record::expect(s.answer_to(call.xid()).header.credits != 0, "a grant of zero in ERR_CHUNK");
  });
  family.must("all-at-once", "8166-3.3.1-e", "as many NULL calls at once as granted", "all are answered",
              [](Session& s) { use_all(s, 32); });
  family.must("raised-grant-at-once", "8166-3.3.1-e",
              "calls that ask for 2, then 60 credits; as many calls at once as granted", "all are answered",
              [](Session& s) {
                use_all(s, 2);
                use_all(s, 60);
              });
  family.must("grant-above-the-asked-value", "8166-3.3.1-e",
              "a call that asks for 2 credits; if more are granted, as many calls at once, which ask for that many",
              "all are answered", [](Session& s) {
                const std::uint32_t grant = ask_for(s, 2).header.credits;
                if (grant <= 2) Record::skip("the server grants no more than what was asked for");
                const std::uint32_t count = std::min(grant, kMost);
                expect_all(s, send_many(s, count, count));
              });
  family.robust("asked-value-changes", "8166-3.3.1-d", "calls that ask for 8, 2, 8, 1, 32 credits in turn",
                "each call is answered", [](Session& s) {
                  for (const std::uint32_t credits : {8u, 2u, 8u, 1u, 32u}) use_all(s, credits);
                });
  family.robust("two-first-calls", "8166-3.3.3-a", "two calls at once on a new connection, before any grant",
                "both are answered, or the connection ends; the server stays healthy", [](Session& s) {
                  Connection& connection = s.connect();
                  send_many(s, 2, 32);
                  receive_answers(connection, 2);
                });
  family.robust("more-than-granted", "8166-3.3.1-a", "three times as many calls at once as granted",
                "calls are answered or dropped, or the connection ends; the server stays healthy", [](Session& s) {
                  Connection& connection = s.connection();
                  const std::uint32_t most = std::min(connection.granted(), 60u);
                  send_many(s, 3 * most, 32);
                  receive_answers(connection, 3 * most);
                });
  family.should("nothing-unsolicited", "8166-3.3.1-g", "nothing for 300 ms", "no message arrives", [](Session& s) {
    s.connection().pass(std::chrono::milliseconds(300));
    Record::expect(!s.connection().has_messages(), "a message without a call");
    s.expect_alive();
  });
}

}  // namespace rpcrdma::conform
