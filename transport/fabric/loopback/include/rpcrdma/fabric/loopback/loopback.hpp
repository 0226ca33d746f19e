// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// An RDMA fabric in memory, for tests: single-threaded, deterministic, seeded. It keeps the whole contract of
// fabric.hpp and is as strict as the strictest real provider: buffers must be registered, offsets are not addresses,
// unsignalled work holds its slot until later signalled work completes, and an invalidation does not take effect at
// once.
//
// Operation. All fabrics of one LoopbackNetwork share its io_context. Work moves in turns: one turn is one handler on
// the io_context, which moves the frames that are due and runs the callbacks. The same seed and the same calls lead to
// the same order of events.
//
// Ownership. The network's state lives as long as any object that was made from the network.
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
  any,  ///< an operation of any kind
  register_memory,
  listen,
  make_queue_pair,
  connect,  ///< start() of a connector: on_disconnected reports the error
  accept,   ///< start() of an acceptor: on_disconnected reports the error; the connector reports handshake_failed
  make_window,
  post_receive,
  post_send,
  post_write,
  post_read,
  bind,
  invalidate,
  completion,  ///< one completion and on_disconnected report the error; the peer reports remote_terminated
};
inline constexpr std::size_t kLoopbackOperations = static_cast<std::size_t>(LoopbackOperation::completion) + 1;

struct LoopbackOptions {
  std::uint64_t seed = 1;
  /// The longest delay of a frame, in turns. The network draws the delay of each frame from the seed, between 0 and
  /// this number. If this number is not 0, the two halves of a Write may be placed in different turns. The window of
  /// the Write is pinned in between.
  std::uint32_t max_delay = 0;
  /// If true, consecutive Writes may be placed in any order (RFC 5040 section 5.5), but a Send is delivered after all
  /// Writes before it. If max_delay is not 0, Read Responses may be placed between Writes even if `reorder` is false.
  bool reorder = false;
};

/// The point at which frames stop while the network is paused.
enum class LoopbackPause : std::uint8_t {
  none,
  before_arrival,  ///< frames stay in transit
  /// A Write arrives and only its first half is placed. A Read Request arrives and is not answered. Both pin their
  /// windows until the network is resumed.
  half_placed,
};

/// One frame put on the wire.
struct LoopbackTraceEntry {
  enum class Kind : std::uint8_t { send, write, read_request, read_response, close };
  Kind kind = Kind::send;
  std::string from;                         ///< label of the sending fabric
  std::uint64_t queue_pair = 0;             ///< number of the sending queue pair, in order of creation, from 1
  std::uint32_t length = 0;                 ///< bytes carried, or requested by a Read
  std::uint32_t handle = 0;                 ///< write, read_request: the handle at the peer
  std::uint64_t offset = 0;                 ///< write, read_request: the offset at the peer
  std::optional<std::uint32_t> invalidate;  ///< send: the handle to invalidate
  std::vector<std::byte> octets;            ///< send: the message

  /// A text such as "client send 60", "server write 4096", "server send 60 invalidate", for expectations in tests.
  std::string text() const;
};

/// The handle of one window, and the memory that the peer, or a frame in transit, may still access through the window.
struct LoopbackExposure {
  std::uint32_t handle = 0;
  BufferRef memory;
};

class LoopbackFabric : public Fabric {
 public:
  /// Makes the `n`-th operation of this kind from now on fail with `error`. If `n` is 1, the next operation fails. If
  /// `error` is success, the operation fails with the default error of its kind.
  virtual void fail_nth(LoopbackOperation operation, std::uint64_t n, error_code error = {}) = 0;
  /// The number of operations of this kind so far, including those that fail_nth() made fail. With this number, a test
  /// can repeat a run once for each operation, and make a different operation fail each time.
  virtual std::uint64_t operations(LoopbackOperation operation) const noexcept = 0;
  /// Adds `octets` to the reported length of the next message. Simulates a provider that reports a wrong length.
  virtual void overstate_next_message(std::uint32_t octets) noexcept = 0;
  /// Simulates the loss of the device: the fabric ends.
  virtual void lose_device() = 0;
  /// The numbers of registered regions and bound windows that exist now. Both are zero in the end, unless the user
  /// leaks them.
  virtual std::size_t regions() const noexcept = 0;
  virtual std::size_t bound_windows() const noexcept = 0;
  /// The memory of this fabric that is exposed now: one entry for each window that is bound, or that a frame in transit
  /// still uses. The entries are in the order in which the windows were made.
  virtual std::vector<LoopbackExposure> exposures() const = 0;
};

class LoopbackNetwork {
 public:
  explicit LoopbackNetwork(boost::asio::io_context& context, LoopbackOptions options = {});
  ~LoopbackNetwork();
  LoopbackNetwork(const LoopbackNetwork&) = delete;
  LoopbackNetwork& operator=(const LoopbackNetwork&) = delete;

  static Capabilities default_capabilities() noexcept;
  /// Makes a fabric on this network. The trace names the fabric by `label`. To simulate a provider that lacks a
  /// feature, pass `capabilities` without this feature.
  std::unique_ptr<LoopbackFabric> make_fabric(std::string label = {},
                                              Capabilities capabilities = default_capabilities());

  void set_max_delay(std::uint32_t turns) noexcept;
  void pause(LoopbackPause where);
  void resume() { pause(LoopbackPause::none); }
  /// Lets `frames` more frames arrive, on all connections together. The next frame breaks its connection: both ends
  /// report connection_reset.
  void drop_connection_after(std::uint64_t frames) noexcept;
  /// The number of Sends that found no posted Receive, or a Receive that was too short. Each ended its connection.
  std::uint64_t overruns() const noexcept;
  /// The number of frames that have arrived so far.
  std::uint64_t frames() const noexcept;

  /// Starts a new trace; drops the previous trace.
  void start_trace();
  const std::vector<LoopbackTraceEntry>& trace() const noexcept;
  /// Returns the trace so far as text, one entry per frame; then starts a new trace.
  std::vector<std::string> take_trace_text();

 private:
  std::shared_ptr<loopback::Core> core_;
};

}  // namespace rpcrdma::fabric
