// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The server's end of one connection.
#include <list>
#include <map>
#include <set>

#include "call.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "watch.hpp"

namespace rpcrdma::conform::client {

/// How the server sets up a connection.
struct Setup {
  Bytes private_data = encode(PrivateData{.flags = 1});
  std::uint32_t credits = 32;  ///< the credit grant in each reply, unless a case changes the grant
  std::uint32_t inbound_reads = 16, outbound_reads = 16;
};

class Link;

/// Receives the events of links. The functions run on the thread that runs the io_context.
class LinkEvents {
 public:
  /// A call has arrived, and its RPC-over-RDMA header has been decoded. Its Read chunks have not been read yet.
  virtual void on_call(Link& link, Call call) = 0;
  /// All Read chunks of the call have been read.
  virtual void on_whole_call(Link& link, Call& call) = 0;

 protected:
  ~LinkEvents() = default;
};

class Link final : private fabric::QueuePairEvents {
 public:
  Link(fabric::Fabric& fabric, std::unique_ptr<fabric::ConnectionRequest> request, Setup setup, LinkEvents& events,
       Watch& watch);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const Setup& setup() const noexcept { return setup_; }
  bool ended() const noexcept { return ended_; }
  /// Returns the inline threshold for replies, and whether a reply may be sent by Send with Invalidate. The RFC 8797
  /// private data of both sides determine these values. If a side has sent none, the threshold is 1,024 bytes, and
  /// remote invalidation is not used.
  Agreed agreed() const;
  std::size_t calls() const noexcept { return calls_; }

  /// Reads the data of the call's Read chunks from the client, inserts it into the payload, and then calls
  /// on_whole_call(). If there is no data to read, calls on_whole_call() at once. If the Read chunks are longer than
  /// 16 MiB together, or if the assembled message cannot be decoded, answers the call with ERR_CHUNK instead. If a Read
  /// fails, the connection ends.
  void complete(Call call);
  void send(const Reply& reply);
  void send(View message, std::optional<std::uint32_t> invalidate = std::nullopt);
  void write(const RemoteWrite& data);
  /// Reads memory of the client. `done` gets true if the Read succeeded. If no Read is posted, for example because
  /// `length` is 0 or the connection has ended, `done` is never called.
  void read(std::uint32_t length, std::uint32_t handle, std::uint64_t offset, std::function<void(bool)> done);
  void abort();
  void disconnect();
  /// To be called before a reverse call with this XID is sent. The client may answer the call with an RDMA_ERROR, which
  /// would otherwise count as a violation.
  void note_reverse(std::uint32_t xid) { reverse_.insert(xid); }

 private:
  struct Receive;
  struct Posted;

  void on_established(const fabric::ConnectionInfo& info) noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void arrived(View bytes);
  void check(View bytes);
  void check_header(const RdmaHeader& header, View payload, View bytes);
  void check_credits(const RdmaHeader& header);
  void check_chunks(const RdmaHeader& header, View payload);
  void check_handles(const RdmaHeader& header);
  Posted& post(Bytes bytes, std::function<void(bool)> done = {});

  fabric::Fabric& fabric_;
  const Setup setup_;
  LinkEvents& events_;
  Watch& watch_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  std::list<Receive> receives_;
  std::list<Posted> posted_;
  std::vector<std::byte> clients_data_;  // private data of the client
  std::size_t calls_ = 0;
  std::map<std::uint32_t, Bytes> unanswered_;  // unanswered calls, by XID
  std::set<std::uint32_t> reverse_;            // XIDs of calls towards the client
  std::set<std::uint32_t> handles_;            // handles that earlier calls offered
  std::uint32_t granted_ = 1;                  // the largest grant so far
  bool replied_ = false, established_ = false, ended_ = false;
};

}  // namespace rpcrdma::conform::client
