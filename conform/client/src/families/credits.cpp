// SPDX-License-Identifier: BSD-3-Clause
// Credit grants (RFC 8166 section 3.3). The case always/within-the-grant reports calls beyond them.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

constexpr std::chrono::milliseconds kDelay{50};

/// Each reply grants the next entry of `grants`; after the last entry, the list starts again.
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
  const auto late = [&](const char* name, const char* rules, const char* sends, Always rule, When when) {
    family.must(name, rules, sends, "the command succeeds, and makes no call without a credit",
                [rule, when = std::move(when)](Trial& t) {
                  t.setup().credits = 2;
                  t.requires_rule(rule);
                  t.on_call(
                      when, [&t](Link& link, const Call& call) { t.complete_later(link, call, kDelay); }, 30);
                  t.succeeds();
                });
  };
  late("late-replies", "8166-3.3.1-a", "replies that grant two credits come 50 ms after their calls",
       Always::within_grant, from(1));
  late("late-first-reply", "8166-3.3.3-a", "the first reply on a connection comes 50 ms after its call",
       Always::one_before_the_first_reply, [](const Call& call) { return call.on_link == 1; });
  family.should("huge", "8166-3.3.1-c", "every reply grants 4,294,967,295 credits",
                "the command succeeds, and never has more unanswered calls than it requests credits", [](Trial& t) {
                  t.requires_rule(Always::within_request);
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
