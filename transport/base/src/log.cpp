// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <string>

#include "rpcrdma/base/log_format.hpp"

namespace rpcrdma {
namespace {

constexpr std::array<std::string_view, 6> kNames{"trace", "debug", "info", "warn", "error", "off"};

spdlog::level::level_enum to_spdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::off;
}

class StderrSink final : public LogSink {
 public:
  StderrSink(LogLevel level, std::string_view program, LogFormat format)
      : json_(format == LogFormat::json),
        logger_(json_ ? json_escaped(program) : std::string(program),
                std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(to_spdlog(level));
    logger_.flush_on(spdlog::level::trace);
    logger_.set_pattern(json_
                            ? R"({"time":"%Y-%m-%dT%H:%M:%S.%f%z","level":"%l","program":"%n","pid":%P,"message":"%v"})"
                            : "%Y-%m-%dT%H:%M:%S.%f %n[%P] %l: %v");
  }
  bool enabled(LogLevel level) const noexcept override { return logger_.should_log(to_spdlog(level)); }
  void write(LogLevel level, std::string_view line) noexcept override {
    if (!json_) return logger_.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
    const std::string escaped = json_escaped(line);
    logger_.log(to_spdlog(level), spdlog::string_view_t(escaped.data(), escaped.size()));
  }

 private:
  const bool json_;
  spdlog::logger logger_;
};

}  // namespace

std::shared_ptr<LogSink> make_stderr_sink(LogLevel level, std::string_view program) {
  return make_stderr_sink(level, program, LogFormat::text);
}

std::shared_ptr<LogSink> make_stderr_sink(LogLevel level, std::string_view program, LogFormat format) {
  return std::make_shared<StderrSink>(level, program, format);
}

bool parse_log_format(std::string_view text, LogFormat& format) noexcept {
  if (text != "text" && text != "json") return false;
  format = text == "json" ? LogFormat::json : LogFormat::text;
  return true;
}

bool parse_log_level(std::string_view text, LogLevel& level) noexcept {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) {
      level = static_cast<LogLevel>(i);
      return true;
    }
  }
  return false;
}

}  // namespace rpcrdma
