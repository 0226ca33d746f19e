// SPDX-License-Identifier: BSD-3-Clause
// Violations by the peer, which this side answers with a Terminate (RFC 5040 section 4.8, RFC 5041 section 7.2).
// Also Terminates of the peer, and ends of the connection that are not orderly.
#include "iwarp_test.hpp"

namespace rpcrdma::test {
namespace {

using iwarp::DdpHeader;
using iwarp::TerminateCode;
namespace code = iwarp::terminate;

/// A ULPDU of the peer that breaks a rule. The peer knows a readable and a writable window of kWindowSize bytes, and
/// the STag of a window of another stream.
struct Fault {
  const char* name;
  Bytes (*ulpdu)(const Segment& readable, const Segment& writable, std::uint32_t foreign);
  TerminateCode code;
  std::size_t ddp = 0;        ///< size of the DDP header in the Terminate
  bool read_request = false;  ///< true if the Terminate also contains the Read Request
  FabricError ours = FabricError::protocol_violation;
};

using Window = Segment;
constexpr std::uint32_t kWindowSize = 1000;

Bytes with(DdpHeader header, std::uint8_t ddp_version, std::uint8_t rdmap_version) {
  header.ddp_version = ddp_version;
  header.rdmap_version = rdmap_version;
  return ddp(header, filled(20, 0x11));
}
Bytes with_opcode(DdpHeader header, std::uint8_t opcode) {
  header.opcode = opcode;
  return ddp(header, filled(20, 0x11));
}
Bytes ask_for(std::uint32_t stag, std::uint64_t offset, std::uint32_t size, std::uint32_t msn = 1) {
  const Bytes frame = read_request(msn, {0x77, 0x88, size, stag, offset});
  return {frame.begin() + 2, frame.begin() + 2 + 46};
}
Bytes tagged_write(std::uint32_t stag, std::uint64_t offset, std::size_t size) {
  return ddp(tagged(Opcode::write, stag, offset), filled(size, 0x11));
}
Bytes invalidate(std::uint32_t stag) {
  DdpHeader header = untagged(Opcode::send_invalidate, 0, 1);
  header.stag = stag;
  return ddp(header, filled(20, 0x11));
}

constexpr auto kSendForm = [] { return untagged(Opcode::send, 0, 1); };

const Fault kFaults[] = {
    // [5041-4.1-f] [5040-7.2-a]
    {"DdpVersion0", [](const Window&, const Window&, std::uint32_t) { return with(kSendForm(), 0, 1); },
     code::kUntaggedVersion, 18},
    {"DdpVersion2", [](const Window&, const Window&, std::uint32_t) { return with(kSendForm(), 2, 1); },
     code::kUntaggedVersion, 18},
    {"DdpVersion3Tagged",
     [](const Window&, const Window& w, std::uint32_t) {
       return with(tagged(Opcode::write, w.handle, w.offset), 3, 1);
     },
     code::kTaggedVersion, 14},
    {"RdmapVersion0", [](const Window&, const Window&, std::uint32_t) { return with(kSendForm(), 1, 0); },
     code::kRdmapVersion, 18},
    {"RdmapVersion2", [](const Window&, const Window&, std::uint32_t) { return with(kSendForm(), 1, 2); },
     code::kRdmapVersion, 18},
    {"RdmapVersion3Tagged",
     [](const Window&, const Window& w, std::uint32_t) {
       return with(tagged(Opcode::write, w.handle, w.offset), 1, 3);
     },
     code::kRdmapVersion, 14},
    // [5040-4.1-b] [5041-4.1-a] unknown opcodes, and opcodes with the wrong T flag or queue
    {"Opcode8", [](const Window&, const Window&, std::uint32_t) { return with_opcode(kSendForm(), 8); }, code::kOpcode,
     18},
    {"Opcode15", [](const Window&, const Window&, std::uint32_t) { return with_opcode(kSendForm(), 15); },
     code::kOpcode, 18},
    {"TaggedSend",
     [](const Window&, const Window&, std::uint32_t) { return with_opcode(tagged(Opcode::send, 1, 0), 3); },
     code::kOpcode, 14},
    {"UntaggedWrite", [](const Window&, const Window&, std::uint32_t) { return with_opcode(kSendForm(), 0); },
     code::kOpcode, 18},
    {"UntaggedResponse", [](const Window&, const Window&, std::uint32_t) { return with_opcode(kSendForm(), 2); },
     code::kOpcode, 18},
    {"SendOnTheReadQueue",
     [](const Window&, const Window&, std::uint32_t) { return ddp(untagged(Opcode::send, 1, 1), filled(20, 0)); },
     code::kOpcode, 18},
    {"ReadRequestOnTheSendQueue",
     [](const Window&, const Window&, std::uint32_t) {
       return ddp(untagged(Opcode::read_request, 0, 1), filled(28, 0));
     },
     code::kOpcode, 18},
    // [5041-7.1-a] [5041-5.3-d]
    {"Queue3",
     [](const Window&, const Window&, std::uint32_t) { return ddp(untagged(Opcode::send, 3, 1), filled(20, 0)); },
     code::kQueue, 18},
    {"MsnGap",
     [](const Window&, const Window&, std::uint32_t) { return ddp(untagged(Opcode::send, 0, 2), filled(20, 0)); },
     code::kMsn, 18},
    {"MsnAgain",
     [](const Window&, const Window&, std::uint32_t) { return ddp(untagged(Opcode::send, 0, 0), filled(20, 0)); },
     code::kMsn, 18},
    {"MessageOffset",
     [](const Window&, const Window&, std::uint32_t) { return ddp(untagged(Opcode::send, 0, 1, 4), filled(20, 0)); },
     code::kMessageOffset, 18},
    // [5041-7.1-a] violations on queue 2, which carries only one Terminate, in one segment
    {"TerminateMsn",
     [](const Window&, const Window&, std::uint32_t) { return ddp(untagged(Opcode::terminate, 2, 2), filled(4, 0)); },
     code::kMsn, 18},
    {"TerminateMessageOffset",
     [](const Window&, const Window&, std::uint32_t) {
       return ddp(untagged(Opcode::terminate, 2, 1, 4), filled(4, 0));
     },
     code::kMessageOffset, 18},
    {"TerminateInTwoSegments",
     [](const Window&, const Window&, std::uint32_t) {
       return ddp(untagged(Opcode::terminate, 2, 1, 0, false), filled(4, 0));
     },
     code::kTooLong, 18},
    {"TerminateTooLong",
     [](const Window&, const Window&, std::uint32_t) {
       return ddp(untagged(Opcode::terminate, 2, 1), filled(5000, 0x11));
     },
     code::kTooLong, 18},
    // [5040-5.3-c]
    {"SendTooLong", [](const Window&, const Window&, std::uint32_t) { return ddp(kSendForm(), filled(65, 0x11)); },
     code::kTooLong, 18, false, FabricError::message_too_long},
    {"LargeSendTooLong",
     [](const Window&, const Window&, std::uint32_t) { return ddp(kSendForm(), filled(60000, 0x11)); }, code::kTooLong,
     18, false, FabricError::message_too_long},
    // [5041-7.1-b] [5041-8.3.1-c] [5041-8.3.1-d] [5041-8.2-a] [5041-8.2-b] [5041-8.3.1-a] [8166-8.1-a] [8166-8.1.1-a]
    {"WriteToAnUnknownStag",
     [](const Window&, const Window& w, std::uint32_t) { return tagged_write(w.handle + 1, w.offset, 20); },
     code::kInvalidStag, 14},
    {"WriteToAForeignStag",
     [](const Window&, const Window& w, std::uint32_t foreign) { return tagged_write(foreign, w.offset, 20); },
     code::kForeignStag, 14},
    {"WriteToAReadableWindow",
     [](const Window& r, const Window&, std::uint32_t) { return tagged_write(r.handle, r.offset, 20); },
     code::kInvalidStag, 14},
    {"WriteOneByteBeyond",
     [](const Window&, const Window& w, std::uint32_t) { return tagged_write(w.handle, w.offset + kWindowSize, 1); },
     code::kBounds, 14},
    {"WriteAcrossTheEnd",
     [](const Window&, const Window& w, std::uint32_t) { return tagged_write(w.handle, w.offset, kWindowSize + 1); },
     code::kBounds, 14},
    {"WriteOneByteBefore",
     [](const Window&, const Window& w, std::uint32_t) { return tagged_write(w.handle, w.offset - 1, 2); },
     code::kBounds, 14},
    {"LargeWriteAcrossTheEnd",
     [](const Window&, const Window& w, std::uint32_t) { return tagged_write(w.handle, w.offset, 60000); },
     code::kBounds, 14},
    {"WriteThatWraps",
     [](const Window&, const Window& w, std::uint32_t) { return tagged_write(w.handle, ~std::uint64_t{0} - 1, 20); },
     code::kWrap, 14},
    // [5040-5.2.2-c]
    {"UnsolicitedResponse",
     [](const Window&, const Window& w, std::uint32_t) {
       return ddp(tagged(Opcode::read_response, w.handle, w.offset), filled(20, 0));
     },
     code::kInvalidStag, 14},
    {"EmptyUnsolicitedResponse",
     [](const Window&, const Window&, std::uint32_t) { return ddp(tagged(Opcode::read_response, 0, 0)); },
     code::kInvalidStag, 14},
    // [5040-7.2-c] [5040-5.2.1-d] [5040-5.2.1-f] [5040-4.8-d]
    {"ReadOfAnUnknownStag",
     [](const Window& r, const Window&, std::uint32_t) { return ask_for(r.handle + 1, r.offset, 20); },
     code::kReadInvalidStag, 18, true},
    {"ReadOfAForeignStag",
     [](const Window& r, const Window&, std::uint32_t foreign) { return ask_for(foreign, r.offset, 20); },
     code::kReadForeignStag, 18, true},
    {"ReadOfAWritableWindow",
     [](const Window&, const Window& w, std::uint32_t) { return ask_for(w.handle, w.offset, 20); }, code::kReadAccess,
     18, true},
    {"ReadAcrossTheEnd",
     [](const Window& r, const Window&, std::uint32_t) { return ask_for(r.handle, r.offset + 1, kWindowSize); },
     code::kReadBounds, 18, true},
    {"ReadOneByteBefore",
     [](const Window& r, const Window&, std::uint32_t) { return ask_for(r.handle, r.offset - 1, 2); },
     code::kReadBounds, 18, true},
    {"ReadOfEverything",
     [](const Window& r, const Window&, std::uint32_t) { return ask_for(r.handle, r.offset, 0xffffffff); },
     code::kReadBounds, 18, true},
    {"ReadThatWraps",
     [](const Window& r, const Window&, std::uint32_t) { return ask_for(r.handle, ~std::uint64_t{0} - 3, 20); },
     code::kReadWrap, 18, true},
    {"ReadMsnGap", [](const Window& r, const Window&, std::uint32_t) { return ask_for(r.handle, r.offset, 20, 2); },
     code::kMsn, 18},
    {"ReadRequestTooLong",
     [](const Window&, const Window&, std::uint32_t) {
       return ddp(untagged(Opcode::read_request, 1, 1), filled(29, 0));
     },
     code::kTooLong, 18},
    {"ReadRequestTooShort",
     [](const Window&, const Window&, std::uint32_t) {
       return ddp(untagged(Opcode::read_request, 1, 1), filled(27, 0));
     },
     code::kUnspecifiedOperation, 18},
    {"ReadRequestInPieces",
     [](const Window&, const Window&, std::uint32_t) {
       return ddp(untagged(Opcode::read_request, 1, 1, 0, false), filled(28, 0));
     },
     code::kTooLong, 18},
    // [5040-7.2-b] [5040-5.3-e] [5040-8.1.1-b]
    {"InvalidationOfAnUnknownStag",
     [](const Window& r, const Window&, std::uint32_t) { return invalidate(r.handle + 1); }, code::kInvalidate, 18},
    {"InvalidationOfAForeignStag",
     [](const Window&, const Window&, std::uint32_t foreign) { return invalidate(foreign); }, code::kForeignInvalidate,
     18},
    // [5044-8-a]
    {"TooShortForAHeader", [](const Window&, const Window&, std::uint32_t) { return from_hex("414300"); },
     code::kMarkers, 0},
};

class Errors : public IwarpTest, public testing::WithParamInterface<std::tuple<Fault, bool>> {
 protected:
  const Fault& fault() const { return std::get<0>(GetParam()); }
  bool crc() const { return std::get<1>(GetParam()); }
  /// Makes another connection of the same fabric; returns the STag of its window.
  std::uint32_t make_foreign_stag();

