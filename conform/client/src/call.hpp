// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A call from the client, and the reply to it.
#include <optional>

#include "rpcrdma/conform/codec/header.hpp"
#include "rpcrdma/conform/codec/nfs.hpp"
#include "rpcrdma/conform/codec/rpc.hpp"
#include "service.hpp"

namespace rpcrdma::conform::client {

struct Call {
  std::size_t number = 0;   ///< number of this call in the run, from 1
  std::size_t on_link = 0;  ///< number of this call on its connection, from 1
  RdmaHeader header{};
  Bytes payload{};  ///< the inline part as received; the whole RPC message once its Read chunks have been read
  RpcCall rpc{};    ///< the RPC call; for a long call, set only after its chunk has been read

  bool is(std::uint32_t program, std::uint32_t procedure) const noexcept {
    return rpc.program == program && rpc.procedure == procedure;
  }
  bool has_reads() const noexcept { return !header.lists.reads.empty(); }
  bool has_writes() const noexcept { return !header.lists.writes.empty() && length_of(header.lists.writes[0]) != 0; }
  bool has_reply_chunk() const noexcept { return header.lists.reply && length_of(*header.lists.reply) != 0; }
  /// A handle that the call offers, if there is one.
  std::optional<std::uint32_t> handle() const;
};

/// An RDMA Write into memory that the client has offered.
struct RemoteWrite {
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  Bytes data;
};

/// The answer to a call. It is sent in this order: `before`, `writes`, the message, `after`.
struct Reply {
  RdmaHeader header;
  Bytes message;                            ///< the inline RPC message, without the data in chunks
  std::optional<Bytes> raw;                 ///< sent instead of header and message
  std::optional<std::uint32_t> invalidate;  ///< the handle for Send with Invalidate
  std::vector<RemoteWrite> writes;
  std::vector<Bytes> before, after;
  bool send = true;        ///< whether to send `writes` and the message; `before` and `after` are sent in any case
  bool abort = false;      ///< the connection is aborted afterwards
  bool unchanged = false;  ///< set by a `change` of Trial::on_reply() that does not apply to this reply

  Bytes bytes() const;
  bool is_msg() const noexcept { return header.procedure == kMsg; }
};

/// The sizes and options that both sides have agreed upon.
struct Agreed {
  std::uint32_t threshold = 1024;  ///< the longest inline reply, in bytes
  bool invalidation = false;
};

constexpr std::size_t kReplyHead = 24;  ///< bytes of an accepted RPC reply before its results

/// Returns the reply that a correct server sends to `call`. The reply carries `answer`, inline or in the chunks that
/// the call offers, and grants `credits`. It is refusal() if a chunk is too small, or if the Reply chunk that the reply
/// needs is missing.
Reply plan_reply(const Call& call, const Answer& answer, const Agreed& agreed, std::uint32_t credits);
/// An RDMA_ERROR with ERR_CHUNK.
Reply refusal(const Call& call, std::uint32_t credits);

/// Inserts `data`, the contents of all Read chunks in the order of the list, into the inline payload. Throws
/// DecodeError if a Position lies beyond the message or within an earlier chunk.
Bytes assemble(const Call& call, View data);

/// Changes the word at byte `at`, if there is one.
void set_word(Bytes& bytes, std::size_t at, std::uint32_t value);

}  // namespace rpcrdma::conform::client
