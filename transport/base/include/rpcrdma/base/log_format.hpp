// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "rpcrdma/base/log.hpp"

namespace rpcrdma {

/// The form of log lines.
enum class LogFormat {
  text,  ///< time, program, process, level, subject (LogSubject) and message
  /// One JSON object (RFC 8259) per line, with the members time, level, program, pid and message. A line about a
  /// connection or a call also has the members connection, fabric, peer and xid. A member whose value is unknown is
  /// absent.
  json,
};

/// A sink that writes to standard error through spdlog, from `level` upwards, in the form `format`.
RPCRDMA_EXPORT std::shared_ptr<LogSink> make_stderr_sink(LogLevel level, std::string_view program, LogFormat format);
/// Parses "text" or "json"; false for anything else.
RPCRDMA_EXPORT bool parse_log_format(std::string_view text, LogFormat& format) noexcept;

/// `text` as the inside of a JSON string: quotes, backslashes and control characters are escaped, and each byte that is
/// not UTF-8 becomes U+FFFD.
RPCRDMA_EXPORT std::string json_escaped(std::string_view text);

}  // namespace rpcrdma