  std::unique_ptr<Node> other_;
  std::unique_ptr<Exposed> foreign_;
  RawPeer other_peer_{context_};
};

std::uint32_t Errors::make_foreign_stag() {
  other_ = std::make_unique<Node>(*fabric_);
  auto qp = fabric_->make_connector(other_peer_.listen(), {}, *other_);
  other_->qp = std::move(*qp);
  fabric_->start(*other_->qp);
  other_peer_.accept();
  other_peer_.receive(24);
  other_peer_.send(reply(0x10, 2, "00100010"));
  EXPECT_TRUE(until([&] { return other_->established(); }));
  foreign_ = std::make_unique<Exposed>(*other_, memory().part(20000, 1000), fabric::Access::remote_write);
  return foreign_->segment.handle;
}

// [5041-7.2-a] [5041-7.1-c] [5041-7.1-d] [5041-7.1-e] [5040-7.1-b] [5040-6.2.1-a] [5040-6.2.1-b] [5040-6.2.1-c]
// [5041-8.3-c] [5041-6.2.2-a] [5041-6.2.2-b] [5041-6.2.2-c] [5040-5.4-a] [5040-7-a] [5040-8.1.1-a] [8166-8.1-b]
// This side answers each violation with a Terminate and flushes its receives. It places neither the data of the invalid
// FPDU nor later data. Other connections continue.
TEST_P(Errors, Terminate) {
  serve(crc());
  // This side may answer with a Terminate only after a valid FPDU. A Write without payload does not use its STag.
  peer_.send(write(0, 0, {}));
  const Exposed readable = expose(10000, kWindowSize, fabric::Access::remote_read);
  const Exposed writable = expose(12000, kWindowSize, fabric::Access::remote_write);
  const std::uint32_t foreign = make_foreign_stag();
  post_receive(64, 1);
  post_receive(64, 2);
  const Bytes ulpdu = fault().ulpdu(readable.segment, writable.segment, foreign);
  // The receiver must ignore the Write and the Send that follow the invalid FPDU.
  peer_.send(fpdu(ulpdu) + write(writable.segment.handle, writable.segment.offset, filled(8, 0x22)) +
             send(1, filled(8, 0x33)));
  const iwarp::Terminate message = terminated(fault().code);
  EXPECT_EQ(end(), fault().ours);
  EXPECT_EQ(message.ddp_header.size(), fault().ddp);
  EXPECT_EQ(!message.read_request.empty(), fault().read_request);
  if (fault().ddp != 0) {
    EXPECT_TRUE(message.has_length);
    EXPECT_EQ(message.segment_length, ulpdu.size());
    const std::size_t shown = fault().ddp + message.read_request.size();
    EXPECT_EQ(to_hex(Octets(terminate_).subspan(6)), to_hex(Octets(ulpdu).first(shown)));
  }
  EXPECT_EQ(node().tags(), (std::vector<int>{1, 2}));
  EXPECT_EQ(node().result(1).status, FabricError::flushed);
  EXPECT_EQ(node().result(2).status, FabricError::flushed);
  EXPECT_FALSE(writable.window->bound());
  EXPECT_TRUE(all_are(memory().part(10000, 20000).octets(), std::byte{0xee}));
  EXPECT_TRUE(foreign_->window->bound());
  EXPECT_FALSE(other_->disconnected);
  foreign_.reset();
}

INSTANTIATE_TEST_SUITE_P(All, Errors, testing::Combine(testing::ValuesIn(kFaults), testing::Bool()),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param).name) +
                                  (std::get<1>(param.param) ? "WithCrc" : "");
                         });

