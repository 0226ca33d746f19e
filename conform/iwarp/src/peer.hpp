// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One TCP connection to the responder under test. Functions that send or receive block, up to a timeout.
#include <map>

#include "encoding.hpp"
#include "rpcrdma/conform/framework/case.hpp"
#include "rpcrdma/conform/iwarp/tester.hpp"

namespace rpcrdma::conform::iwarp {

/// A received MPA Reply.
struct Reply {
  std::uint8_t flags = 0, revision = 0;
  Bytes private_data;
  std::optional<Enhanced> enhanced;  ///< the first word of the private data, if the Reply is enhanced
};

/// How a stream ended.
enum class End {
  closed,   ///< the peer closed the connection in an orderly way
  reset,    ///< the peer reset the connection
  timeout,  ///< the stream has not ended in time
};

class Peer {
 public:
  Peer(const IwarpOptions& options, Record& record);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const IwarpOptions& options() const noexcept { return options_; }
  /// Closes the TCP connection, if there is one, and opens a new one. Resets the state of the stream, such as the
  /// use of markers and the MSNs.
  void reconnect();
  /// Sends bytes. It is no error if the peer has ended the connection.
  void send(View bytes);
  void finish_sending();
  void reset();
  /// The next `count` bytes; fewer if the stream ends, or if nothing arrives within the timeout.
  Bytes receive(std::size_t count);
  /// Reads until the stream ends, or nothing arrives for `patience`. Adds the bytes to `rest`; fails beyond 1 MiB.
  End drain(Bytes& rest, std::chrono::milliseconds patience);
  /// Whether bytes, or the end of the stream, arrive within 300 ms.
  bool speaks_soon();

  // Start-up.
  Reply expect_reply();
  /// The Request of cases that do not concern the set-up.
  Request request() const { return options_.enhanced ? enhanced_request({}) : Request{}; }
  /// Sends a Request that must be accepted.
  Reply start(const Request& request);
  Reply start() { return start(request()); }
  /// The peer must end the connection. Before that, it may send a Reply that rejects the connection or, if
  /// `may_announce` is true, one without private data, which announces the revision that the peer supports.
  void expect_refused(std::chrono::milliseconds patience, bool may_announce = false);
  void expect_refused() { expect_refused(options_.patience); }

  // Full operation.
  void segment(const Untagged& header, View payload) { send(fpdu(encode(header, payload))); }
  void segment(const Tagged& header, View payload) { send(fpdu(encode(header, payload))); }
  /// Receives one segment, checks it and returns it. Returns an empty optional if the stream has ended.
  std::optional<Segment> next();
  Segment expect(Opcode opcode);
  /// Makes an RPC-over-RDMA message with a NULL call under a new XID. expect_answer() expects the reply to this XID.
  Bytes null_call();
  void expect_answer();
  /// Sends a call of NULL as the next message, and expects the answer.
  void expect_alive();
  std::uint32_t next_msn() noexcept { return msn_++; }
  /// From now on, removes markers from received bytes.
  void expect_markers() noexcept { markers_ = true; }

  // Endings.
  /// The peer must end the connection. Returns the Terminate that precedes the end, if there is one.
  std::optional<Segment> expect_end();
  /// The peer must end the connection with a Terminate that has one of these codes.
  Segment expect_terminate(const std::vector<TerminateCode>& codes);
  End last_end() const noexcept { return end_; }
  /// The size of the peer's Receives according to the private data of its Reply (RFC 8797).
  std::uint32_t size_of_receives() const noexcept { return size_of_receives_; }
  /// Whether CRCs are in use.
  bool crc() const noexcept { return crc_; }

 private:
  bool wait(short events, std::chrono::milliseconds patience);
  std::size_t read_some(std::byte* to, std::size_t size, std::chrono::milliseconds patience);
  Bytes receive_framed(std::size_t count);
  void check_marker(View marker);

  IwarpOptions options_;
  Record& record_;
  int socket_ = -1;
  End end_ = End::timeout;
  bool crc_ = true, markers_ = false;
  std::size_t position_ = 0, fpdu_at_ = 0;  // positions in the stream of FPDUs, markers included
  Bytes fpdu_;                              // the FPDU that is being received, with its markers
  std::uint32_t msn_ = 1;
  std::uint32_t size_of_receives_ = 1024;
  std::map<std::uint32_t, std::uint32_t> received_;  // number of messages received on each queue
  std::uint32_t xid_ = 0;
};

}  // namespace rpcrdma::conform::iwarp
