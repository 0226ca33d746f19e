// SPDX-License-Identifier: BSD-3-Clause
// Access to memory that the client does not offer, or that a finished call offered (RFC 8166 sections 4.4.1 and 8.1),
// and invalidation of wrong handles. In cases of use_later() the server grants one credit, so that when a call arrives,
// the client has received the reply to the previous call.
#include <algorithm>

#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

bool offers(const Call& call, std::uint32_t handle) {
  const auto same = [handle](const RdmaSegment& segment) { return segment.handle == handle; };
  const auto& lists = call.header.lists;
  return std::ranges::any_of(lists.reads, [&](const auto& read) { return same(read.target); }) ||
         std::ranges::any_of(lists.writes, [&](const auto& chunk) { return std::ranges::any_of(chunk, same); }) ||
         (lists.reply && std::ranges::any_of(*lists.reply, same));
}

/// Makes the server access memory that a finished call offered. `when` chooses the call, and `choose` chooses one of
/// its segments. When the second call after the chosen one arrives on the same connection, `access` uses the segment.
/// If that second call offers the same handle again, the access could be legitimate, so `when` chooses another call
/// instead. The access must end the connection. If a further call arrives on the connection, the case fails with the
/// message `allowed`.
void use_later(Trial& t, When when, std::function<RdmaSegment(const Call&)> choose,
               std::function<void(Link&, const RdmaSegment&)> access, const char* allowed) {
  struct Later {
    std::optional<RdmaSegment> segment;
    Link* link = nullptr;
    std::size_t number = 0;
    bool used = false;
  };
  const auto later = std::make_shared<Later>();
  t.setup().credits = 1;
  // The server's private data has the R flag clear, so the client cannot rely on Send with Invalidate. The client must
  // itself invalidate the memory that it has offered.
  t.setup().private_data = encode(PrivateData{});
  t.observe([=, &t](Link& link, const Call& call) {
    if (later->used) {
      if (later->link == &link) t.broken(allowed);
    } else if (later->segment && later->link == &link && call.number == later->number + 2) {
      // This call offers the same handle again, so an access with it could be legitimate. A later call is chosen.
      if (offers(call, later->segment->handle)) return later->segment.reset();
      later->used = true;
      t.happened();
      access(link, *later->segment);
    } else if (!later->segment && when(call) && choose(call).length != 0) {
      *later = {choose(call), &link, call.number};
    }
  });
}

RdmaSegment read_segment(const Call& call) { return call.header.lists.reads[0].target; }
RdmaSegment write_segment(const Call& call) { return call.header.lists.writes[0][0]; }
RdmaSegment reply_segment(const Call& call) { return call.header.lists.reply->front(); }

void write_garbage(Link& link, const RdmaSegment& segment) {
  link.write({segment.handle, segment.offset, Bytes(std::min(segment.length, 4096u), std::byte{0xee})});
}

/// Returns a function that reads a segment of the client's memory by RDMA Read. The client must refuse the access: if
/// the Read succeeds, the case fails with the message `what`.
std::function<void(Link&, const RdmaSegment&)> must_not_read(Trial& t, const char* what) {
  return [&t, what](Link& link, const RdmaSegment& segment) {
    link.read(std::min(segment.length, 4096u), segment.handle, segment.offset, [&t, what](bool good) {
      if (good) t.broken(what);
    });
  };
}

}  // namespace

