// SPDX-License-Identifier: BSD-3-Clause
// MPA Requests that a responder refuses by closing the connection, and connections on which no whole Request arrives.
#include <fmt/format.h>

#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

constexpr const char* kCloses = "the responder closes the connection";

void refused(Peer& peer, View bytes) {
  peer.send(bytes);
  peer.expect_refused();
}

void add_keys(IwarpFamily& family) {
  for (const std::size_t at : {0, 7, 15})
    family.must(fmt::format("key-byte-{}", at), "5044-7.1.1-b 5044-8-b",
                fmt::format("a Request with byte {} of its key changed", at), kCloses, [at](Peer& peer) {
                  Request request;
                  request.key[at] = static_cast<char>(request.key[at] ^ 1);
                  refused(peer, encode(request));
                });
  family.must("key-of-a-reply", "5044-7.1.2-i", "a Reply frame instead of a Request", kCloses, [](Peer& peer) {
    Request request;
    request.key = kReplyKey;
    refused(peer, encode(request));
  });
  family.must("key-of-zeros", "5044-7.1.1-b", "64 bytes of zeros", kCloses,
              [](Peer& peer) { refused(peer, Bytes(64)); });
  family.must("http", "5044-7.1.1-b 5044-7.1.2-c", "an HTTP request", kCloses, [](Peer& peer) {
    refused(peer, view_of("GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: conform\r\n\r\n"));
  });
  family.must("rpc-over-tcp", "5044-7.1.1-b 5044-7.1.2-c", "an RPC call with a TCP record mark", kCloses,
              [](Peer& peer) {
                refused(peer, Out().words({0x80000028, 1, 0, 2, 100003, 3, 0, 0, 0, 0, 0}).bytes());
              });
}

void add_revisions(IwarpFamily& family) {
  for (const unsigned revision : {0u, 3u, 255u})
    family.must(fmt::format("revision-{}", revision), "5044-7.1.1-g", fmt::format("a Request of revision {}", revision),
                "the responder closes the connection; a Reply may name the revision that it supports",
                [revision](Peer& peer) {
                  Request request;
                  request.revision = static_cast<std::uint8_t>(revision);
                  peer.send(encode(request));
                  peer.expect_refused(peer.options().patience, true);
                });
}

void add_lengths(IwarpFamily& family) {
  for (const std::uint16_t length : {std::uint16_t{513}, std::uint16_t{65535}})
    family.must(fmt::format("length-{}", length), "5044-7.1.1-h 5044-7.1.2-k 5044-8-b",
                fmt::format("a Request whose private data has {} bytes", length), kCloses, [length](Peer& peer) {
                  Request request;
                  request.length = length;
                  peer.send(encode(request));
                  peer.expect_refused();
                });
  family.must("length-513-complete", "5044-7.1.1-h 5044-7.1.2-k",
              "a Request with 513 bytes of private data, all of them sent", kCloses, [](Peer& peer) {
                Request request;
                request.private_data = pattern(513, 3);
                refused(peer, encode(request));
              });
  family.must("length-not-reached", "5044-7.1.1-h",
              "a Request that announces 100 bytes of private data, 40 bytes, then the end", kCloses, [](Peer& peer) {
                Request request;
                request.private_data = pattern(40, 3);
                request.length = 100;
                peer.send(encode(request));
                peer.finish_sending();
                peer.expect_refused();
              });
  family.robust("every-prefix", "", "each prefix of a Request, then the end of the stream",
                "the responder closes each connection", [](Peer& peer) {
                  const Bytes whole = encode(Request{});
                  for (std::size_t size = 0; size < whole.size(); ++size) {
                    peer.send(View(whole).first(size));
                    peer.finish_sending();
                    peer.expect_refused();
                    peer.reconnect();
                  }
                });
}

void add_stalls(IwarpFamily& family) {
  family.should("silence", "5044-7.1.2-j", "nothing", "the responder closes the connection after some time",
                [](Peer& peer) { peer.expect_refused(peer.options().stall); });
  family.should("half-a-header", "5044-7.1.2-j", "11 bytes of a Request, then nothing",
                "the responder closes the connection after some time", [](Peer& peer) {
                  peer.send(View(encode(Request{})).first(11));
                  peer.expect_refused(peer.options().stall);
                });
  family.should("half-the-private-data", "5044-7.1.2-j", "a Request without the end of its private data, then nothing",
                "the responder closes the connection after some time", [](Peer& peer) {
                  Request request;
                  request.private_data = pattern(12, 2);
                  request.length = 40;
                  peer.send(encode(request));
                  peer.expect_refused(peer.options().stall);
                });
  family.robust("many-at-once", "", "64 connections on which nothing is sent", "another connection is served",
                [](Peer& peer) {
                  Record unused;
                  std::vector<std::unique_ptr<Peer>> crowd;
                  for (int i = 0; i < 64; ++i) crowd.push_back(std::make_unique<Peer>(peer.options(), unused));
                  peer.start();
                  peer.expect_alive();
                });
}

}  // namespace

void add_bad_requests(const MakeFamily& make) {
  auto family = make("bad-request");
  add_keys(family);
  add_revisions(family);
  add_lengths(family);
  add_stalls(family);
}

}  // namespace rpcrdma::conform::iwarp
