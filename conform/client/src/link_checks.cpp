// SPDX-License-Identifier: BSD-3-Clause
// The checks of every message that the client sends.
#include <fmt/format.h>

#include <algorithm>

#include "link.hpp"

namespace rpcrdma::conform::client {
namespace {

std::string describe(const RdmaHeader& header) {
  return fmt::format("xid {:#x}, rdma_proc {}, {} Read segments, {} Write chunks{}", header.xid, header.procedure,
                     header.lists.reads.size(), header.lists.writes.size(),
                     header.lists.reply ? ", a Reply chunk" : "");
}

std::uint32_t word(View bytes, std::size_t index) { return In(bytes.subspan(4 * index)).u32(); }

}  // namespace

void Link::check(View bytes) {
  RdmaHeader header;
  View payload;
  const auto own = find_private_data(setup_.private_data), clients = find_private_data(clients_data_);
  const std::uint32_t threshold =
      own && clients ? std::min(bytes_of_size(own->receive_size), bytes_of_size(clients->send_size)) : 1024;
  if (bytes.size() > threshold)
    watch_.broken(Always::within_threshold,
                  fmt::format("a message of {} bytes, the inline threshold is {}", bytes.size(), threshold));
  if (bytes.size() >= 16) {
    if (word(bytes, 3) == kMsgp) watch_.broken(Always::no_msgp, hex(bytes));
    if (word(bytes, 3) == kDone) watch_.broken(Always::no_done, hex(bytes));
  }
  try {
    header = decode_header(bytes, payload);
  } catch (const DecodeError& error) {
    watch_.broken(Always::decodable, fmt::format("{}: {}", error.what(), hex(bytes)));
    return;
  }
  check_header(header, payload, bytes);
}

void Link::check_header(const RdmaHeader& header, View payload, View bytes) {
  if (header.version != 1) watch_.broken(Always::version_one, describe(header));
  if (header.procedure == kError) {
    if (!reverse_.contains(header.xid)) watch_.broken(Always::no_error, describe(header));
    return;
  }
  if (header.procedure == kMsg && (payload.size() < 8 || word(payload, 0) != header.xid))
    return watch_.broken(Always::payload_xid, fmt::format("{}: {}", describe(header), hex(payload)));
  const bool is_reply = header.procedure == kMsg && word(payload, 1) == 1;
  if (is_reply) return;
  const auto [entry, is_new] = unanswered_.emplace(header.xid, Bytes(bytes.begin(), bytes.end()));
  if (!is_new && !std::ranges::equal(entry->second, bytes)) watch_.broken(Always::unique_xid, describe(header));
  if (!is_new) return;
  check_credits(header);
  check_chunks(header, payload);
  check_handles(header);
}

void Link::check_credits(const RdmaHeader& header) {
  const std::size_t calls = unanswered_.size();
  if (header.credits == 0) watch_.broken(Always::credits_requested, describe(header));
  if (!replied_ && calls > 1)
    watch_.broken(Always::one_before_the_first_reply, fmt::format("{} calls before the first reply", calls));
  if (calls > granted_)
    watch_.broken(Always::within_grant, fmt::format("{} unanswered calls, at most {} granted", calls, granted_));
  if (header.credits != 0 && calls > header.credits)
    watch_.broken(Always::within_request, fmt::format("{} unanswered calls, {} requested", calls, header.credits));
}

void Link::check_chunks(const RdmaHeader& header, View payload) {
  const ChunkLists& lists = header.lists;
  if (header.procedure == kNomsg && lists.reads.empty()) watch_.broken(Always::nomsg_has_a_chunk, describe(header));
  for (const ReadSegment& read : lists.reads)
    if (read.position % 4 != 0)
      watch_.broken(Always::aligned_positions, fmt::format("Position {}, {}", read.position, describe(header)));
  if (header.procedure != kMsg || payload.size() < 24) return;
  const bool is_nfs = word(payload, 3) == nfs::kProgram && word(payload, 4) == 3;
  const std::uint32_t procedure = is_nfs ? word(payload, 5) : 0;
  if (std::ranges::any_of(lists.reads, [](const ReadSegment& read) { return read.position != 0; }) &&
      procedure != nfs::kWrite && procedure != nfs::kSymlink)
    watch_.broken(Always::eligible_arguments, fmt::format("procedure {}, {}", procedure, describe(header)));
  if (!lists.writes.empty() && procedure != nfs::kRead && procedure != nfs::kReadlink)
    watch_.broken(Always::eligible_results, fmt::format("procedure {}, {}", procedure, describe(header)));
  if (procedure != nfs::kRead || lists.writes.empty() || !lists.reads.empty()) return;
  const std::uint32_t asked = word(payload, payload.size() / 4 - 1);  // the count, the last argument
  if (length_of(lists.writes[0]) != 0 && length_of(lists.writes[0]) < asked)
    watch_.broken(Always::large_write_chunk,
                  fmt::format("READ of {} bytes, a Write chunk of {}", asked, length_of(lists.writes[0])));
}

void Link::check_handles(const RdmaHeader& header) {
  std::set<std::uint32_t> now;
  for (const ReadSegment& read : header.lists.reads) now.insert(read.target.handle);
  for (const Chunk& chunk : header.lists.writes)
    for (const RdmaSegment& segment : chunk) now.insert(segment.handle);
  if (header.lists.reply)
    for (const RdmaSegment& segment : *header.lists.reply) now.insert(segment.handle);
  for (const std::uint32_t handle : now)
    if (!handles_.insert(handle).second)
      watch_.broken(Always::fresh_handles, fmt::format("handle {:#x} again, {}", handle, describe(header)));
}

}  // namespace rpcrdma::conform::client