using Faults = IwarpTest;

// [5041-7.1-a] a Send without a posted receive
TEST_F(Faults, SendWithoutAReceive) {
  serve();
  peer_.send(send(1, {}));
  const iwarp::Terminate message = terminated(code::kNoBuffer);
  EXPECT_EQ(message.ddp_header.size(), 18u);
  EXPECT_EQ(end(), FabricError::no_receive);
}

// [5040-7.1-c] [5040-5.4-a] a burst with several errors causes one Terminate, for the first error
TEST_F(Faults, TwoInOneBurst) {
  serve();
  post_receive(10, 1);
  peer_.send(write(0x1111, 0, filled(1, 1)) + send(7, {}) + send(8, {}));
  terminated(code::kInvalidStag);
  EXPECT_EQ(node().log.size(), 1u);
}

// A frame has a wrong CRC and an invalid STag: the Terminate reports the wrong CRC.
TEST_F(Faults, CrcComesFirst) {
  serve(true);
  peer_.send(write(0, 0, {}));
  Bytes frame = write(0xdead, 0, filled(60000, 1));
  frame[30] ^= std::byte{1};
  peer_.send(frame);
  terminated(code::kCrc);
}

// [5040-6.1-c] more Reads than IRD
TEST_F(Faults, ReadsBeyondTheDepth) {
  fabric::QueuePairOptions options;
  options.inbound_reads = 2;
  listen(options);
  ask(request(0x10, 2, "00100010"));
  ASSERT_EQ(to_hex(peer_.receive(24)), to_hex(reply(0x10, 2, "00020010")));
  ASSERT_TRUE(until([&] { return node().established(); }));
  const Exposed exposed = expose(0, 1000, fabric::Access::remote_read);
  const iwarp::ReadRequest ask{1, 0, 1000, exposed.segment.handle, exposed.segment.offset};
  peer_.send(read_request(1, ask) + read_request(2, ask) + read_request(3, ask));
  const iwarp::Terminate message = terminated(code::kNoBuffer);
  EXPECT_EQ(message.ddp_header.size(), 18u);
}

