// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The library has no global logger: each object receives its Log from its creator.
#include <fmt/core.h>

#include <memory>
#include <string_view>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log_limit.hpp"
#include "rpcrdma/base/log_subject.hpp"

namespace rpcrdma {

/// Severity, ascending. `off` is for thresholds only.
enum class LogLevel { trace, debug, info, warn, error, off };

/// The destination of log lines. Called from any thread; an implementation synchronizes itself.
class RPCRDMA_EXPORT LogSink {
 public:
  virtual ~LogSink() = default;
  /// Whether lines of this level are written; other lines are not even formatted. May be called on any thread.
  virtual bool enabled(LogLevel level) const noexcept = 0;
  /// Writes one line. `line` has no newline and is valid during the call. May be called on any thread.
  virtual void write(LogLevel level, std::string_view line) noexcept = 0;
  /// Writes one line about a connection or a call. Unless overridden, it passes one text to write(): the text of
  /// `subject`, a colon and `line`; only `line` if the text of `subject` is empty. May be called on any thread.
  virtual void write_about(LogLevel level, const LogSubject& subject, std::string_view line) noexcept;
};

/// The functions that write a line, for a class `Self` that has enabled() and write().
template <class Self>
class LogLevels {
 public:
  /// Writes one line, as fmt::format() formats it.
  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::trace, format, fmt::make_format_args(args...));
  }
  /// As trace(), at level debug.
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  /// As trace(), at level info.
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::info, format, fmt::make_format_args(args...));
  }
  /// As trace(), at level warn.
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::warn, format, fmt::make_format_args(args...));
  }
  /// As trace(), at level error.
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    line(LogLevel::error, format, fmt::make_format_args(args...));
  }

 private:
  friend Self;
  LogLevels() = default;
  void line(LogLevel level, fmt::string_view format, fmt::format_args args) const {
    const auto& self = static_cast<const Self&>(*this);
    if (self.enabled(level)) self.write(level, format, args);
  }
};

/// Writes one line that has a subject or a LogLimit of its own. Functions of Log make this object. Use it at once,
/// because it refers to the sink that the Log owns. If the level is not enabled, the line is not formatted, and the
/// LogLimit does not count it.
class RPCRDMA_EXPORT LogAbout : public LogLevels<LogAbout> {
 public:
  /// Whether a line of this level would be written, if the limit admits it.
  bool enabled(LogLevel level) const noexcept { return sink_ != nullptr && sink_->enabled(level); }

 private:
  friend class Log;
  friend class LogLevels<LogAbout>;
  LogAbout(LogSink* sink, const LogSubject& subject, LogLimit* limit) noexcept
      : sink_(sink), subject_(subject), limit_(limit) {}
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  LogSink* sink_;
  LogSubject subject_;
  LogLimit* limit_;
};

/// A handle to a LogSink, with the subject of its lines. Copies are cheap. A Log without a sink drops all lines. A line
/// is formatted only if its level is enabled. A Log may be used on any thread. A line that has a LogLimit must be
/// written on the thread of this LogLimit.
class RPCRDMA_EXPORT Log : public LogLevels<Log> {
 public:
  Log() = default;
  /// A handle that shares ownership of `sink`.
  explicit Log(std::shared_ptr<LogSink> sink) : sink_(std::move(sink)) {}

  /// Whether a line of this level would be written.
  bool enabled(LogLevel level) const noexcept { return sink_ && sink_->enabled(level); }
  /// Returns a handle to the same sink whose lines are about `subject`. For an object whose lines have one subject,
  /// such as a connection.
  Log with(const LogSubject& subject) const {
    Log out(sink_);
    out.subject_ = subject;
    return out;
  }
  /// Returns an object that writes one line about `subject`. If `limit` is not null, a line of level info or above is
  /// written only if `limit` admits it.
  LogAbout about(const LogSubject& subject, LogLimit* limit = nullptr) const noexcept {
    return {sink_.get(), subject, limit};
  }
  /// The log for one line about the call `xid` on the connection of this Log.
  LogAbout call(std::uint32_t xid, LogLimit* limit = nullptr) const noexcept {
    LogSubject subject = subject_;
    subject.xid = xid;
    return {sink_.get(), subject, limit};
  }
  /// As about(), for the subject of this Log.
  LogAbout limited(LogLimit& limit) const noexcept { return {sink_.get(), subject_, &limit}; }

 private:
  friend class LogLevels<Log>;
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
    LogAbout(sink_.get(), subject_, nullptr).write(level, format, args);
  }

  std::shared_ptr<LogSink> sink_;
  LogSubject subject_;
};

/// A sink that writes to standard error through spdlog, from `level` upwards.
RPCRDMA_EXPORT std::shared_ptr<LogSink> make_stderr_sink(LogLevel level, std::string_view program);
/// Parses "trace", "debug", "info", "warn", "error" or "off"; false for anything else.
RPCRDMA_EXPORT bool parse_log_level(std::string_view text, LogLevel& level) noexcept;

}  // namespace rpcrdma
