// SPDX-License-Identifier: BSD-3-Clause
// The end of connections, in several states and many times (RFC 5041 section 6.2).
#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

constexpr const char* kEnds = "the connection ends";

void ends(Peer& peer) {
  Bytes rest;
  Record::expect(peer.drain(rest, peer.options().patience) != End::timeout, "the connection stays open");
}

/// Calls `last`, which ends the connection, on `count` connections in turn. One more connection must then be served.
void repeatedly(Peer& peer, int count, const std::function<void()>& last) {
  for (int i = 0; i < count; ++i) {
    last();
    peer.reconnect();
  }
  peer.start();
  peer.expect_alive();
}

}  // namespace

void add_closing(const MakeFamily& make) {
  auto family = make("closing");
  family.must("after-set-up", "5044-7.2-a 5041-3-f", "the end of the stream right after the Reply", kEnds,
              [](Peer& peer) {
                peer.start();
                peer.finish_sending();
                ends(peer);
              });
  family.must("after-a-call", "5044-7.2-a 5041-6.2-c", "the end of the stream after an answered call", kEnds,
              [](Peer& peer) {
                peer.start();
                peer.expect_alive();
                peer.finish_sending();
                ends(peer);
              });
  family.must("with-a-call", "5044-7.2-a", "a call, and the end of the stream at once",
              "the connection ends, with or without the answer", [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                peer.segment(header, peer.null_call());
                peer.finish_sending();
                ends(peer);
              });
  family.must("in-mid-message", "5041-6.2.2-a", "the first segment of a call, then the end of the stream", kEnds,
              [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                header.last = false;
                peer.segment(header, peer.null_call());
                peer.finish_sending();
                ends(peer);
              });
  family.robust("resets-after-the-request", "", "50 connections that are reset right after the Request",
                "further connections are served", [](Peer& peer) {
                  repeatedly(peer, 50, [&peer] {
                    peer.send(encode(peer.request()));
                    peer.reset();
                  });
                });
  family.robust("resets-after-a-call", "", "50 connections that are reset right after a call",
                "further connections are served", [](Peer& peer) {
                  repeatedly(peer, 50, [&peer] {
                    peer.start();
                    Untagged header;
                    header.msn = peer.next_msn();
                    peer.segment(header, peer.null_call());
                    peer.reset();
                  });
                });
  family.robust("many-terminates", "", "48 connections that end with a Terminate for a Write to an unknown STag",
                "further connections are served", [](Peer& peer) {
                  repeatedly(peer, 48, [&peer] {
                    peer.start();
                    Tagged header;
                    header.stag = 0xDEADBEEF;
                    peer.segment(header, pattern(8, 1));
                    peer.expect_end();
                  });
                });
  family.robust("answers-not-read", "", "64 calls one after the other whose answers are not read, then a reset",
                "other connections are served", [](Peer& peer) {
                  peer.start();
                  for (int i = 0; i < 64; ++i) {
                    Untagged header;
                    header.msn = peer.next_msn();
                    peer.segment(header, peer.null_call());
                  }
                  Record unused;
                  Peer other(peer.options(), unused);
                  other.start();
                  other.expect_alive();
                  peer.reset();
                });
}

}  // namespace rpcrdma::conform::iwarp