// [5040-5.2.2-b] [5040-5.2.1-b] as many Reads as the IRD allows
TEST_F(Faults, ReadsUpToTheDepth) {
  serve();
  const Exposed exposed = expose(0, 1000, fabric::Access::remote_read);
  Bytes burst;
  for (std::uint32_t i = 1; i <= 16; ++i)
    burst = burst + read_request(i, {i, i, i, exposed.segment.handle, exposed.segment.offset});
  peer_.send(burst);
  // [5040-5.2.2-a] [5040-5.5-h] The Responses arrive in the order of the Requests.
  for (std::uint32_t i = 1; i <= 16; ++i) {
    const Heard answer = peer_.segment();
    EXPECT_EQ(answer.opcode(), Opcode::read_response);
    EXPECT_EQ(answer.header.stag, i);
    EXPECT_EQ(answer.header.offset, i);
    EXPECT_EQ(answer.payload.size(), i);
  }
}

struct Bad {
  const char* name;
  Bytes (*frames)(std::uint32_t stag, std::uint64_t offset);
  TerminateCode code;
};
class Responses : public IwarpTest, public testing::WithParamInterface<Bad> {};

// [5040-5.2.2-c] a Response that does not match its Request, which asked for 100 bytes
TEST_P(Responses, ThatDoNotMatch) {
  connect();
  ASSERT_FALSE(node().read(memory().part(1000, 100), {7, 100, 0}, 1));
  ASSERT_FALSE(node().send(memory().part(0, 1), 2));
  node().qp->submit();
  const Heard asked = peer_.next_segment();
  Reader in(asked.payload);
  const iwarp::ReadRequest request = iwarp::decode_read_request(in);
  peer_.send(GetParam().frames(request.sink_stag, request.sink_offset));
  terminated(GetParam().code);
  EXPECT_EQ(end(), FabricError::protocol_violation);
  EXPECT_EQ(node().tags(), (std::vector<int>{1, 2}));
  EXPECT_EQ(node().result(1).status, FabricError::flushed);
  EXPECT_TRUE(all_are(memory().part(1100, 1000).octets(), std::byte{0xee}));
  EXPECT_TRUE(all_are(memory().part(0, 1000).octets(), std::byte{0xee}));
}

