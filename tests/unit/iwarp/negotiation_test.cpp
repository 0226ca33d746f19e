// SPDX-License-Identifier: BSD-3-Clause
// The results of negotiation between two peers (RFC 6581 section 9, RFC 5044 section 7.1).
#include "setup/negotiation.hpp"

#include <gtest/gtest.h>

namespace rpcrdma::fabric::iwarp {
namespace {

SetupWishes wishes(std::uint16_t inbound, std::uint16_t outbound) {
  SetupWishes out;
  out.crc = false;
  out.inbound_reads = inbound;
  out.outbound_reads = outbound;
  out.max_reads = 128;
  return out;
}

StartupFrame request(std::uint16_t inbound, std::uint16_t outbound) {
  return make_request(wishes(inbound, outbound), {});
}

struct Depths {
  std::uint16_t their_inbound, their_outbound, our_inbound, our_outbound;  // the depths that each side requests
  std::uint16_t reply_inbound, reply_outbound;
  std::uint32_t inbound, outbound;  // the depths of our side after the negotiation
};
class ResponderDepths : public testing::TestWithParam<Depths> {};

// [6581-9.1-b] [6581-9.1-h] [6581-9.1-i] [6581-10-a]
TEST_P(ResponderDepths, Reply) {
  const Depths& d = GetParam();
  Agreement agreement;
  const StartupFrame reply =
      make_reply(request(d.their_inbound, d.their_outbound), wishes(d.our_inbound, d.our_outbound), {}, agreement);
  ASSERT_TRUE(reply.enhanced);
  EXPECT_EQ(reply.revision, 2);
  EXPECT_EQ(reply.enhanced->inbound, d.reply_inbound);
  EXPECT_EQ(reply.enhanced->outbound, d.reply_outbound);
  EXPECT_EQ(agreement.inbound_reads, d.inbound);
  EXPECT_EQ(agreement.outbound_reads, d.outbound);
}

INSTANTIATE_TEST_SUITE_P(Table, ResponderDepths,
                         testing::Values(Depths{2, 16, 16, 16, 16, 2, 16, 2}, Depths{16, 0, 16, 16, 0, 16, 0, 16},
                                         Depths{128, 4, 16, 32, 4, 32, 4, 32}, Depths{0, 0, 8, 8, 0, 0, 0, 0},
                                         Depths{0x3fff, 4, 16, 9, 4, 0x3fff, 4, 9},
                                         Depths{4, 0x3fff, 16, 9, 0x3fff, 4, 16, 4},
                                         Depths{0x3fff, 0x3fff, 7, 9, 0x3fff, 0x3fff, 7, 9}));

class InitiatorDepths : public testing::TestWithParam<Depths> {};

// [6581-9.1-e] [6581-9.1-f] [6581-9.1-j]
TEST_P(InitiatorDepths, Conclusion) {
  const Depths& d = GetParam();
  const SetupWishes ours = wishes(d.our_inbound, d.our_outbound);
  const StartupFrame asked = make_request(ours, {});
  StartupFrame reply = asked;
  reply.kind = StartupFrame::Kind::reply;
  reply.enhanced = EnhancedData{false, false, false, false, d.reply_inbound, d.reply_outbound};
  const Conclusion conclusion = conclude(asked, reply, ours);
  ASSERT_EQ(conclusion.outcome, Conclusion::Outcome::agreed);
  EXPECT_EQ(conclusion.agreement.inbound_reads, d.inbound);
  EXPECT_EQ(conclusion.agreement.outbound_reads, d.outbound);
}

INSTANTIATE_TEST_SUITE_P(Table, InitiatorDepths,
                         testing::Values(Depths{0, 0, 16, 16, 4, 16, 16, 4}, Depths{0, 0, 1, 16, 16, 9, 9, 16},
                                         Depths{0, 0, 16, 8, 0x3fff, 0x3fff, 16, 8}, Depths{0, 0, 16, 8, 0, 0, 16, 0}));

// [6581-9.1-g] the peer requires more than this side supports
TEST(Negotiation, InsufficientInboundReads) {
  const SetupWishes ours = wishes(16, 16);
  const StartupFrame asked = make_request(ours, {});
  StartupFrame reply = asked;
  reply.enhanced->outbound = 129;
  const Conclusion conclusion = conclude(asked, reply, ours);
  EXPECT_EQ(conclusion.outcome, Conclusion::Outcome::terminate);
  EXPECT_EQ(conclusion.error, terminate::kReadDepth);
}

// [5044-7.1.1-d] [5044-4.4-c]
TEST(Negotiation, CrcIfEitherWantsIt) {
  for (const bool theirs : {false, true}) {
    for (const bool ours : {false, true}) {
      SetupWishes initiator = wishes(1, 1);
      initiator.crc = theirs;
      SetupWishes responder = wishes(1, 1);
      responder.crc = ours;
      Agreement agreement;
      const StartupFrame asked = make_request(initiator, {});
      const StartupFrame reply = make_reply(asked, responder, {}, agreement);
      EXPECT_EQ(reply.crc, theirs || ours);
      EXPECT_EQ(agreement.crc, theirs || ours);
      EXPECT_EQ(conclude(asked, reply, initiator).agreement.crc, theirs || ours);
    }
  }
}

// [5044-7.1.1-c] [5044-4.3-i]
TEST(Negotiation, MarkersPerDirection) {
  for (const bool theirs : {false, true}) {
    for (const bool ours : {false, true}) {
      SetupWishes initiator = wishes(1, 1);
      initiator.markers = theirs;
      SetupWishes responder = wishes(1, 1);
      responder.markers = ours;
      Agreement agreement;
      const StartupFrame asked = make_request(initiator, {});
      const StartupFrame reply = make_reply(asked, responder, {}, agreement);
      EXPECT_EQ(agreement.send_markers, theirs);
      EXPECT_EQ(agreement.receive_markers, ours);
      const Agreement other = conclude(asked, reply, initiator).agreement;
      EXPECT_EQ(other.send_markers, ours);
      EXPECT_EQ(other.receive_markers, theirs);
    }
  }
}

// [6581-10-b] [6581-10-c] [6581-6-c] [6581-6-b] An initiator that wants no enhanced features sends a Request of
// revision 1. The Reply to it is also of revision 1, and has no enhanced data.
TEST(Negotiation, RevisionOne) {
  SetupWishes initiator = wishes(4, 4);
  initiator.enhanced = false;
  const StartupFrame asked = make_request(initiator, {});
  EXPECT_EQ(asked.revision, 1);
  EXPECT_FALSE(asked.enhanced);
  Agreement agreement;
  const StartupFrame reply = make_reply(asked, wishes(7, 8), {}, agreement);
  EXPECT_EQ(reply.revision, 1);
  EXPECT_FALSE(reply.enhanced);
  EXPECT_EQ(agreement.inbound_reads, 7u);
  EXPECT_EQ(agreement.outbound_reads, 8u);
  EXPECT_EQ(conclude(asked, reply, initiator).agreement.outbound_reads, 4u);
}

TEST(Negotiation, RepliesOfAnotherKindAreMalformed) {
  const SetupWishes ours = wishes(4, 4);
  const StartupFrame asked = make_request(ours, {});
  StartupFrame reply = asked;
  reply.revision = 1;
  EXPECT_EQ(conclude(asked, reply, ours).outcome, Conclusion::Outcome::malformed);
  reply.revision = 2;
  reply.enhanced.reset();
  EXPECT_EQ(conclude(asked, reply, ours).outcome, Conclusion::Outcome::malformed);
  reply.rejected = true;
  EXPECT_EQ(conclude(asked, reply, ours).outcome, Conclusion::Outcome::rejected);
}

TEST(Negotiation, Rejection) {
  const StartupFrame reply = make_rejection(request(4, 4), {});
  EXPECT_TRUE(reply.rejected);
  EXPECT_TRUE(reply.enhanced);
  EXPECT_EQ(reply.kind, StartupFrame::Kind::reply);
}

// [6581-9.2-c] [6581-9.2-h] in the client-server model the flags B, C and D are ignored
TEST(Negotiation, ClientServerModel) {
  StartupFrame asked = request(4, 4);
  asked.enhanced->write_rtr = true;
  Agreement agreement;
  const StartupFrame reply = make_reply(asked, wishes(4, 4), {}, agreement);
  EXPECT_EQ(reply.enhanced, (EnhancedData{false, false, false, false, 4, 4}));
}

// [6581-9.2-d] [6581-9.2-e] [6581-9.1-c]
TEST(Negotiation, PeerToPeerResponder) {
  for (int options = 0; options < 8; ++options) {
    StartupFrame asked = request(4, 0);
    asked.enhanced->peer_to_peer = true;
    asked.enhanced->send_rtr = (options & 1) != 0;
    asked.enhanced->write_rtr = (options & 2) != 0;
    asked.enhanced->read_rtr = (options & 4) != 0;
    Agreement agreement;
    const StartupFrame reply = make_reply(asked, wishes(4, 4), {}, agreement);
    ASSERT_TRUE(reply.enhanced->peer_to_peer);
    EXPECT_EQ(reply.enhanced->send_rtr, options == 0 || (options & 1) != 0);
    EXPECT_EQ(reply.enhanced->write_rtr, options == 0 || (options & 2) != 0);
    EXPECT_EQ(reply.enhanced->read_rtr, options == 0 || (options & 4) != 0);
    EXPECT_EQ(reply.enhanced->inbound, reply.enhanced->read_rtr ? 1 : 0);
    EXPECT_EQ(agreement.inbound_reads, reply.enhanced->inbound);
  }
}

ReadyToReceive chosen(bool send, bool write, bool read, std::uint16_t inbound, Conclusion::Outcome& outcome) {
  SetupWishes ours = wishes(4, 4);
  ours.peer_to_peer = true;
  const StartupFrame asked = make_request(ours, {});
  StartupFrame reply = asked;
  reply.enhanced = EnhancedData{true, send, write, read, inbound, 4};
  const Conclusion conclusion = conclude(asked, reply, ours);
  outcome = conclusion.outcome;
  if (outcome == Conclusion::Outcome::terminate) {
    EXPECT_EQ(conclusion.error, terminate::kReadyToReceive);
  }
  return conclusion.agreement.ready_to_receive;
}

// [6581-9.2-a] [6581-9.2-f] [6581-9.2-g]
TEST(Negotiation, PeerToPeerInitiator) {
  SetupWishes ours = wishes(4, 4);
  ours.peer_to_peer = true;
  EXPECT_EQ(make_request(ours, {}).enhanced, (EnhancedData{true, true, true, true, 4, 4}));
  Conclusion::Outcome outcome{};
  EXPECT_EQ(chosen(true, true, true, 4, outcome), ReadyToReceive::write);
  EXPECT_EQ(chosen(true, false, true, 4, outcome), ReadyToReceive::read);
  EXPECT_EQ(chosen(true, false, true, 0, outcome), ReadyToReceive::send);
  EXPECT_EQ(chosen(true, false, false, 4, outcome), ReadyToReceive::send);
  EXPECT_EQ(outcome, Conclusion::Outcome::agreed);
  chosen(false, false, false, 4, outcome);
  EXPECT_EQ(outcome, Conclusion::Outcome::terminate);
}

// [5044-7.1.1-g]
TEST(Negotiation, Revisions) {
  StartupFrame asked = request(1, 1);
  for (int revision = 0; revision < 256; ++revision) {
    asked.revision = static_cast<std::uint8_t>(revision);
    EXPECT_EQ(acceptable(asked), revision == 1 || revision == 2) << revision;
  }
}

}  // namespace
}  // namespace rpcrdma::fabric::iwarp
