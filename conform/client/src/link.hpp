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
  std::uint32_t credits = 32;  ///< the largest grant
  std::uint32_t inbound_reads = 16, outbound_reads = 16;
};

class Link;

/// Events of a link. The io_context calls the functions.
class LinkEvents {
 public:
  /// A call whose header could be decoded; its Read chunks have not been read.
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
  /// As both sides' private data specify; 1,024 bytes and no invalidation if a side sent none.
  Agreed agreed() const;
  std::size_t calls() const noexcept { return calls_; }

  /// Reads the Read chunks of the call, then calls on_whole_call(). A call that is too long or malformed is refused. If
  /// a Read fails, the connection ends.
  void complete(Call call);
  void send(const Reply& reply);
  void send(View message, std::optional<std::uint32_t> invalidate = std::nullopt);
  void write(const RemoteWrite& data);
  /// Reads memory of the client. `done` gets true if the Read succeeded. If no Read is posted, for example because
  /// `length` is 0 or the connection has ended, `done` is never called.
  void read(std::uint32_t length, std::uint32_t handle, std::uint64_t offset, std::function<void(bool)> done);
  void abort();
  void disconnect();
  /// A reverse call with this XID was sent: the client may answer it.
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
