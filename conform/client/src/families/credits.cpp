// SPDX-License-Identifier: BSD-3-Clause
// Credit grants (RFC 8166 section 3.3). "always/within-the-grant" reports on whether they are kept.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

/// The n-th reply grants grants[n], then the list begins again.
void grant(Trial& t, std::vector<std::uint32_t> grants) {
  t.on_reply(
      from(1),
      [grants = std::move(grants), next = std::size_t{0}](Reply& reply, const Call&, Link&) mutable {
        reply.header.credits = grants[next++ % grants.size()];
      },
      kAlways);
}

}  // namespace

void add_credits(const MakeFamily& make) {
  ClientFamily family = make("credits");
  family.must("one", "8166-3.3.1-a", "every reply grants one credit", "the command succeeds", [](Trial& t) {
    t.setup().credits = 1;
    grant(t, {1});
    t.succeeds();
  });
  family.must("changing", "8166-3.3.1-a 8166-3.3.1-d", "grants of 8, 2, 1, 32, 3", "the command succeeds",
              [](Trial& t) {
                grant(t, {8, 2, 1, 32, 3});
                t.succeeds();
              });
  family.should("huge", "8166-3.3.1-c", "every reply grants 4,294,967,295 credits",
                "the command succeeds, and has no more calls than it has requested credits", [](Trial& t) {
                  grant(t, {0xffffffff});
                  t.succeeds();
                });
  family.robust("zero-once", "8166-3.3.1-b", "the second reply grants no credit", kCopes, [](Trial& t) {
    t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { reply.header.credits = 0; });
    t.stays_intact();
  });
  family.robust("zero-first", "8166-3.3.1-b", "the first reply grants no credit", kCopes, [](Trial& t) {
    t.on_reply(from(1), [](Reply& reply, const Call&, Link&) { reply.header.credits = 0; });
    t.stays_intact();
  });
  family.robust("zero-always", "8166-3.3.1-b", "no reply grants a credit", kCopes, [](Trial& t) {
    grant(t, {0});
    t.stays_intact();
  });
}

}  // namespace rpcrdma::conform::client
