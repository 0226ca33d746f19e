// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A hand-made peer: it sends and receives raw messages on its own queue pair, as client or as server.
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/wire/header.hpp"
#include "support/hex.hpp"

namespace rpcrdma::test {

class RawPeer final : private fabric::QueuePairEvents {
 public:
  explicit RawPeer(fabric::Fabric& fabric);
  ~RawPeer();

  std::uint32_t receives = 64;        ///< posted on each connection
  std::uint32_t receive_size = 4096;  ///< bytes of each receive
  std::uint32_t inbound_reads = 16;   ///< the IRD that this peer offers
  std::vector<std::byte> private_data;

  /// Connects as a client. The connection is established when connected() is true.
  void connect(const fabric::Endpoint& server);
  /// Listens as a server, and accepts each connection. A new connection replaces the one before.
  fabric::Endpoint listen();
  bool connected() const noexcept { return connected_; }
  bool ended() const noexcept { return ended_; }
  int connections() const noexcept { return connections_; }
  const fabric::ConnectionInfo& info() const noexcept { return info_; }
  void abort();

  void send(Octets message, std::optional<std::uint32_t> invalidate = {});
  /// Sends `header` followed by `payload`.
  void send(const wire::Header& header, Octets payload, std::optional<std::uint32_t> invalidate = {});

  struct Message {
    Bytes octets;
    wire::Header header;  ///< a default header if the message could not be decoded
    Bytes payload;        ///< after the header
    std::optional<std::uint32_t> invalidated;
  };
  std::deque<Message> messages;
  /// Removes and returns the oldest received message; an empty one if there is none.
  Message take();

  /// Memory of this peer, exposed until the connection ends.
  struct Exposed {
    memory::RegisteredBuffer memory;
    Segment segment;
    fabric::Window* window = nullptr;
  };
  Exposed expose(std::uint32_t size, fabric::Access access);
  /// Writes to memory of the other side; the data is placed before a later send() is delivered.
  void write(const Segment& to, Octets data);
  /// Reads memory of the other side into `into`, which is complete when read_ended() is true.
  void read(const Segment& from, Bytes& into);
  bool read_ended() const noexcept { return read_ended_; }

 private:
  struct Receive;
  struct Work;
  fabric::QueuePairOptions options() const;
  void open(std::unique_ptr<fabric::QueuePair> queue_pair);
  void close();
  void on_established(const fabric::ConnectionInfo& info) noexcept override;
  void on_disconnected(error_code why) noexcept override;

  fabric::Fabric& fabric_;
  memory::Pool pool_;
  std::unique_ptr<fabric::Listener> listener_;
  std::vector<std::unique_ptr<Receive>> receive_slots_;
  std::vector<std::unique_ptr<Work>> work_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  std::vector<std::unique_ptr<fabric::Window>> windows_;
  fabric::ConnectionInfo info_;
  int connections_ = 0;
  bool connected_ = false;
  bool ended_ = false;
  bool read_ended_ = false;
};

/// Returns a message of these words, in network byte order.
Bytes words(std::initializer_list<std::uint32_t> values);

}  // namespace rpcrdma::test
