// SPDX-License-Identifier: BSD-3-Clause
// Rules that are checked on every message that the server sends in this run.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

struct Rule {
  Always rule;
  const char* name;
  const char* ids;
  const char* required;
};

constexpr Rule kRules[] = {
    {Always::credit_not_zero, "credit-not-zero", "8166-3.3.1-b", "no message grants zero credits"},
    {Always::read_list_empty, "read-list-empty", "8166-4.3.1-a", "no reply has a Read list"},
    {Always::within_threshold, "within-the-threshold", "8166-3.3.2-a", "no Send is longer than the inline threshold"},
    {Always::decodable, "decodable", "8166-4-a", "every header can be decoded"},
    {Always::no_msgp, "no-msgp", "8166-4.6.1-a", "no RDMA_MSGP"},
    {Always::no_done, "no-done", "8166-4.6.2-a", "no RDMA_DONE"},
    {Always::known_xid, "known-xid", "8167-2.4-b 8166-4.5-d", "every message has the XID of a call on its connection"},
    {Always::same_version, "same-version", "8166-4.2.2-a 8166-4.5-e", "every message has the version of its call"},
    {Always::payload_xid, "payload-begins-with-the-xid", "8166-3.2-a 8166-4.2.1-a",
     "the payload of every RDMA_MSG begins with the XID of the header"},
    {Always::chunks_returned, "chunks-returned", "8166-3.4.6-b 8166-4.3.3-c",
     "every reply has the Write list and the Reply chunk of its call, with the same segments"},
    {Always::no_growth, "no-length-grows", "8166-3.4.6-c 8166-4.3.3-c", "no segment comes back longer than it was"},
    {Always::no_uninvited_invalidation, "no-uninvited-invalidation", "8797-4.1-c",
     "Send with Invalidate only where both sides have set R"},
    {Always::own_invalidation, "own-invalidation", "8797-4.1-b", "only handles of the call are invalidated"},
    {Always::nomsg_in_reply_chunk, "nomsg-in-the-reply-chunk", "8166-4.2.4-a",
     "every RDMA_NOMSG has its payload in the Reply chunk"},
};
static_assert(std::size(kRules) == static_cast<std::size_t>(Always::count));

}  // namespace

void add_always(const MakeFamily& make) {
  ServerFamily family = make("always");
  for (const Rule& each : kRules)
    family.must(
        each.name, each.ids, "nothing: checks all messages of the cases that ran", each.required, [&each](Session& s) {
          const Watch& watch = s.network().watch;
          s.record().received(fmt::format("{} messages", watch.messages()));
          Record::expect(watch.times(each.rule) == 0, fmt::format("{} messages break the rule; the first: {}",
                                                                  watch.times(each.rule), watch.first(each.rule)));
        });
}

}  // namespace rpcrdma::conform
