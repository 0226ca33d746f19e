// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A call of the client, and the reply that it gets.
#include <optional>

#include "rpcrdma/conform/codec/header.hpp"
#include "rpcrdma/conform/codec/nfs.hpp"
#include "rpcrdma/conform/codec/rpc.hpp"
#include "service.hpp"

namespace rpcrdma::conform::client {

struct Call {
  std::size_t number = 0;   ///< in the run, from 1
  std::size_t on_link = 0;  ///< on its connection, from 1
  RdmaHeader header{};
  Bytes payload{};  ///< as received; later with the contents of all Read chunks
  RpcCall rpc{};    ///< of a long call only after its chunk was read

  bool is(std::uint32_t program, std::uint32_t procedure) const noexcept {
    return rpc.program == program && rpc.procedure == procedure;
  }
  bool has_reads() const noexcept { return !header.lists.reads.empty(); }
  bool has_writes() const noexcept { return !header.lists.writes.empty() && length_of(header.lists.writes[0]) != 0; }
  bool has_reply_chunk() const noexcept { return header.lists.reply && length_of(*header.lists.reply) != 0; }
  /// Any handle that the call offers.
  std::optional<std::uint32_t> handle() const;
};

/// Data for memory that the client has offered.
struct RemoteWrite {
  std::uint32_t handle = 0;
  std::uint64_t offset = 0;
  Bytes data;
};

/// What is sent in answer to a call, in this order: `before`, `writes`, the message, `after`.
struct Reply {
  RdmaHeader header;
  Bytes message;                            ///< the RPC message of an RDMA_MSG, reduced
  std::optional<Bytes> raw;                 ///< instead of header and message
  std::optional<std::uint32_t> invalidate;  ///< Send with Invalidate
  std::vector<RemoteWrite> writes;
  std::vector<Bytes> before, after;
  bool send = true;        ///< false: nothing of all this but `before` and `after`
  bool abort = false;      ///< the connection is aborted then
  bool unchanged = false;  ///< set by a change that does not apply to this reply

  Bytes bytes() const;
  bool is_msg() const noexcept { return header.procedure == kMsg; }
};

/// The sizes and options that both sides have agreed upon.
struct Agreed {
  std::uint32_t threshold = 1024;  ///< of replies
  bool invalidation = false;
};

constexpr std::size_t kReplyHead = 24;  ///< bytes of an accepted RPC reply before its results

/// The right reply.
Reply plan_reply(const Call& call, const Answer& answer, const Agreed& agreed, std::uint32_t credits);
/// An RDMA_ERROR with ERR_CHUNK.
Reply refusal(const Call& call, std::uint32_t credits);

/// The message with `data`, which has the contents of all Read chunks in the order of the list, in its places. Throws
/// DecodeError if positions are beyond the message.
Bytes assemble(const Call& call, View data);

/// Changes the word at byte `at`, if there is one.
void set_word(Bytes& bytes, std::size_t at, std::uint32_t value);

}  // namespace rpcrdma::conform::client
