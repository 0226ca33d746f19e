// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// An RDMA fabric in memory, for tests: single-threaded, deterministic, seeded. It keeps the whole contract of
// fabric.hpp and is as strict as the strictest real provider: buffers must be registered, offsets are not
// addresses, unsignalled work holds its slot until later work completes, an invalidation takes effect late.
//
// Operation. All fabrics of one LoopbackNetwork share its io_context. Work moves in turns: one turn is one
// handler on the io_context, and it moves every frame that is due. With the same seed and the same calls
// everything happens in the same order.
//
// Ownership. The network's state lives as long as anything made from it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

namespace loopback {
class Core;
}

/// Operations that fail_nth() can make fail.
enum class LoopbackOperation : std::uint8_t {
  any,  ///< the next operation of any kind
  register_memory,
  listen,
  make_queue_pair,
  connect,  ///< start() of a connector: on_disconnected follows
  accept,   ///< start() of an acceptor: on_disconnected follows on both sides
  make_window,
  post_receive,
  post_send,
  post_write,
  post_read,
  bind,
  invalidate,
  completion,  ///< a completion reports the error, and the connection ends with it
};
inline constexpr std::size_t kLoopbackOperations = static_cast<std::size_t>(LoopbackOperation::completion) + 1;

struct LoopbackOptions {
  std::uint64_t seed = 1;
  /// Each frame waits 0 to this many turns, drawn from the seed. Above 0 tagged data is placed in two steps,
  /// and its window is pinned in between.
  std::uint32_t max_delay = 0;
  /// Consecutive Writes may be placed in any order (RFC 5040 section 5.5); a Send is delivered after all Writes before
  /// it. With delays, Read Responses may be placed between Writes even if this is false.
  bool reorder = false;
};

/// Where frames stop while the network is paused.
enum class LoopbackPause : std::uint8_t {
  none,
  before_arrival,  ///< frames stay in transit
  half_placed,     ///< a Write is half placed, a Read is accepted but not answered: both pin their window
};

/// One frame put on the wire.
struct LoopbackTraceEntry {
  enum class Kind : std::uint8_t { send, write, read_request, read_response, close };
  Kind kind = Kind::send;
  std::string from;                         ///< label of the sending fabric
  std::uint64_t queue_pair = 0;             ///< number of the sending queue pair, in order of making, from 1
  std::uint32_t length = 0;                 ///< bytes carried, or asked for by a Read
  std::uint32_t handle = 0;                 ///< write, read_request: the peer's
  std::uint64_t offset = 0;                 ///< write, read_request: the peer's
  std::optional<std::uint32_t> invalidate;  ///< send: the handle to invalidate
  std::vector<std::byte> octets;            ///< send: the message

  /// Such as "client send 60", "server write 4096", "server send 60 invalidate", for expectations in tests.
  std::string text() const;
};

/// Memory that a peer, or a frame in transit, may still access through a window.
struct LoopbackExposure {
  std::uint32_t handle = 0;
  BufferRef memory;
};

class LoopbackFabric : public Fabric {
 public:
  /// The `n`-th operation of this kind from now on (1: the next one) fails with `error`, or with a
  /// default for its kind.
  virtual void fail_nth(LoopbackOperation operation, std::uint64_t n, error_code error = {}) = 0;
  /// Operations of this kind so far, including failed ones. A test that makes each operation fail in turn needs this
  /// number.
  virtual std::uint64_t operations(LoopbackOperation operation) const noexcept = 0;
  /// The length of the next message is reported as `octets` bytes more than it is, to simulate a provider that mistakes
  /// something else for a message.
  virtual void overstate_next_message(std::uint32_t octets) noexcept = 0;
  /// Simulates the loss of the device: the fabric ends.
  virtual void lose_device() = 0;
  /// Registered regions and bound windows that exist now: zero in the end, unless something leaks.
  virtual std::size_t regions() const noexcept = 0;
  virtual std::size_t bound_windows() const noexcept = 0;
  /// What this fabric exposes now, in the order in which the windows were made.
  virtual std::vector<LoopbackExposure> exposures() const = 0;
};

class LoopbackNetwork {
 public:
  explicit LoopbackNetwork(boost::asio::io_context& context, LoopbackOptions options = {});
  ~LoopbackNetwork();
  LoopbackNetwork(const LoopbackNetwork&) = delete;
  LoopbackNetwork& operator=(const LoopbackNetwork&) = delete;

  static Capabilities default_capabilities() noexcept;
  /// A fabric on this network. `capabilities` may omit what a real provider lacks.
  std::unique_ptr<LoopbackFabric> make_fabric(std::string label = {},
                                              Capabilities capabilities = default_capabilities());

  void set_max_delay(std::uint32_t turns) noexcept;
  void pause(LoopbackPause where);
  void resume() { pause(LoopbackPause::none); }
  /// Lets `frames` more frames arrive, on all connections together; the frame after these breaks its connection: both
  /// ends see connection_reset.
  void drop_connection_after(std::uint64_t frames) noexcept;
  /// Sends that found no posted Receive, or a Receive that was too short: each has ended its connection.
  std::uint64_t overruns() const noexcept;
  /// Frames that have arrived so far.
  std::uint64_t frames() const noexcept;

  /// Starts to record; drops what was recorded before.
  void start_trace();
  const std::vector<LoopbackTraceEntry>& trace() const noexcept;
  /// The trace so far as text, one entry per frame; then starts again.
  std::vector<std::string> take_trace_text();

 private:
  std::shared_ptr<loopback::Core> core_;
};

}  // namespace rpcrdma::fabric
