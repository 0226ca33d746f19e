// SPDX-License-Identifier: BSD-3-Clause
// Connections that are refused or end at some step, and servers that make the command wait.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

constexpr std::uint32_t kJukebox = 10008;
constexpr const char* kRecovers = "the command connects again and succeeds, or fails";

}  // namespace

void add_connections(const MakeFamily& make) {
  ClientFamily family = make("connections");
  family.robust("refused-once", "", "the first connection is rejected", kRecovers, [](Trial& t) {
    t.on_request([&t](auto request) {
      if (t.connections() == 0) return t.reject(std::move(request), {});
      t.accept(std::move(request));
    });
    t.stays_intact();
  });
  family.robust("cut-when-accepted", "", "the first connection is aborted at its first call", kRecovers, [](Trial& t) {
    t.on_call(from(1), [](Link& link, const Call&) { link.abort(); });
    t.stays_intact();
  });
  for (const std::size_t number : {2, 3, 4, 5, 7, 10})
    family.robust("cut-at-call-" + std::to_string(number), "", "the connection is aborted instead of a reply",
                  kRecovers, [number](Trial& t) {
                    t.on_call(from(number), [](Link& link, const Call&) { link.abort(); });
                    t.stays_intact();
                  });
  family.robust("closed-at-call-3", "", "the connection is closed instead of a reply", kRecovers, [](Trial& t) {
    t.on_call(from(3), [](Link& link, const Call&) { link.disconnect(); });
    t.stays_intact();
  });
  family.robust("cut-behind-a-reply", "", "the connection is aborted after the second reply", kRecovers, [](Trial& t) {
    t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { reply.abort = true; });
    t.stays_intact();
  });
  family.robust("cut-behind-the-writes", "", "the connection is aborted between the RDMA Writes and the reply",
                kRecovers, [](Trial& t) {
                  t.on_reply(with_write_chunk(), [](Reply& reply, const Call&, Link& link) {
                    for (const RemoteWrite& each : reply.writes) link.write(each);
                    reply.send = false;
                    reply.abort = true;
                  });
                  t.stays_intact();
                });
  family.robust("cut-behind-the-reads", "",
                "the call is executed and its chunks are read, but the connection is aborted", kRecovers, [](Trial& t) {
                  t.on_reply(with_read_chunk(), [](Reply& reply, const Call&, Link&) {
                    reply.send = false;
                    reply.abort = true;
                  });
                  t.stays_intact();
                });
  family.robust("three-calls-each", "", "each connection is aborted at its fourth call", kRecovers, [](Trial& t) {
    t.on_call([](const Call& call) { return call.on_link > 3; }, [](Link& link, const Call&) { link.abort(); },
              kAlways);
    t.stays_intact();
  });
  family.robust("no-reads", "", "the server announces that it accepts no RDMA Reads", "the command succeeds",
                [](Trial& t) {
                  t.setup().inbound_reads = 0;
                  t.on_reply(from(1), [](Reply&, const Call&, Link&) {});
                  t.succeeds();
                });
}

/// Cases in which the command waits for an answer that does not come, or repeats a request that fails each time. The
/// time limits of the command determine how long such a case lasts.
void add_stalls(const MakeFamily& make) {
  ClientFamily family = make("stalls");
  family.robust("handshake", "", "connection requests are not answered", kFails, [](Trial& t) {
    t.on_request([&t](auto request) { t.hold(std::move(request)); });
    t.fails();
  });
  family.robust("silence", "", "connections are accepted, and calls are not answered", kFails, [](Trial& t) {
    t.on_call(
        from(1), [](Link&, const Call&) {}, kAlways);
    t.fails();
  });
  family.robust("silence-later", "", "calls are not answered from the fourth one on", kFails, [](Trial& t) {
    t.on_call(
        from(4), [](Link&, const Call&) {}, kAlways);
    t.fails();
  });
  family.robust("one-call", "", "one call is not answered", kCopes, [](Trial& t) {
    t.on_call(from(2), [](Link&, const Call&) {});
    t.stays_intact();
  });
  family.robust("cut-at-every-call", "", "the connection is aborted at each call", kFails, [](Trial& t) {
    t.on_call(
        from(1), [](Link& link, const Call&) { link.abort(); }, kAlways);
    t.fails();
  });
  family.robust("cut-at-every-read", "", "the connection is aborted after the RDMA Writes of each reply", kFails,
                [](Trial& t) {
                  t.on_reply(
                      with_write_chunk(),
                      [](Reply& reply, const Call&, Link& link) {
                        for (const RemoteWrite& each : reply.writes) link.write(each);
                        reply.send = false;
                        reply.abort = true;
                      },
                      kAlways);
                  t.fails();
                });
  family.robust("refused", "", "all connections are rejected, with private data", kFails, [](Trial& t) {
    t.on_request([&t](auto request) { t.reject(std::move(request), pattern(100, 3)); });
    t.fails();
  });
  family.robust("invalidation", "8797-4.1-b", "all replies invalidate handles which were not offered", kFails,
                [](Trial& t) {
                  t.on_reply(
                      from(1), [](Reply& reply, const Call&, Link&) { reply.invalidate = 0x12345678; }, kAlways);
                  t.fails();
                });
  const auto postponed = [&](const char* name, const char* sends, std::function<bool(std::uint32_t)> procedures) {
    family.robust(name, "", sends, kFails, [procedures = std::move(procedures)](Trial& t) {
      t.hooks().status = [&](std::uint32_t procedure) { return procedures(procedure) ? kJukebox : 0; };
      t.fails();
    });
  };
  postponed("jukebox", "all procedures fail with NFS3ERR_JUKEBOX", [](std::uint32_t) { return true; });
  postponed("listing-jukebox", "all listings fail with NFS3ERR_JUKEBOX",
            [](std::uint32_t each) { return each == nfs::kReaddir || each == nfs::kReaddirplus; });
  postponed("write-jukebox", "WRITE fails with NFS3ERR_JUKEBOX",
            [](std::uint32_t each) { return each == nfs::kWrite; });
  family.robust("payload-xid", "8166-4.2.1-a 8166-4.2.1-b", "one RPC reply has another XID than its header", kCopes,
                [](Trial& t) {
                  t.on_reply(from(2), [](Reply& reply, const Call&, Link&) { set_word(reply.message, 0, 1); });
                  t.stays_intact();
                });
  family.robust("silent-then-closed", "", "a call is not answered; its connection ends when another call follows",
                kCopes, [](Trial& t) {
                  t.on_call(from(2), [](Link&, const Call&) {});
                  t.on_call([](const Call& call) { return call.number > 2; },
                            [](Link& link, const Call&) { link.disconnect(); });
                  t.stays_intact();
                });
}

}  // namespace rpcrdma::conform::client
