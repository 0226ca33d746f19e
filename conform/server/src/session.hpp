// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The functions that cases use: calls, connections, and checks of the server's answers.
#include <deque>

#include "connection.hpp"
#include "files.hpp"
#include "rpcrdma/conform/framework/case.hpp"
#include "rpcrdma/conform/server/tester.hpp"

namespace rpcrdma::conform {

/// A call that a case may change before it is sent.
struct Outgoing {
  RdmaHeader header;
  RpcCall rpc;

  std::uint32_t xid() const noexcept { return header.xid; }
  Bytes payload() const { return encode(rpc); }
  /// The length of the payload in bytes. If the last word of the payload is the count word of a data item in a Read
  /// chunk, this length is also the Position of that Read chunk.
  std::uint32_t end() const { return static_cast<std::uint32_t>(payload().size()); }
  /// Header and, in an RDMA_MSG, the payload.
  Bytes bytes() const;
};

class Session {
 public:
  Session(Network& network, const ServerOptions& options, const Files& files, Record& record)
      : network_(network), options_(options), files_(files), record_(record) {}

  Record& record() noexcept { return record_; }
  Network& network() noexcept { return network_; }
  const ServerOptions& options() const noexcept { return options_; }
  /// The files that make_files() made. Skips the case if there are none.
  const Files& files() const;
  /// As files(), but if there are none, returns a Files whose `missing` says why.
  const Files& missing_or_files() const noexcept { return files_; }

  /// The current connection. If there is none yet, makes one with default private data, and makes a NULL call.
  Connection& connection();
  /// Makes a new connection the current one; the former one stays open.
  Connection& connect(Setup setup = {});
  /// As connect(), followed by a NULL call.
  Connection& connect_and_call(Setup setup = {});

  std::uint32_t new_xid() noexcept { return network_.next_xid++; }
  Outgoing null();
  Outgoing file_call(std::uint32_t procedure, Bytes arguments);  ///< NFSv3, AUTH_SYS
  /// As file_call(); skips the case if there are no files.
  Outgoing nfs(std::uint32_t procedure, Bytes arguments);
  /// Returns `call` as a long call: an RDMA_NOMSG whose RPC message is in a Position-Zero Read chunk. `lengths` are the
  /// lengths of the segments of this chunk. If `lengths` is empty, the chunk has one segment.
  Outgoing long_call(const Outgoing& call, const std::vector<std::uint32_t>& lengths = {});
  Memory& readable(Bytes contents) { return connection().expose(std::move(contents), fabric::Access::remote_read); }
  /// Memory of the tester that the server may write. Its initial bytes are all kUntouched.
  Memory& writable(std::size_t size);
  static constexpr std::byte kUntouched{0xA5};

  void send(const Outgoing& call) { connection().send(call.bytes()); }
  void send(View message) { connection().send(message); }

  /// The next message. Fails if there is none, or if its header cannot be decoded.
  Message answer();
  /// The next message, which must have this XID.
  Message answer_to(std::uint32_t xid);
  /// The next message, which must be an RDMA_MSG with a reply to this XID.
  RpcReply reply_to(std::uint32_t xid);
  /// Like reply_to(), but fails unless the reply has the accept_stat SUCCESS. Returns the results in the reply.
  Bytes results_of(std::uint32_t xid);
  /// Sends `call`, and returns the results in its reply as results_of() does.
  Bytes call(const Outgoing& call);
  /// Like reply_to(), but fails unless the reply has the accept_stat `accept`.
  void expect_accept(std::uint32_t xid, std::uint32_t accept);

  void expect_err_chunk(std::uint32_t xid);
  /// Expects ERR_VERS with `version` in the rdma_vers field. The range of supported versions in the message must begin
  /// with version 1, and must not contain `version`.
  void expect_err_vers(std::uint32_t xid, std::uint32_t version);
  static void check_err_vers(const RdmaHeader& header, std::uint32_t version);
  /// The segments of a chunk that came back must have the handles and offsets of the call. Ignores the lengths.
  static void expect_same_segments(const Chunk& asked, const Chunk& returned);
  /// Expects ERR_CHUNK, or an RPC error such as GARBAGE_ARGS.
  void expect_refusal(std::uint32_t xid);
  /// Expects ERR_CHUNK, an RPC error, or the end of the connection.
  void expect_refusal_or_end(std::uint32_t xid);
  /// Expects that no message arrives: makes a NULL call, whose answer must be the next message.
  void expect_silence();
  /// Expects an answer to a NULL call on the connection of the case.
  void expect_alive();
  /// Expects the end of the connection within the time limit.
  void expect_end();

  /// Makes a file with a GUARDED CREATE in the tester's directory.
  nfs::Handle make_file(const std::string& name);
  /// Reads a file with READ calls that offer no chunks, and returns all bytes of the file.
  Bytes contents_of(const nfs::Handle& file);
  bool exists(const std::string& name);

 private:
  Network& network_;
  const ServerOptions& options_;
  const Files& files_;
  Record& record_;
  std::deque<std::unique_ptr<Connection>> connections_;
  bool quiet_ = false;  // while true, replies are not added to the record
};

/// The status of a file operation, for reports.
std::string nfs_status(std::uint32_t status);

}  // namespace rpcrdma::conform
