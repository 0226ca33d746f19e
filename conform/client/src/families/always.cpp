// SPDX-License-Identifier: BSD-3-Clause
// Rules that are checked on everything that the tested client sends, in all cases that run.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

struct AlwaysRule {
  Always rule;
  Level level;
  const char* name;
  const char* ids;
  const char* required;
};

constexpr AlwaysRule kAlwaysRules[] = {
    {Always::decodable, Level::must, "decodable", "8166-4-a", "every header can be decoded"},
    {Always::version_one, Level::must, "version-1", "8166-4.2.2-a", "every message has rdma_vers 1"},
    {Always::no_error, Level::must, "no-error", "8166-4.2.4-c",
     "no RDMA_ERROR, except in answer to a call of the server"},
    {Always::no_msgp, Level::must, "no-msgp", "8166-4.6.1-a", "no RDMA_MSGP"},
    {Always::no_done, Level::must, "no-done", "8166-4.6.2-a", "no RDMA_DONE"},
    {Always::payload_xid, Level::must, "payload-begins-with-the-xid", "8166-3.2-a 8166-4.2.1-a",
     "the payload of every RDMA_MSG begins with the XID of the header"},
    {Always::within_threshold, Level::must, "within-the-threshold", "8166-3.3.2-a",
     "no Send is longer than the inline threshold"},
    {Always::within_grant, Level::must, "within-the-grant", "8166-3.3.1-a",
     "never more unanswered calls than credits were granted"},
    {Always::within_request, Level::should, "within-the-request", "8166-3.3.1-c",
     "never more unanswered calls than credits were requested"},
    {Always::one_before_the_first_reply, Level::must, "one-before-the-first-reply", "8166-3.3.3-a",
     "only one call on a new connection until its reply has arrived"},
    {Always::unique_xid, Level::must, "unique-xid", "8167-2.4-a",
     "no two unanswered calls of a connection share an XID"},
    {Always::credits_requested, Level::should, "credits-requested", "8166-4.2.3-a", "no call requests zero credits"},
    {Always::nomsg_has_a_chunk, Level::must, "nomsg-has-a-chunk", "8166-4.2.4-a",
     "every RDMA_NOMSG has its payload in a Read chunk"},
    {Always::aligned_positions, Level::must, "aligned-positions", "8166-3.4.5-b",
     "every Position in a Read list is a multiple of four"},
    {Always::eligible_arguments, Level::must, "eligible-arguments", "8166-3.4.2-a 8267-4-a",
     "Read chunks at a Position other than zero only for WRITE and SYMLINK"},
    {Always::eligible_results, Level::should, "eligible-results", "8166-4.3.2-b 8267-4-a",
     "Write lists only for READ and READLINK"},
    {Always::large_write_chunk, Level::must, "large-write-chunk", "8166-3.4.6-a",
     "the Write chunk of a READ has room for the bytes that it asks for"},
    {Always::reserved_bits, Level::must, "reserved-flags", "8797-4-a", "reserved flags of the private data are zero"},
    {Always::fresh_handles, Level::should, "fresh-handles", "8166-8.1.2-b",
     "no handle is offered by two calls of a connection"},
};
static_assert(std::size(kAlwaysRules) == static_cast<std::size_t>(Always::count));

}  // namespace

void add_always(const MakeFamily& make) {
  ClientFamily family = make("always");
  for (const AlwaysRule& each : kAlwaysRules)
    family.add_plain(each.level, each.name, each.ids, "nothing: checks all messages of the cases that ran",
                     each.required, [&each](Record& record, const Stage& stage) {
                       const Watch& watch = stage.watch;
                       record.received(fmt::format("{} messages", watch.messages()));
                       Record::expect(watch.times(each.rule) == 0,
                                      fmt::format("{} messages break the rule; the first: {}", watch.times(each.rule),
                                                  watch.first(each.rule)));
                     });
}

}  // namespace rpcrdma::conform::client
