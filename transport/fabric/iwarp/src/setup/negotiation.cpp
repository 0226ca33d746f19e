// SPDX-License-Identifier: BSD-3-Clause
#include "setup/negotiation.hpp"

#include <algorithm>

namespace rpcrdma::fabric::iwarp {
namespace {

/// Returns the read depth that a responder grants. `wanted` is the depth that the initiator states. If `wanted` is
/// kDepthNotNegotiated, returns kDepthNotNegotiated, otherwise the smaller of `wanted` and `ours`. If the granted IRD
/// is zero, make_reply() may set it to one.
std::uint16_t grant(std::uint16_t wanted, std::uint16_t ours) noexcept {
  return wanted == kDepthNotNegotiated ? kDepthNotNegotiated : std::min(wanted, ours);
}

ReadyToReceive choose(const EnhancedData& reply) noexcept {
  // [6581-9.2-f] an empty Write costs the peer least
  if (reply.write_rtr) return ReadyToReceive::write;
  if (reply.read_rtr && reply.inbound != 0) return ReadyToReceive::read;
  if (reply.send_rtr) return ReadyToReceive::send;
  return ReadyToReceive::none;
}

Conclusion terminated(const TerminateCode& error) noexcept {
  Conclusion out;
  out.outcome = Conclusion::Outcome::terminate;
  out.error = error;
  return out;
}

Conclusion outcome(Conclusion::Outcome what) noexcept {
  Conclusion out;
  out.outcome = what;
  return out;
}

/// Sets the read depths of `agreement` according to the Reply. Returns false if the responder requires a larger IRD
/// than this side supports.
bool conclude_depths(const EnhancedData& reply, const SetupWishes& wishes, Agreement& agreement) noexcept {
  // [6581-9.1-f] [6581-9.1-j] This side's ORD is limited to the responder's IRD. If the responder leaves its IRD to the
  // ULPs, this side keeps its ORD.
  if (reply.inbound != kDepthNotNegotiated)
    agreement.outbound_reads = std::min<std::uint32_t>(wishes.outbound_reads, reply.inbound);
  // [6581-9.1-e] [6581-9.1-j] If this side's IRD is less than the responder's ORD, this side raises its IRD to that
  // ORD. If the responder leaves its ORD to the ULPs, this side keeps its IRD.
  if (reply.outbound != kDepthNotNegotiated) {
    if (reply.outbound > wishes.max_reads) return false;
    agreement.inbound_reads = std::max<std::uint32_t>(wishes.inbound_reads, reply.outbound);
  }
  return true;
}

}  // namespace

StartupFrame make_request(const SetupWishes& wishes, Octets private_data) {
  StartupFrame out;
  out.kind = StartupFrame::Kind::request;
  out.markers = wishes.markers;
  out.crc = wishes.crc;
  // [6581-6-b] [5044-7.1.1-g] [6581-10-c] a Request without enhanced data is of revision 1
  out.revision = wishes.enhanced ? kRevision2 : kRevision1;
  if (wishes.enhanced) {
    EnhancedData data;
    data.inbound = wishes.inbound_reads;
    data.outbound = wishes.outbound_reads;
    // [6581-9.2-a] In the peer-to-peer model, the Request offers all three kinds of ready-to-receive indication,
    // because this side can send each of them. [6581-9.2-h] In the client-server model, the Request offers none.
    data.peer_to_peer = data.send_rtr = data.write_rtr = data.read_rtr = wishes.peer_to_peer;
    out.enhanced = data;
  }
  out.private_data.assign(private_data.begin(), private_data.end());
  return out;
}

std::optional<ReadDepths> peer_reads(const StartupFrame& frame) noexcept {
  static_assert(ReadDepths::kLeftToUsers == kDepthNotNegotiated);
  if (!frame.enhanced) return std::nullopt;
  return ReadDepths{frame.enhanced->inbound, frame.enhanced->outbound};
}

// [5044-7.1.1-g] revisions other than 1 and 2 are refused
bool acceptable(const StartupFrame& request) noexcept {
  return request.revision == kRevision1 || request.revision == kRevision2;
}

StartupFrame make_reply(const StartupFrame& request, const SetupWishes& wishes, Octets private_data,
                        Agreement& agreement) {
  StartupFrame out;
  out.kind = StartupFrame::Kind::reply;
  out.markers = wishes.markers;
  // [5044-7.1.1-d] [5044-4.4-c] CRCs are on if either side wants them
  out.crc = wishes.crc || request.crc;
  out.revision = request.revision;
  out.private_data.assign(private_data.begin(), private_data.end());
  agreement.crc = out.crc;
  agreement.send_markers = request.markers;  // [5044-7.1.1-c] each side decides about the markers that it receives
  agreement.receive_markers = wishes.markers;
  agreement.inbound_reads = wishes.inbound_reads;
  agreement.outbound_reads = wishes.outbound_reads;
  if (!request.enhanced) return out;  // [6581-10-b] [6581-6-c] the Reply has no enhanced data either

  // [6581-10-a] the Reply to an enhanced Request is enhanced
  const EnhancedData& theirs = *request.enhanced;
  EnhancedData ours;
  // [6581-9.1-b] [6581-9.1-i] ORD is at most the initiator's IRD
  ours.outbound = grant(theirs.inbound, wishes.outbound_reads);
  ours.inbound = grant(theirs.outbound, wishes.inbound_reads);  // [6581-9.1-h] IRD is at most the initiator's ORD
  if (theirs.peer_to_peer) {                                    // [6581-9.2-c] the Reply repeats the flag A
    ours.peer_to_peer = true;
    // [6581-9.2-d] [6581-9.2-e] [6581-9.2-b] The Reply accepts the kinds of ready-to-receive indication that the
    // Request offers. If the Request offers none, the Reply accepts all three.
    const bool none = !theirs.send_rtr && !theirs.write_rtr && !theirs.read_rtr;
    ours.send_rtr = none || theirs.send_rtr;
    ours.write_rtr = none || theirs.write_rtr;
    ours.read_rtr = none || theirs.read_rtr;
    // [6581-9.1-c] an empty Read needs an IRD of at least 1
    if (ours.read_rtr && ours.inbound == 0) ours.inbound = 1;
  }
  if (ours.outbound != kDepthNotNegotiated) agreement.outbound_reads = ours.outbound;
  if (ours.inbound != kDepthNotNegotiated) agreement.inbound_reads = ours.inbound;
  out.enhanced = ours;
  return out;
}

StartupFrame make_rejection(const StartupFrame& request, Octets private_data) {
  Agreement ignored;
  StartupFrame out = make_reply(request, {.crc = request.crc}, private_data, ignored);
  out.rejected = true;
  return out;
}

Conclusion conclude(const StartupFrame& request, const StartupFrame& reply, const SetupWishes& wishes) noexcept {
  if (reply.rejected) return outcome(Conclusion::Outcome::rejected);
  // [6581-10-a] [6581-10-b] the Reply must have the revision of the Request, and enhanced data if and only if the
  // Request has them
  if (reply.revision != request.revision || reply.enhanced.has_value() != request.enhanced.has_value())
    return outcome(Conclusion::Outcome::malformed);
  Conclusion out;
  Agreement& agreement = out.agreement;
  agreement.crc = request.crc || reply.crc;
  agreement.send_markers = reply.markers;
  agreement.receive_markers = request.markers;
  agreement.inbound_reads = wishes.inbound_reads;
  agreement.outbound_reads = wishes.outbound_reads;
  if (!reply.enhanced) return out;
  // [6581-9.1-g] the peer requires more IRD than this side supports
  if (!conclude_depths(*reply.enhanced, wishes, agreement)) return terminated(terminate::kReadDepth);
  if (wishes.peer_to_peer && reply.enhanced->peer_to_peer) {
    agreement.ready_to_receive = choose(*reply.enhanced);
    // [6581-9.2-g] there is no RTR kind that both sides support
    if (agreement.ready_to_receive == ReadyToReceive::none) return terminated(terminate::kReadyToReceive);
  }
  return out;
}

}  // namespace rpcrdma::fabric::iwarp
