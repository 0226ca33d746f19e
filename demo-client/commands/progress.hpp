// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The progress bar of get and put.
#include <chrono>
#include <cstdint>
#include <string>

namespace rpcrdma::commands {

/// "512 B", "3.1 MiB", ...
std::string octets_text(double octets);

/// One line of at most `width` columns: percentage and bar (when the total is known), octets, rate, time.
std::string progress_line(std::uint64_t done, std::uint64_t total, std::uint64_t files, double seconds,
                          std::size_t width);

/// What a transfer has come to, as one line: MB are millions of octets. `kept` octets were there before.
std::string summary_line(std::uint64_t files, std::uint64_t moved, std::uint64_t kept, double seconds);

/// Draws on standard error, a few times a second, if that is a terminal; does nothing otherwise.
class Progress {
 public:
  Progress();
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// More is known to be to do; 0 in all means that the total is unknown.
  void expect(std::uint64_t octets) noexcept { total_ += octets; }
  void moved(std::uint64_t octets) noexcept;
  /// Of what is to do, so much is done already.
  void keep(std::uint64_t octets) noexcept {
    kept_ += octets;
    total_ -= octets;
  }
  void file_done() noexcept;
  /// Draws the last state and ends the line; or takes the line away, so that a message can be printed.
  void finish() noexcept;
  void clear() noexcept;
  std::string summary() const { return summary_line(files_, done_, kept_, elapsed()); }

 private:
  double elapsed() const noexcept;
  void draw_sometimes() noexcept;
  void draw() noexcept;
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool drawn_ = false;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t kept_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_ = started_;
};

}  // namespace rpcrdma::commands
