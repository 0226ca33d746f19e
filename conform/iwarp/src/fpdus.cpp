// SPDX-License-Identifier: BSD-3-Clause
// FPDUs: TCP segmentation, padding, CRCs, sizes (RFC 5044 sections 4 to 6).
#include <fmt/format.h>

#include <thread>

#include "families.hpp"

namespace rpcrdma::conform::iwarp {
namespace {

Bytes next_call(Peer& peer) {
  Untagged header;
  header.msn = peer.next_msn();
  return fpdu(encode(header, peer.null_call()));
}

void add_segmentation(IwarpFamily& family) {
  family.must("one-byte-at-a-time", "5044-5.1-b 5044-5.2-a 5044-6-b", "a call in TCP segments of one byte", "an answer",
              [](Peer& peer) {
                peer.start();
                const Bytes call = next_call(peer);
                for (std::size_t i = 0; i < call.size(); ++i) {
                  peer.send(View(call).subspan(i, 1));
                  std::this_thread::sleep_for(std::chrono::microseconds(500));
                }
                peer.expect_answer();
              });
  for (const std::size_t at : {1, 2, 3, 20})
    family.must(fmt::format("cut-at-{}", at), "5044-5.1-b 5044-6-b",
                fmt::format("a call in two TCP segments, cut at byte {} of the FPDU", at),
                "an answer when all of it has arrived", [at](Peer& peer) {
                  peer.start();
                  const Bytes call = next_call(peer);
                  peer.send(View(call).first(at));
                  Record::expect(!peer.speaks_soon(), "an answer to a part of an FPDU");
                  peer.send(View(call).subspan(at));
                  peer.expect_answer();
                });
  family.must("crc-last", "5044-6-a 5044-6-b", "a call without its CRC, then the CRC", "no answer before the CRC",
              [](Peer& peer) {
                peer.start();
                const Bytes call = next_call(peer);
                peer.send(View(call).first(call.size() - 4));
                Record::expect(!peer.speaks_soon(), "an answer to an FPDU without CRC");
                peer.send(View(call).last(4));
                peer.expect_answer();
              });
  family.must("boundaries-within-fpdus", "5044-5.1-b 5044-5.2-a",
              "three times: an empty Write and 30 bytes of a call in one TCP segment, the rest in another",
              "three answers", [](Peer& peer) {
                peer.start();
                peer.expect_alive();
                for (int round = 0; round < 3; ++round) {
                  Bytes two = encode(Tagged{}, {});
                  two = fpdu(two);
                  const Bytes call = next_call(peer);
                  two.insert(two.end(), call.begin(), call.begin() + 30);
                  peer.send(two);
                  peer.send(View(call).subspan(30));
                  peer.expect_answer();
                }
              });
}

void add_padding(IwarpFamily& family) {
  for (const std::size_t part : {1, 2, 3, 5})
    family.must(fmt::format("segment-of-{}", part), "5044-4.1-a 5044-4.1-c 5041-5.2-c",
                fmt::format("a call in two DDP segments, the first one with {} bytes", part), "an answer",
                [part](Peer& peer) {
                  peer.start();
                  Untagged header;
                  header.msn = peer.next_msn();
                  const Bytes call = peer.null_call();
                  header.last = false;
                  peer.segment(header, View(call).first(part));
                  header.last = true;
                  header.offset = static_cast<std::uint32_t>(part);
                  peer.segment(header, View(call).subspan(part));
                  peer.expect_answer();
                });
  family.must("pad-not-zero", "5044-4.1-b", "an FPDU whose pad is not zero, with a matching CRC",
              "the pad is ignored: an answer", [](Peer& peer) {
                peer.start();
                Untagged header;
                header.msn = peer.next_msn();
                const Bytes call = peer.null_call();
                header.last = false;
                peer.send(fpdu(encode(header, View(call).first(1)), {0, 0xA5}));
                header.last = true;
                header.offset = 1;
                peer.send(fpdu(encode(header, View(call).subspan(1)), {0, 0xFF}));
                peer.expect_answer();
              });
}

/// Sends an FPDU with a call, in which one bit has been flipped after the computation of the CRC. The bit is in the
/// byte at position `at`, counted from the start or from the end of the FPDU. The responder must end the connection
/// without an answer to the call.
void damaged(Peer& peer, std::size_t at, bool from_the_end) {
  peer.start();
  peer.expect_alive();
  Bytes call = next_call(peer);
  call[from_the_end ? call.size() - at : at] ^= std::byte{0x10};
  peer.send(call);
  peer.expect_end();
}

void add_crcs(IwarpFamily& family) {
  struct Place {
    const char* name;
    std::size_t at;
    bool from_the_end;
  };
  static constexpr Place kPlaces[] = {{"ddp-header", 2, false},
                                      {"rdmap-header", 3, false},
                                      {"message", 40, false},
                                      {"last-byte", 5, true},
                                      {"crc", 1, true}};
  for (const Place& place : kPlaces)
    family.must(std::string("bad-crc-") + place.name, "5044-4.4-i 5044-6-a 5044-8-c",
                fmt::format("a call with a flipped bit in: {}", place.name),
                "the call is not answered; the connection ends",
                [place](Peer& peer) { damaged(peer, place.at, place.from_the_end); });
  family.must("crc-of-the-pad", "5044-4.4-g 5044-4.4-i", "an FPDU whose pad was changed after its CRC was computed",
              "the connection ends", [](Peer& peer) {
                peer.start();
                peer.expect_alive();
                Untagged header;
                header.msn = peer.next_msn();
                header.last = false;
                Bytes part = fpdu(encode(header, View(peer.null_call()).first(1)));
                part[part.size() - 5] ^= std::byte{1};
                peer.send(part);
                peer.expect_end();
              });
  family.must("nothing-after-a-bad-crc", "5044-8-c 5041-7.1-c",
              "an FPDU with a wrong CRC and a good call in one TCP segment", "the good call is not answered",
              [](Peer& peer) {
                peer.start();
                peer.expect_alive();
                Bytes both = fpdu(encode(Tagged{}, {}), {1, 0});
                const Bytes call = next_call(peer);
                both.insert(both.end(), call.begin(), call.end());
                peer.send(both);
                peer.expect_end();
              });
  family.must("crc-off", "5044-4.1-d 5044-4.4-d", "C=0 in Request and Reply; a call with a wrong CRC",
              "the CRC is not checked: an answer", [](Peer& peer) {
                Request request = peer.request();
                request.flags &= kEnhanced;
                peer.start(request);
                if (peer.crc()) Record::skip("the responder asks for CRCs");
                Untagged header;
                header.msn = peer.next_msn();
                peer.send(fpdu(encode(header, peer.null_call()), {0xDEADBEEF, 0}));
                peer.expect_answer();
              });
  family.must("crc-on-by-the-reply", "5044-7.1.1-d 5044-4.4-c",
              "C=0 in the Request and C=1 in the Reply; a call with a wrong CRC",
              "the CRC is checked: the connection ends", [](Peer& peer) {
                Request request = peer.request();
                request.flags &= kEnhanced;
                peer.start(request);
                if (!peer.crc()) Record::skip("the responder does not ask for CRCs");
                Untagged header;
                header.msn = peer.next_msn();
                peer.send(fpdu(encode(header, peer.null_call()), {1, 0}));
                peer.expect_end();
              });
}

void add_sizes(IwarpFamily& family) {
  for (const std::size_t size : {0, 1, 2, 13, 17})
    family.robust(fmt::format("ulpdu-of-{}", size), "",
                  fmt::format("an FPDU whose ULPDU has {} bytes, too few for a DDP header", size),
                  "the connection ends", [size](Peer& peer) {
                    peer.start();
                    peer.expect_alive();
                    Untagged header;
                    header.msn = peer.next_msn();
                    peer.send(fpdu(View(encode(header, {})).first(size)));
                    peer.expect_end();
                  });
  family.robust("length-65535", "", "an FPDU with the largest length, 65535, beyond the largest MULPDU",
                "the connection ends", [](Peer& peer) {
                  peer.start();
                  peer.expect_alive();
                  Untagged header;
                  header.msn = peer.next_msn();
                  peer.send(fpdu(encode(header, Bytes(65535 - kUntaggedSize))));
                  peer.expect_end();
                });
  family.robust("half-an-fpdu", "", "half an FPDU, then the end of the stream", "the connection ends", [](Peer& peer) {
    peer.start();
    peer.expect_alive();
    peer.send(View(next_call(peer)).first(40));
    peer.finish_sending();
    peer.expect_end();
  });
}

}  // namespace

void add_fpdus(const MakeFamily& make) {
  auto family = make("fpdu");
  add_segmentation(family);
  add_padding(family);
  add_crcs(family);
  add_sizes(family);
}

}  // namespace rpcrdma::conform::iwarp
