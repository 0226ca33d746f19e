// SPDX-License-Identifier: BSD-3-Clause
// The checks of every message that the server sends.
#include <fmt/format.h>

#include "connection.hpp"

namespace rpcrdma::conform {
namespace {

/// Whether the segments have the same handles and offsets. Ignores the lengths.
bool same_memory(const Chunk& asked, const Chunk& returned) {
  if (asked.size() != returned.size()) return false;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (asked[i].handle != returned[i].handle || asked[i].offset != returned[i].offset) return false;
  return true;
}

/// Whether no segment is longer in `returned` than in `asked`.
bool within(const Chunk& asked, const Chunk& returned) {
  for (std::size_t i = 0; i < asked.size() && i < returned.size(); ++i)
    if (returned[i].length > asked[i].length) return false;
  return true;
}

bool names_handle(const ChunkLists& lists, std::uint32_t handle) {
  for (const ReadSegment& read : lists.reads)
    if (read.target.handle == handle) return true;
  for (const Chunk& chunk : lists.writes)
    for (const RdmaSegment& segment : chunk)
      if (segment.handle == handle) return true;
  if (lists.reply)
    for (const RdmaSegment& segment : *lists.reply)
      if (segment.handle == handle) return true;
  return false;
}

}  // namespace

/// Notes the XID, the version and the chunk lists of a message that the tester sends, in order to check the answer. If
/// the header cannot be decoded, because a case sends a malformed message, notes no lists.
void Connection::note_sent(View message) {
  if (message.size() < 8) return;
  In in(message);
  const std::uint32_t xid = in.u32();
  Asked asked{in.u32(), std::nullopt};
  try {
    View payload;
    asked.lists = decode_header(message, payload).lists;
  } catch (const DecodeError&) {
  }
  asked_[xid] = asked;
}

void Connection::arrived(View bytes, std::optional<std::uint32_t> invalidated) {
  Message& message = messages_.emplace_back();
  message.bytes.assign(bytes.begin(), bytes.end());
  message.invalidated = invalidated;
  try {
    View payload;
    message.header = decode_header(message.bytes, payload);
    message.payload.assign(payload.begin(), payload.end());
  } catch (const DecodeError& error) {
    message.malformed = error.what();
  }
  check(message);
}

void Connection::check(const Message& message) {
  Watch& watch = network_.watch;
  watch.message();
  if (message.bytes.size() > reply_threshold())
    watch.broken(Always::within_threshold, fmt::format("a message of {} bytes, the inline threshold is {}",
                                                       message.bytes.size(), reply_threshold()));
  check_invalidation(message);
  if (message.malformed.empty()) return check_header(message);
  watch.broken(Always::decodable, describe(message));
  if (message.bytes.size() < 16) return;
  const std::uint32_t procedure = In(View(message.bytes).subspan(12)).u32();
  if (procedure == kMsgp) watch.broken(Always::no_msgp, describe(message));
  if (procedure == kDone) watch.broken(Always::no_done, describe(message));
}

void Connection::check_header(const Message& message) {
  Watch& watch = network_.watch;
  const RdmaHeader& header = message.header;
  if (header.credits == 0) watch.broken(Always::credit_not_zero, describe(message));
  granted_ = header.credits;
  const auto asked = asked_.find(header.xid);
  if (asked == asked_.end()) return watch.broken(Always::known_xid, describe(message));
  if (header.version != asked->second.version)
    watch.broken(Always::same_version,
                 fmt::format("{}; the call had version {}", describe(message), asked->second.version));
  if (header.procedure == kError) return;
  if (!header.lists.reads.empty()) watch.broken(Always::read_list_empty, describe(message));
  if (header.procedure == kNomsg && (!header.lists.reply || length_of(*header.lists.reply) == 0))
    watch.broken(Always::nomsg_in_reply_chunk, describe(message));
  if (header.procedure == kMsg && (message.payload.size() < 4 || In(message.payload).u32() != header.xid))
    watch.broken(Always::payload_xid, describe(message));
  if (asked->second.lists) check_lists(message, *asked->second.lists);
}

/// Checks that a reply returns the Write and Reply chunks of its call: the same memory, with lengths that are at most
/// those of the call (RFC 8166 sections 3.4.6 and 4.3.3).
void Connection::check_lists(const Message& message, const ChunkLists& asked) {
  Watch& watch = network_.watch;
  const ChunkLists& returned = message.header.lists;
  bool same = asked.writes.size() == returned.writes.size() && asked.reply.has_value() == returned.reply.has_value();
  for (std::size_t i = 0; same && i < asked.writes.size(); ++i) {
    same = same_memory(asked.writes[i], returned.writes[i]);
    if (!within(asked.writes[i], returned.writes[i])) watch.broken(Always::no_growth, describe(message));
  }
  if (same && asked.reply) {
    same = same_memory(*asked.reply, *returned.reply);
    if (!within(*asked.reply, *returned.reply)) watch.broken(Always::no_growth, describe(message));
  }
  if (!same) watch.broken(Always::chunks_returned, describe(message));
}

void Connection::check_invalidation(const Message& message) {
  if (!message.invalidated) return;
  Watch& watch = network_.watch;
  const auto own = find_private_data(setup_.private_data), peers = private_data();
  const bool agreed = own && peers && (own->flags & peers->flags & 1) != 0;
  if (!agreed) watch.broken(Always::no_uninvited_invalidation, describe(message));
  if (!message.malformed.empty()) return;
  const auto asked = asked_.find(message.header.xid);
  if (asked != asked_.end() && !asked->second.lists) return;  // the chunk lists of a malformed call are not known
  if (asked == asked_.end() || !names_handle(*asked->second.lists, *message.invalidated))
    watch.broken(Always::own_invalidation,
                 fmt::format("{}, which invalidates {:#x}", describe(message), *message.invalidated));
}

}  // namespace rpcrdma::conform
