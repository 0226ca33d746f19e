// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_message.hpp"

namespace rpcrdma::proxy {
namespace {

constexpr std::uint32_t kVersionOne = 1;
constexpr std::uint32_t kMsg = 0;    // RDMA_MSG: an RPC message follows the chunk lists
constexpr std::uint32_t kError = 4;  // RDMA_ERROR
constexpr std::size_t kSegmentSize = 16;
constexpr std::uint32_t kNfs = 100003, kNfsVersion = 3, kCreate = 8, kLink = 15;

/// Skips the count of segments and the segments of a Write chunk or Reply chunk.
void skip_segments(Reader& reader) noexcept {
  const std::size_t count = reader.u32();
  if (count > reader.remaining() / kSegmentSize)
    reader.fail();
  else
    reader.skip(count * kSegmentSize);
}

void skip_chunk_lists(Reader& reader) noexcept {
  while (reader.u32() == 1) reader.skip(sizeof(std::uint32_t) + kSegmentSize);
  while (reader.u32() == 1) skip_segments(reader);
  if (reader.u32() == 1) skip_segments(reader);
}

void read_rpc_header(Reader& reader, RpcMessage& message) noexcept {
  reader.skip(4);  // XID
  const std::uint32_t type = reader.u32();
  if (!reader.ok() || type > 1) return;
  message.is_call = type == 0;
  if (!message.is_call) return;
  reader.skip(4);  // RPC version
  Procedure procedure;
  procedure.program = reader.u32();
  procedure.version = reader.u32();
  procedure.number = reader.u32();
  if (reader.ok()) message.procedure = procedure;
}

}  // namespace

std::optional<RpcMessage> read_rpc_message(Octets payload, Side side) {
  Reader reader(payload);
  RpcMessage message;
  message.xid = reader.u32();
  const std::uint32_t version = reader.u32();
  reader.skip(4);  // credits
  const std::uint32_t type = reader.u32();
  if (!reader.ok()) return std::nullopt;
  message.is_call = side == Side::to_server && type != kError;
  if (version != kVersionOne || type != kMsg) return message;
  skip_chunk_lists(reader);
  read_rpc_header(reader, message);
  return message;
}

bool is_non_idempotent(const Procedure& procedure) noexcept {
  return procedure.program == kNfs && procedure.version == kNfsVersion && procedure.number >= kCreate &&
         procedure.number <= kLink;
}

}  // namespace rpcrdma::proxy