INSTANTIATE_TEST_SUITE_P(
    All, Responses,
    testing::Values(
        Bad{"OtherStag", [](std::uint32_t s, std::uint64_t o) { return response(s + 1, o, filled(100, 1)); },
            code::kInvalidStag},
        Bad{"TooLong", [](std::uint32_t s, std::uint64_t o) { return response(s, o, filled(101, 1)); }, code::kBounds},
        Bad{"TooShort", [](std::uint32_t s, std::uint64_t o) { return response(s, o, filled(99, 1)); }, code::kBounds},
        Bad{"Empty", [](std::uint32_t s, std::uint64_t o) { return response(s, o, {}); }, code::kBounds},
        Bad{"Before", [](std::uint32_t s, std::uint64_t o) { return response(s, o - 1, filled(10, 1), false); },
            code::kBounds},
        Bad{"Gap",
            [](std::uint32_t s, std::uint64_t o) {
              return response(s, o, filled(10, 1), false) + response(s, o + 20, filled(80, 1));
            },
            code::kBounds},
        Bad{"Twice",
            [](std::uint32_t s, std::uint64_t o) {
              return response(s, o, filled(100, 1), false) + response(s, o + 100, filled(1, 1));
            },
            code::kBounds},
        Bad{"WriteToTheSink", [](std::uint32_t s, std::uint64_t o) { return write(s, o, filled(100, 1)); },
            code::kInvalidStag}),
    [](const auto& param) { return std::string(param.param.name); });

