// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Operation. Producers fill rings; the thread of the capture empties them, oldest record first, and writes the file.
// Ownership. The capture, its thread and every recorder share the Core. The thread releases a connection or a ring when
// its producer has ended and all its records are written, or when the capture closes.
// Error handling. If the file cannot be written, the capture stops; frames that are still in the rings are
// dropped and counted.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "byte_ring.hpp"
#include "file_writer.hpp"
#include "rpcrdma/capture/capture.hpp"

namespace rpcrdma::capture {

/// While this many ended connections wait for the thread, no new connection is recorded. The thread waits for the disk:
/// while the disk does not answer, peers that reconnect must not fill the memory.
inline constexpr std::size_t kMostEnded = 4096;

/// The ring of one recorder.
struct Channel {
  explicit Channel(std::size_t capacity) : ring(capacity) {}
  ByteRing ring;
  std::atomic<std::uint64_t> dropped{0};  ///< written by the producer
  std::atomic<bool> ended{false};         ///< no record follows
};

class Capture::Core : public std::enable_shared_from_this<Capture::Core> {
 public:
  Core(CaptureOptions options, Log log);

  error_code open();
  void start_thread();
  void close() noexcept;

  // For producers.
  const CaptureOptions& options() const noexcept { return options_; }
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
  std::shared_ptr<Channel> make_channel();
  /// Keeps `connection` as long as the writer needs it. Null if kMostEnded connections wait for the thread: this
  /// connection is then not recorded, which counts as one dropped frame unless the capture is stopped.
  std::shared_ptr<Connection> add(std::shared_ptr<Connection> connection);
  /// To be called once for each connection that add() has kept, after its last record.
  void end(Connection& connection) noexcept;
  /// Wakes the thread, because a ring is half full or has no room for a record.
  void hurry() noexcept;

  void set_active(bool active) noexcept;
  void toggle() noexcept;
  CaptureCounts counts() const noexcept;

 private:
  void run();
  bool wait();
  std::uint64_t drain();
  void forget_ended(std::vector<Connection*> ended);
  std::uint64_t dropped() const noexcept;

  const CaptureOptions options_;
  const Log log_;
  std::atomic<bool> active_{false};
  std::atomic<bool> closing_{false};
  std::atomic<bool> given_up_{false};  // set by close() after a time limit: a full pipe is no longer waited for
  std::atomic<bool> hurried_{false};
  std::atomic<std::uint64_t> runs_{0};  // how many times the capture was started
  std::atomic<std::size_t> ended_{0};   // connections that have ended and wait for the thread

  mutable std::mutex mutex_;  // protects the members from here to connections_
  std::condition_variable condition_;
  bool running_ = false;              // the thread runs
  std::uint64_t dropped_before_ = 0;  // frames dropped by ended channels, and connections not recorded
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<std::shared_ptr<Connection>> connections_;

  std::thread thread_;
  std::chrono::microseconds interval_;  // how long the thread sleeps before it looks for records again
  FileWriter file_;                     // used by the thread; by other threads only for open() and counts()
};

}  // namespace rpcrdma::capture
