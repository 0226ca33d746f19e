// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <fmt/format.h>

namespace rpcrdma::conform {
namespace {

/// The count of a READ without a Write chunk. Its reply fits the minimum inline threshold of 1,024 bytes.
constexpr std::uint32_t kSmallRead = 800;

/// More than the size of any file that the cases write.
constexpr std::size_t kLongestFile = 1u << 20;

}  // namespace

std::string nfs_status(std::uint32_t status) { return fmt::format("nfsstat3 {}", status); }

Bytes Outgoing::bytes() const {
  Bytes out = encode(header);
  if (header.procedure == kMsg) {
    const Bytes message = payload();
    out.insert(out.end(), message.begin(), message.end());
  }
  return out;
}

const Files& Session::files() const {
  if (!files_.missing.empty()) Record::skip(files_.missing);
  return files_;
}

Connection& Session::connection() { return connections_.empty() ? connect_and_call() : *connections_.back(); }

Connection& Session::connect(Setup setup) {
  return *connections_.emplace_back(std::make_unique<Connection>(network_, std::move(setup)));
}

Connection& Session::connect_and_call(Setup setup) {
  Connection& out = connect(std::move(setup));
  expect_alive();
  return out;
}

Outgoing Session::null() {
  Outgoing out;
  out.header.xid = out.rpc.xid = new_xid();
  out.rpc.program = options_.null_program;
  out.rpc.version = options_.null_version;
  return out;
}

Outgoing Session::nfs(std::uint32_t procedure, Bytes arguments) {
  files();
  return file_call(procedure, std::move(arguments));
}

Outgoing Session::file_call(std::uint32_t procedure, Bytes arguments) {
  Outgoing out;
  out.header.xid = out.rpc.xid = new_xid();
  out.rpc.program = nfs::kProgram;
  out.rpc.version = nfs::kVersion;
  out.rpc.procedure = procedure;
  out.rpc.credential = auth_sys(options_.uid, options_.gid);
  out.rpc.arguments = std::move(arguments);
  return out;
}

Outgoing Session::long_call(const Outgoing& call, const std::vector<std::uint32_t>& lengths) {
  Outgoing out = call;
  out.header.procedure = kNomsg;
  const Memory& memory = readable(call.payload());
  std::vector<ReadSegment> reads;
  if (lengths.size() == 0) reads.push_back({0, memory.segment()});
  for (const RdmaSegment& each : memory.split(lengths)) reads.push_back({0, each});
  out.header.lists.reads.insert(out.header.lists.reads.begin(), reads.begin(), reads.end());
  return out;
}

Memory& Session::writable(std::size_t size) {
  return connection().expose(Bytes(size, kUntouched), fabric::Access::remote_write);
}

Message Session::answer() {
  Connection& from = connection();
  std::optional<Message> message = from.receive();
  if (!message) {
    if (from.ended()) Record::fail("no answer; the connection ended: " + from.why_ended());
    Record::fail(fmt::format("no answer within {} s", network_.patience.count() / 1000));
  }
  if (!quiet_) record_.received(describe(*message));
  if (!message->malformed.empty()) Record::fail("a header that cannot be decoded: " + message->malformed);
  return std::move(*message);
}

Message Session::answer_to(std::uint32_t xid) {
  Message out = answer();
  Record::expect(out.header.xid == xid,
                 fmt::format("a message with XID {:#x}, not {:#x} (rule 8167-2.4-b)", out.header.xid, xid));
  return out;
}

RpcReply Session::reply_to(std::uint32_t xid) {
  const Message message = answer_to(xid);
  Record::expect(message.header.procedure == kMsg, "not an RDMA_MSG");
  RpcReply out = decode_reply(message.payload);
  Record::expect(out.xid == xid, fmt::format("an RPC reply with XID {:#x}, not {:#x} (rule 8167-2.4-b)", out.xid, xid));
  return out;
}

Bytes Session::results_of(std::uint32_t xid) {
  RpcReply reply = reply_to(xid);
  Record::expect(reply.status == kAccepted && reply.accept == kSuccess,
                 "the call was not executed: " + describe(reply));
  return std::move(reply.results);
}

Bytes Session::call(const Outgoing& call) {
  send(call);
  return results_of(call.xid());
}

void Session::expect_accept(std::uint32_t xid, std::uint32_t accept) {
  const RpcReply reply = reply_to(xid);
  Record::expect(reply.status == kAccepted && reply.accept == accept,
                 fmt::format("{}, not accept_stat {}", describe(reply), accept));
}

void Session::expect_err_chunk(std::uint32_t xid) {
  const RdmaHeader header = answer_to(xid).header;
  Record::expect(header.procedure == kError && header.error == kErrChunk, "not ERR_CHUNK");
}

void Session::expect_err_vers(std::uint32_t xid, std::uint32_t version) {
  check_err_vers(answer_to(xid).header, version);
}

void Session::check_err_vers(const RdmaHeader& header, std::uint32_t version) {
  Record::expect(header.procedure == kError && header.error == kErrVers, "not ERR_VERS");
  Record::expect(header.version == version,
                 fmt::format("rdma_vers is {}, that of the call was {}", header.version, version));
  Record::expect(header.lowest <= 1 && header.highest >= 1 && header.lowest >= 1,
                 fmt::format("the range {}..{} is wrong: version 1 is the lowest, and is supported", header.lowest,
                             header.highest));
  Record::expect(version < header.lowest || version > header.highest, "the range contains the refused version");
}

void Session::expect_same_segments(const Chunk& asked, const Chunk& returned) {
  Record::expect(returned.size() == asked.size(), fmt::format("the chunk came back with {} segments", returned.size()));
  for (std::size_t i = 0; i < asked.size(); ++i)
    Record::expect(returned[i].handle == asked[i].handle && returned[i].offset == asked[i].offset,
                   fmt::format("segment {} came back with handle {:#x} and offset {:#x}, not {:#x} and {:#x}", i,
                               returned[i].handle, returned[i].offset, asked[i].handle, asked[i].offset));
}

void Session::expect_refusal(std::uint32_t xid) {
  const Message message = answer_to(xid);
  if (message.header.procedure == kError) return Record::expect(message.header.error == kErrChunk, "not ERR_CHUNK");
  Record::expect(message.header.procedure == kMsg, "neither an error nor an RDMA_MSG");
  const RpcReply reply = decode_reply(message.payload);
  Record::expect(reply.status == kDenied || reply.accept != kSuccess, "the call was executed: " + describe(reply));
}

void Session::expect_refusal_or_end(std::uint32_t xid) {
  Connection& from = connection();
  const bool any = network_.wait([&] { return from.ended() || from.has_messages(); }, network_.patience);
  Record::expect(any, "neither an answer nor the end of the connection");
  if (from.has_messages()) return expect_refusal(xid);
  record_.received("the connection ended: " + from.why_ended());
}

void Session::expect_silence() {
  const Outgoing next = null();
  send(next);
  const Message message = answer();
  Record::expect(message.header.xid == next.xid(), "a message that must not be answered was answered");
  expect_alive();  // an answer may arrive behind the first reply
}

void Session::expect_alive() {
  const Outgoing next = null();
  send(next);
  quiet_ = true;
  const Bytes results = results_of(next.xid());
  quiet_ = false;
  Record::expect(results.empty(), "NULL has results");
}

void Session::expect_end() {
  if (!connection().wait_for_end()) Record::fail("the connection does not end");
  record_.received("the connection ended: " + connection().why_ended());
}

nfs::Handle Session::make_file(const std::string& name) {
  const nfs::Object made = nfs::decode_made(call(nfs(nfs::kCreate, nfs::create_args(files().directory, name, 1))));
  Record::expect(made.status == nfs::kOk, "CREATE failed: " + nfs_status(made.status));
  if (made.handle) return *made.handle;
  const nfs::Object found = nfs::decode_lookup(call(nfs(nfs::kLookup, nfs::name_args(files().directory, name))));
  Record::expect(found.handle.has_value(), "LOOKUP of a new file failed: " + nfs_status(found.status));
  return *found.handle;
}

Bytes Session::contents_of(const nfs::Handle& file) {
  Bytes out;
  for (;;) {
    const nfs::Read part = nfs::decode_read(call(nfs(nfs::kRead, nfs::read_args(file, out.size(), kSmallRead))), false);
    Record::expect(part.status == nfs::kOk, "READ failed: " + nfs_status(part.status));
    out.insert(out.end(), part.data.begin(), part.data.end());
    Record::expect(out.size() <= kLongestFile, "READ returns data without end");
    if (part.eof || part.data.empty()) return out;
  }
}

bool Session::exists(const std::string& name) {
  return nfs::decode_lookup(call(nfs(nfs::kLookup, nfs::name_args(files().directory, name)))).status == nfs::kOk;
}

}  // namespace rpcrdma::conform
