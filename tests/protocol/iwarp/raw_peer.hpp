// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A TCP peer that sends raw bytes, so that it can break every rule.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "rpcrdma/base/error.hpp"
#include "support/hex.hpp"
#include "support/run.hpp"
#include "wire/ddp.hpp"
#include "wire/read_request.hpp"
#include "wire/terminate.hpp"

namespace rpcrdma::test {

namespace iwarp = fabric::iwarp;

Bytes operator+(Bytes left, const Bytes& right);
/// Returns an MPA start-up frame: the key of a "Req" or "Rep", then flags, revision, length and data.
Bytes startup(std::string_view kind, std::uint8_t flags, std::uint8_t revision, const Bytes& data);
inline Bytes request(std::uint8_t flags, std::uint8_t revision, std::string_view data) {
  return startup("Req", flags, revision, from_hex(data));
}
inline Bytes reply(std::uint8_t flags, std::uint8_t revision, std::string_view data) {
  return startup("Rep", flags, revision, from_hex(data));
}
/// Returns a complete FPDU with a correct CRC, without markers.
Bytes fpdu(const Bytes& ulpdu);
Bytes ddp(const iwarp::DdpHeader& header, const Bytes& payload = {});
iwarp::DdpHeader untagged(iwarp::Opcode opcode, std::uint32_t queue, std::uint32_t msn, std::uint64_t offset = 0,
                          bool last = true);
iwarp::DdpHeader tagged(iwarp::Opcode opcode, std::uint32_t stag, std::uint64_t offset, bool last = true);
Bytes send(std::uint32_t msn, const Bytes& payload);
Bytes write(std::uint32_t stag, std::uint64_t offset, const Bytes& payload, bool last = true);
Bytes response(std::uint32_t stag, std::uint64_t offset, const Bytes& payload, bool last = true);
Bytes read_request(std::uint32_t msn, const iwarp::ReadRequest& request);
Bytes filled(std::size_t size, std::uint8_t value);

/// A received segment.
struct Heard {
  iwarp::DdpHeader header;
  Bytes payload;
  Bytes ulpdu;
  bool crc_good = false;
  iwarp::Opcode opcode() const { return static_cast<iwarp::Opcode>(header.opcode); }
};

class RawPeer {
 public:
  explicit RawPeer(boost::asio::io_context& context) : context_(context), socket_(context), acceptor_(context) {}

  void connect(const boost::asio::ip::tcp::endpoint& to);
  /// Limits the TCP segments of later connections to `bytes`.
  void limit_segments(int bytes) { segment_limit_ = bytes; }
  /// Listens instead of connecting; accept() then waits for the connection.
  boost::asio::ip::tcp::endpoint listen(int backlog = boost::asio::socket_base::max_listen_connections);
  void accept();

  void send(const Bytes& octets);
  /// Waits for `count` bytes; returns fewer if the connection ends.
  Bytes receive(std::size_t count);
  /// Waits for one FPDU.
  Heard segment();
  /// Waits for the next FPDU that is not an empty Write. Drops empty Writes: an initiator sends them to a silent peer.
  Heard next_segment();
  /// Waits for the end of the connection or for another byte. True if the connection has ended and no byte is unread.
  bool ends();
  /// The number of bytes that have arrived and that no function has read yet.
  std::size_t available();
  bool was_reset() const { return error_ == boost::system::errc::connection_reset; }
  void close();
  void shut_down();
  void reset();
  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  bool fill(std::size_t count);

  boost::asio::io_context& context_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::tcp::acceptor acceptor_;
  int segment_limit_ = 0;
  Bytes received_;
  error_code error_;
};

}  // namespace rpcrdma::test