void add_memory(const MakeFamily& make) {
  ClientFamily family = make("memory");
  const char* const protects = "the access is refused; if the connection ends, the command connects again, or fails";
  family.must("read-after-the-reply", "8166-3.4.5.1-a 8166-4.4.1-a",
              "an RDMA Read of a Read chunk two calls after the reply", protects, [](Trial& t) {
                const char* const allowed = "the Read chunk of an earlier call can be read";
                use_later(t, with_read_chunk(), read_segment, must_not_read(t, allowed), allowed);
                t.stays_intact();
              });
  family.must("write-after-the-reply", "8166-4.4.1-a 8166-4.4.1-b",
              "an RDMA Write into a Write chunk two calls after the reply", protects, [](Trial& t) {
                use_later(t, with_write_chunk(), write_segment, write_garbage,
                          "the Write chunk of an earlier call can be written");
                t.stays_intact();
              });
  family.must("write-after-a-long-reply", "8166-4.4.1-a 8166-4.4.1-b",
              "an RDMA Write into a Reply chunk two calls after the reply", protects, [](Trial& t) {
                use_later(t, with_reply_chunk(), reply_segment, write_garbage,
                          "the Reply chunk of an earlier call can be written");
                t.stays_intact();
              });
  const auto at_once = [&](const char* name, const char* sends, When when,
                           std::function<void(Trial&, Link&, const Call&)> access) {
    family.must(name, "8166-8.1-a", sends, protects, [when = std::move(when), access = std::move(access)](Trial& t) {
      t.on_reply(when, [&](Reply& reply, const Call& call, Link& link) {
        access(t, link, call);
        reply.invalidate.reset();
      });
      t.stays_intact();
    });
  };
  at_once("read-of-a-write-chunk", "an RDMA Read of a Write chunk", with_write_chunk(),
          [](Trial& t, Link& link, const Call& call) {
            must_not_read(t, "a Write chunk can be read")(link, write_segment(call));
          });
  at_once("write-to-a-read-chunk", "an RDMA Write into a Read chunk", with_read_chunk(),
          [](Trial&, Link& link, const Call& call) { write_garbage(link, read_segment(call)); });
  at_once("read-beyond-a-read-chunk", "an RDMA Read of 4,096 bytes beyond the end of a Read chunk", with_read_chunk(),
          [](Trial& t, Link& link, const Call& call) {
            RdmaSegment segment = read_segment(call);
            segment.offset += segment.length;
            segment.length = 4096;
            must_not_read(t, "memory beyond a Read chunk can be read")(link, segment);
          });
  at_once("write-beyond-a-write-chunk", "an RDMA Write beyond the end of a Write chunk", with_write_chunk(),
          [](Trial&, Link& link, const Call& call) {
            RdmaSegment segment = write_segment(call);
            segment.offset += segment.length;
            segment.length = 4096;
            write_garbage(link, segment);
          });
  at_once("write-before-a-write-chunk", "an RDMA Write before the start of a Write chunk", with_write_chunk(),
          [](Trial&, Link& link, const Call& call) {
            RdmaSegment segment = write_segment(call);
            segment.offset -= 4096;
            write_garbage(link, segment);
          });
  at_once("handle-that-was-not-offered", "an RDMA Read with a handle that was not offered", from(2),
          [](Trial& t, Link& link, const Call&) {
            must_not_read(t, "memory that was never offered can be read")(link, {0x12345678, 64, 0});
          });
  family.robust("reply-before-the-read", "8166-3.4.5.1-a", "success in reply to a call whose Read chunks were not read",
                kEnds, [](Trial& t) {
                  t.on_call([](const Call& call) { return call.is(nfs::kProgram, nfs::kWrite) && call.has_reads(); },
                            [](Link& link, const Call& call) {
                              std::uint32_t count = 0;
                              for (const ReadSegment& read : call.header.lists.reads) count += read.target.length;
                              const Bytes results = Out().words({0, 0, 0, count, 2, 0, 0}).bytes();
                              Answer answer;
                              answer.results = results;
                              link.send(plan_reply(call, answer, link.agreed(), link.setup().credits));
                            });
                  t.ends();
                });
}

void add_invalidation(const MakeFamily& make) {
  ClientFamily family = make("invalidation");
  const char* const required = "the connection ends; the command connects again, or fails";
  family.robust("handle-that-was-not-offered", "8797-4.1-b", "a reply that invalidates a handle which was not offered",
                required, [](Trial& t) {
                  t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { reply.invalidate = 0x12345678; });
                  t.stays_intact();
                });
  family.robust("not-agreed", "8797-4.1-c", "Send with Invalidate, although the server has not set R", kCopes,
                [](Trial& t) {
                  t.setup().private_data = encode(PrivateData{});
                  t.on_reply([](const Call& call) { return call.handle().has_value(); },
                             [](Reply& reply, const Call& call, Link&) { reply.invalidate = call.handle(); });
                  t.stays_intact();
                });
  family.robust("before-the-data", "8797-4.1-b",
                "a message that invalidates the handle of the Write chunk, then the data and the reply", kCopes,
                [](Trial& t) {
                  t.on_reply(with_write_chunk(), [](Reply& reply, const Call& call, Link& link) {
                    link.send(pattern(8, 1), call.handle());
                    reply.invalidate.reset();
                  });
                  t.stays_intact();
                });
  family.robust("earlier-handle", "8797-4.1-b", "a reply that invalidates the handle of an earlier call", required,
                [](Trial& t) {
                  const auto earlier = std::make_shared<std::optional<std::uint32_t>>();
                  t.observe([earlier, &t](Link&, const Call& call) {
                    if (*earlier && call.handle()) t.happened();
                  });
                  t.on_reply([](const Call& call) { return call.handle().has_value(); },
                             [earlier](Reply& reply, const Call& call, Link&) {
                               if (*earlier) reply.invalidate = *earlier;
                               *earlier = call.handle();
                             },
                             2);
                  t.stays_intact();
                });
}

}  // namespace rpcrdma::conform::client