struct Told {
  const char* name;
  const char* control;
  FabricError error;
};
class Terminates : public IwarpTest, public testing::WithParamInterface<Told> {};

// [5040-5.4-b] The peer sends a Terminate. In some cases its layer and type bits have the order of the RFC, in others
// the order that the Linux driver siw uses, and in others the Terminate is malformed. [5040-5.4-d] [5040-5.4-e] The
// node sends nothing more, and its outstanding work requests complete as flushed.
TEST_P(Terminates, FromThePeer) {
  serve();
  post_receive(10, 1);
  ASSERT_FALSE(node().send(memory().part(100, 1), 2));
  ASSERT_FALSE(node().read(memory().part(200, 1), {7, 1, 0}, 3));
  node().qp->submit();
  peer_.send(fpdu(ddp(untagged(Opcode::terminate, 2, 1), from_hex(GetParam().control))));
  EXPECT_EQ(end(), GetParam().error);
  EXPECT_TRUE(peer_.ends()) << "no answer to a Terminate";
  for (const int tag : {1, 2, 3}) EXPECT_EQ(node().result(tag).status, FabricError::flushed);
}

INSTANTIATE_TEST_SUITE_P(All, Terminates,
                         testing::Values(Told{"NoBuffer", "1202c000002a", FabricError::remote_terminated},
                                         Told{"Tagged", "1101c000002a", FabricError::remote_access},
                                         Told{"ReadBounds", "0101e000002e", FabricError::remote_access},
                                         Told{"CannotInvalidate", "01090000", FabricError::remote_terminated},
                                         Told{"Crc", "20020000", FabricError::remote_terminated},
                                         Told{"SiwWrite", "11000300", FabricError::remote_access},
                                         Told{"SiwRead", "10000700002e", FabricError::remote_access},
                                         Told{"SiwTooLong", "21020300", FabricError::remote_terminated},
                                         Told{"Empty", "", FabricError::remote_terminated},
                                         Told{"Cut", "1101", FabricError::remote_terminated},
                                         Told{"Unknown", "7abc0000", FabricError::remote_terminated}),
                         [](const auto& param) { return std::string(param.param.name); });

