// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One connection of the tester to the server. Functions that wait run the io_context until the server has answered, the
// connection has ended, or the timeout has passed.
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "rpcrdma/conform/codec/header.hpp"
#include "rpcrdma/conform/codec/rpc.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "watch.hpp"

namespace rpcrdma::conform {

/// The fabric, and the state that all connections share.
struct Network {
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  boost::asio::io_context context;
  std::unique_ptr<fabric::Fabric> fabric;
  fabric::Endpoint server;
  std::chrono::milliseconds patience{10000};
  Watch watch;
  std::uint32_t next_xid = 0x10000000;

  /// Runs the io_context until done() is true or the time `limit` has passed. Returns whether done() is true.
  bool wait(const std::function<bool()>& done, std::chrono::milliseconds limit);
};

/// Parameters of one connection.
struct Setup {
  Bytes private_data = encode(PrivateData{});
  std::uint32_t receives = 64;        ///< posted at a time
  std::uint32_t inbound_reads = 16;   ///< IRD
  std::uint32_t outbound_reads = 16;  ///< ORD
};

/// A message from the server.
struct Message {
  Bytes bytes;
  std::optional<std::uint32_t> invalidated;
  RdmaHeader header;
  Bytes payload;          ///< after the header of an RDMA_MSG
  std::string malformed;  ///< why the header cannot be decoded; empty if it has been decoded
};

/// One line about a message, for reports.
std::string describe(const Message& message);

/// Memory that the server may access.
class Memory;

class Connection final : private fabric::QueuePairEvents {
 public:
  /// Connects. Throws CaseFailed if the server does not accept.
  explicit Connection(Network& network, Setup setup = {});
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const fabric::ConnectionInfo& info() const noexcept { return info_; }
  /// The server's private data, if it sent any that conforms to RFC 8797.
  std::optional<PrivateData> private_data() const;
  std::uint32_t call_threshold() const;   ///< the longest Send towards the server
  std::uint32_t reply_threshold() const;  ///< the longest Send that the server may send

  /// Sends a message and records its chunks, with which replies are compared. `invalidate`: Send with Invalidate.
  void send(View message, std::optional<std::uint32_t> invalidate = std::nullopt);
  /// The next message; nothing if the connection ends, or `limit` passes, before one arrives.
  std::optional<Message> receive(std::chrono::milliseconds limit);
  std::optional<Message> receive() { return receive(network_.patience); }
  bool has_messages() const noexcept { return !messages_.empty(); }
  bool ended() const noexcept { return ended_; }
  /// Waits for the end of the connection.
  bool wait_for_end() {
    return network_.wait([this] { return ended_; }, network_.patience);
  }
  /// Runs the io_context for a time, for tests in which nothing is expected to arrive.
  void pass(std::chrono::milliseconds time) {
    network_.wait([] { return false; }, time);
  }
  std::string why_ended() const { return why_.message(); }
  /// Ends the connection without an orderly close.
  void abort();

  /// Memory of the tester, with `contents`. Lives as long as the connection.
  Memory& expose(Bytes contents, fabric::Access access);
  /// These functions post an RDMA Write to, or an RDMA Read from, memory of the server. A correct server exposes no
  /// memory, so the operation must fail.
  void write(View data, std::uint32_t handle, std::uint64_t offset);
  void read(std::uint32_t length, std::uint32_t handle, std::uint64_t offset);

  Network& network() noexcept { return network_; }
  /// Credits that the last reply granted; one before the first reply.
  std::uint32_t granted() const noexcept { return granted_; }

 private:
  struct Receive;
  struct Posted;

  void on_established(const fabric::ConnectionInfo& info) noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void arrived(View bytes, std::optional<std::uint32_t> invalidated);
  void note_sent(View message);
  void check(const Message& message);
  void check_header(const Message& message);
  void check_lists(const Message& message, const ChunkLists& asked);
  void check_invalidation(const Message& message);
  Posted& post(Bytes bytes);

  Network& network_;
  const Setup setup_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  std::deque<std::unique_ptr<Receive>> receives_;
  std::deque<std::unique_ptr<Posted>> posted_;
  std::deque<std::unique_ptr<Memory>> memories_;
  std::deque<Message> messages_;
  fabric::ConnectionInfo info_;
  /// The version and the chunk lists of the last message that this side has sent with a given XID. The checks compare
  /// the answer with them. `lists` is empty if the header of that message cannot be decoded.
  struct Asked {
    std::uint32_t version = 1;
    std::optional<ChunkLists> lists;
  };
  std::map<std::uint32_t, Asked> asked_;
  std::uint32_t granted_ = 1;
  bool established_ = false, ended_ = false;
  error_code why_;
};

class Memory {
 public:
  Memory(Connection& connection, fabric::QueuePair& queue_pair, Bytes contents, fabric::Access access);
  /// The segment of the whole memory, or of a part.
  RdmaSegment segment() const { return segment(0, static_cast<std::uint32_t>(bytes_.size())); }
  RdmaSegment segment(std::uint32_t offset, std::uint32_t length) const {
    return {exposed_.handle, length, exposed_.offset + offset};
  }
  /// The segments of consecutive parts of these lengths.
  Chunk split(const std::vector<std::uint32_t>& lengths) const;
  const Bytes& bytes() const noexcept { return bytes_; }
  View first(std::size_t count) const { return View(bytes_).first(std::min(count, bytes_.size())); }

 private:
  Bytes bytes_;
  std::unique_ptr<fabric::MemoryRegion> region_;
  std::unique_ptr<fabric::Window> window_;
  Segment exposed_;
};

}  // namespace rpcrdma::conform
