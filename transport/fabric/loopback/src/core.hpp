// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "fabric_state.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "window.hpp"

namespace rpcrdma::fabric::loopback {

class End;
class ListenerState;

/// State shared by all fabrics of a network: turns, random numbers, STags, listeners, the trace.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(boost::asio::io_context& context, LoopbackOptions options)
      : context_(context), options_(options), random_(options.seed) {}

  boost::asio::io_context& context() noexcept { return context_; }
  LoopbackOptions& options() noexcept { return options_; }

  // Turns.
  std::uint64_t turn() const noexcept { return turn_; }
  /// Chooses the earliest turn for what begins now: the arrival of a frame that is sent, the second half of the
  /// placement of a Write, or the answer to a Read Request. It is at most LoopbackOptions::max_delay turns away.
  std::uint64_t due() noexcept { return turn_ + (options_.max_delay == 0 ? 0 : chance(options_.max_delay + 1)); }
  /// A number below `bound`, drawn from the seed.
  std::uint64_t chance(std::uint64_t bound) noexcept { return random_() % bound; }
  /// Ensures that a turn follows.
  void schedule();
  /// Runs `action` in the next turn.
  void later(UniqueFunction<void()> action);
  std::uint64_t enlist(const std::shared_ptr<End>& end);
  /// Simulates the loss of the device of `fabric`: ends all connections of this fabric.
  void end_all(const FabricState& fabric);

  LoopbackPause paused() const noexcept { return pause_; }
  void pause(LoopbackPause where);

  // The count of the frames that have arrived at all ends of the network.
  /// Returns whether the next frame may arrive. After drop_after(n), n more frames may arrive. For the frame after them
  /// this function returns false, and the end that should have received the frame breaks its connection.
  bool may_arrive() noexcept {
    if (frames_ < last_frame_) return true;
    last_frame_ = ~std::uint64_t{0};
    return false;
  }
  void arrived() noexcept { ++frames_; }
  std::uint64_t frames() const noexcept { return frames_; }
  void drop_after(std::uint64_t frames) noexcept { last_frame_ = frames_ + frames; }

  void count_overrun() noexcept { ++overruns_; }
  std::uint64_t overruns() const noexcept { return overruns_; }

  // STags and offsets of windows, drawn from the seed; no two bound windows have the same STag.
  std::uint32_t new_handle() noexcept;
  std::uint64_t new_offset() noexcept;
  std::unordered_map<std::uint32_t, std::shared_ptr<WindowState>>& windows() noexcept { return windows_; }

  // Listeners.
  std::shared_ptr<ListenerState> find_listener(const Endpoint& at);
  Result<Endpoint> add_listener(Endpoint at, const std::shared_ptr<ListenerState>& listener);
  void remove_listener(const Endpoint& at) { listeners_.erase(at); }
  std::uint16_t next_port() noexcept { return next_port_++; }

  // Trace.
  void record(LoopbackTraceEntry entry) {
    if (tracing_) trace_.push_back(std::move(entry));
  }
  bool tracing() const noexcept { return tracing_; }
  void start_trace() {
    tracing_ = true;
    trace_.clear();
  }
  std::vector<LoopbackTraceEntry>& trace() noexcept { return trace_; }

 private:
  void run_turn();

  boost::asio::io_context& context_;
  LoopbackOptions options_;
  std::mt19937_64 random_;
  LoopbackPause pause_ = LoopbackPause::none;
  std::uint64_t turn_ = 0;
  bool scheduled_ = false;
  std::vector<std::weak_ptr<End>> ends_;
  std::uint64_t made_ = 0;
  std::deque<UniqueFunction<void()>> actions_;
  std::uint64_t frames_ = 0;
  std::uint64_t overruns_ = 0;
  std::uint64_t last_frame_ = ~std::uint64_t{0};
  std::unordered_map<std::uint32_t, std::shared_ptr<WindowState>> windows_;
  std::map<Endpoint, std::weak_ptr<ListenerState>> listeners_;
  std::uint16_t next_port_ = 49152;
  bool tracing_ = false;
  std::vector<LoopbackTraceEntry> trace_;
};

}  // namespace rpcrdma::fabric::loopback
