// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The progress bar and the summary of get and put.
#include <chrono>
#include <cstdint>
#include <string>

namespace rpcrdma::commands {

/// "512 B", "3.1 MiB", ...
std::string bytes_text(double bytes);

/// Returns one line of at most `width` columns, which shows the bytes that have been copied, the rate and the time. If
/// `files` is greater than 1, the line also shows this number. If `total` is not 0, the line begins with the percentage
/// of `total` that has been copied, followed by the bar if there is room. A `total` of 0 means that it is unknown.
std::string progress_line(std::uint64_t done, std::uint64_t total, std::uint64_t files, double seconds,
                          std::size_t width);

/// The summary of a transfer in one line, with the rate in millions of bytes per second. `moved` is the number of bytes
/// that this transfer has copied. `kept` is the number of bytes that an earlier transfer had already copied.
std::string summary_line(std::uint64_t files, std::uint64_t moved, std::uint64_t kept, double seconds);

/// Counts the files and bytes of a transfer. If standard error is a terminal, draws the bar there a few times a second.
class Progress {
 public:
  Progress();
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Adds to the total; a total of 0 means that it is unknown.
  void expect(std::uint64_t bytes) noexcept { total_ += bytes; }
  void moved(std::uint64_t bytes) noexcept;
  /// Subtracts from the total the bytes that an earlier transfer copied; the summary gives them separately.
  void keep(std::uint64_t bytes) noexcept {
    kept_ += bytes;
    total_ -= bytes;
  }
  void file_done() noexcept;
  /// If the bar is drawn, draws its final state and ends the line.
  void finish() noexcept;
  /// Erases the bar, so that a message can be printed in its place.
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
