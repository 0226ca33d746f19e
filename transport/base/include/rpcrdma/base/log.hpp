// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The library has no global logger: each object receives its Log from its creator.
#include <fmt/core.h>

#include <memory>
#include <string_view>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

/// Severity, ascending. `off` is for thresholds only.
enum class LogLevel { trace, debug, info, warn, error, off };

/// The destination of log lines. Called from any thread; an implementation synchronizes itself.
class RPCRDMA_EXPORT LogSink {
 public:
  virtual ~LogSink() = default;
  /// Whether lines of this level are written; other lines are not even formatted. Any thread.
  virtual bool enabled(LogLevel level) const noexcept = 0;
  /// Writes one line. `line` has no newline and is valid during the call. Any thread.
  virtual void write(LogLevel level, std::string_view line) noexcept = 0;
};

/// A cheap, copyable handle to a sink; an empty Log drops everything. Formatting happens only when the level is
/// enabled.
class Log {
 public:
  Log() = default;
  /// A handle that shares ownership of `sink`.
  explicit Log(std::shared_ptr<LogSink> sink) : sink_(std::move(sink)) {}

  /// Writes one line, as fmt::format() formats it. Any thread, like the functions below.
  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::trace, format, std::forward<Args>(args)...);
  }
  /// As trace(), at level debug.
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::debug, format, std::forward<Args>(args)...);
  }
  /// As trace(), at level info.
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::info, format, std::forward<Args>(args)...);
  }
  /// As trace(), at level warn.
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::warn, format, std::forward<Args>(args)...);
  }
  /// As trace(), at level error.
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::error, format, std::forward<Args>(args)...);
  }
  /// Whether a line of this level would be written.
  bool enabled(LogLevel level) const noexcept { return sink_ && sink_->enabled(level); }

 private:
  template <class... Args>
  void line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(level)) sink_->write(level, fmt::format(format, std::forward<Args>(args)...));
  }
  std::shared_ptr<LogSink> sink_;
};

/// A sink that writes to standard error through spdlog, from `level` upwards.
RPCRDMA_EXPORT std::shared_ptr<LogSink> make_stderr_sink(LogLevel level, std::string_view program);
/// Parses "trace", "debug", "info", "warn", "error" or "off"; false for anything else.
RPCRDMA_EXPORT bool parse_log_level(std::string_view text, LogLevel& level) noexcept;

}  // namespace rpcrdma
