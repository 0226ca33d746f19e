// SPDX-License-Identifier: BSD-3-Clause
#include "commands/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace rpcrdma::commands {
namespace {

std::size_t terminal_width() noexcept {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

void write_terminal(std::string_view text) noexcept {
  // Failing to draw the progress bar is not an error.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string progress_line(std::uint64_t done, std::uint64_t total, std::uint64_t files, double seconds,
                          std::size_t width) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string facts =
      fmt::format("{}  {}/s  {:.0f} s", bytes_text(static_cast<double>(done)), bytes_text(rate), seconds);
  if (files > 1) facts = fmt::format("{} files  {}", files, facts);
  if (total == 0) return facts.substr(0, width);
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string percent = fmt::format("{:3.0f}% ", part * 100);
  const std::size_t taken = percent.size() + facts.size() + 4;
  if (width < taken + 8) return (percent + facts).substr(0, width);
  const std::size_t room = std::min<std::size_t>(width - taken, 40);
  const auto full = static_cast<std::size_t>(part * static_cast<double>(room));
  return fmt::format("{}[{}{}]  {}", percent, std::string(full, '#'), std::string(room - full, ' '), facts);
}

std::string summary_line(std::uint64_t files, std::uint64_t moved, std::uint64_t kept, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(moved) / seconds / 1e6 : 0;
  std::string text = fmt::format("{} files, {} bytes, {:.1f} MB/s", files, moved, rate);
  if (kept > 0) text += fmt::format("; {} bytes were there already", kept);
  return text + '\n';
}

double Progress::elapsed() const noexcept { return std::chrono::duration<double>(Clock::now() - started_).count(); }

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::moved(std::uint64_t bytes) noexcept {
  done_ += bytes;
  draw_sometimes();
}

void Progress::file_done() noexcept {
  ++files_;
  draw_sometimes();
}

void Progress::draw_sometimes() noexcept {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(150);
  draw();
}

void Progress::draw() noexcept {
  write_terminal("\r\x1b[K" + progress_line(done_, total_, files_, elapsed(), terminal_width() - 1));
  drawn_ = true;
}

void Progress::clear() noexcept {
  if (drawn_) write_terminal("\r\x1b[K");
  drawn_ = false;
}

void Progress::finish() noexcept {
  if (!terminal_ || !drawn_) return;
  draw();
  write_terminal("\n");
  drawn_ = false;
}

}  // namespace rpcrdma::commands