// [5044-6-a] the payload of a frame with a wrong CRC may have been placed, but only within the window that the frame
// names. The frame and all later ones are not delivered.
TEST_F(Faults, NothingIsDeliveredBehindABadCrc) {
  serve(true);
  const Exposed exposed = expose(10000, 1000, fabric::Access::remote_write);
  post_receive(100, 1);
  post_receive(100, 2);
  Bytes spoilt = write(exposed.segment.handle, exposed.segment.offset, filled(1000, 0x11));
  spoilt.back() ^= std::byte{1};
  peer_.send(send(1, filled(10, 1)) + spoilt + send(2, filled(10, 2)));
  terminated(code::kCrc);
  EXPECT_EQ(end(), FabricError::protocol_violation);
  EXPECT_FALSE(node().result(1).status);
  EXPECT_EQ(node().result(2).status, FabricError::flushed);
  EXPECT_TRUE(all_are(memory().part(100, 9900).octets(), std::byte{0xee}));
  EXPECT_TRUE(all_are(memory().part(11000, 1000).octets(), std::byte{0xee}));
}

TEST_F(Faults, RemoteRangesThatWrapAreNotPosted) {
  serve();
  peer_.send(write(0, 0, {}));
  const std::uint64_t top = ~std::uint64_t{0} - 9;  // ten bytes below 2^64
  const Segment fits{7, 10, top};
  const Segment wraps{7, 11, top};
  EXPECT_EQ(node().write(memory().part(0, 11), wraps, 1), BaseError::invalid_argument);
  EXPECT_EQ(node().read(memory().part(0, 11), wraps, 2), BaseError::invalid_argument);
  EXPECT_EQ(node().write(memory().part(0, 11), {7, 11, ~std::uint64_t{0}}, 3), BaseError::invalid_argument);
  ASSERT_FALSE(node().write(memory().part(0, 10), fits, 4));
  ASSERT_FALSE(node().read(memory().part(0, 10), fits, 5));
  node().qp->submit();
  EXPECT_EQ(peer_.segment().header.offset, top);
  EXPECT_EQ(peer_.segment().opcode(), Opcode::read_request);
  EXPECT_FALSE(node().disconnected);
}

// [5044-7.2-a] [5041-3-b] [5041-6.2.2-a] [5041-6.2.2-b] the end of the connection in the middle of a frame is an error
TEST_F(Faults, EndInTheMiddleOfAFrame) {
  serve();
  post_receive(100, 1);
  const Bytes frame = send(1, filled(50, 1));
  peer_.send({frame.begin(), frame.begin() + 30});
  peer_.shut_down();
  EXPECT_TRUE(end().failed());
  EXPECT_EQ(node().log.size(), 1u);
}

// [5040-7.1-a] [5041-6.2.2-a] [5041-6.2.2-b] A TCP reset by the peer ends the connection with the error
// connection_reset. The outstanding receive completes.
TEST_F(Faults, ResetByThePeer) {
  serve();
  post_receive(100, 1);
  peer_.reset();
  EXPECT_EQ(end(), boost::system::errc::connection_reset);
  EXPECT_EQ(node().log.size(), 1u);
}

// [5040-5.4-c] the Terminate follows the partly written frame, although the socket is full
TEST_F(Faults, TerminateBehindAFullSocket) {
  serve();
  peer_.send(write(0, 0, {}));
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(node().write(memory().part(0, 8u << 20), {5, 8u << 20, 0}, i));
  node().qp->submit();
  ASSERT_TRUE(until([&] { return peer_.available() != 0; }));
  peer_.send(write(0x1111, 0, filled(1, 1)));
  EXPECT_EQ(end(), FabricError::protocol_violation);
  EXPECT_EQ(node().log.size(), 8u);
  std::fill(memory().octets.begin(), memory().octets.end(), std::byte{0x99});  // flushed work does not read the memory
  terminated(code::kInvalidStag);
}

}  // namespace
}  // namespace rpcrdma::test
