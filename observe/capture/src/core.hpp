// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Operation. Producers fill rings; the thread of the capture empties them, oldest record first, and writes the file.
// Ownership. The capture, its thread and every recorder share the Core. The thread releases a connection or a ring when
// the producer has marked it as ended and its records have been written or dropped, or when the capture closes.
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

/// The limit for ended connections that the thread of the capture has not removed yet. At this limit, new connections
/// are not recorded. The limit bounds the memory when the disk does not answer: the thread then waits for the disk,
/// while peers may connect and disconnect again and again.
inline constexpr std::size_t kMostEnded = 4096;

/// The ring through which one recorder, its producer, passes records to the thread of the capture.
struct Channel {
  explicit Channel(std::size_t capacity) : ring(capacity) {}
  ByteRing ring;
  std::atomic<std::uint64_t> dropped{0};  ///< records for which `ring` had no room; only the producer writes this
  std::atomic<bool> ended{false};         ///< set by the producer after its last record
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
  /// Returns `connection`, and adds it to the capture if the thread runs. The capture keeps it as long as the thread
  /// needs it to write records. Returns null if kMostEnded ended connections wait to be removed by the thread. The
  /// producer must then not record `connection`. Unless the capture is stopped, such a connection counts as one dropped
  /// frame.
  std::shared_ptr<Connection> add(std::shared_ptr<Connection> connection);
  /// The producer calls this function once for each connection that add() has kept, after it has passed the last record
  /// of this connection.
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
  // close() sets this if the thread does not end within a time limit. The thread then no longer waits until a full pipe
  // has room.
  std::atomic<bool> given_up_{false};
  std::atomic<bool> hurried_{false};
  std::atomic<std::uint64_t> runs_{0};  // how many times the capture was started
  std::atomic<std::size_t> ended_{0};   // ended connections that the thread has not removed yet

  mutable std::mutex mutex_;  // protects the members from here to connections_
  std::condition_variable condition_;
  bool running_ = false;  // the thread runs
  // The frames that were dropped in channels that have been removed from channels_, and one for each connection that
  // add() has refused to record.
  std::uint64_t dropped_before_ = 0;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<std::shared_ptr<Connection>> connections_;

  std::thread thread_;
  std::chrono::microseconds interval_;  // how long the thread sleeps before it looks for records again
  // Only the thread uses file_, with two exceptions: open() of this class uses it before the thread starts, and any
  // thread may call FileWriter::counts().
  FileWriter file_;
};

}  // namespace rpcrdma::capture
