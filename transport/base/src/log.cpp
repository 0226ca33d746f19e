// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "rpcrdma/base/host_path.hpp"
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

/// The members of a JSON line that name its subject, each followed by a comma.
std::string json_members(const LogSubject& subject) {
  std::string out;
  if (subject.connection != 0) out += fmt::format(R"("connection":{},)", subject.connection);
  if (!subject.fabric.empty()) out += fmt::format(R"("fabric":"{}",)", json_escaped(subject.fabric));
  if (subject.peer.port() != 0) out += fmt::format(R"("peer":"{}",)", json_escaped(text_of(subject.peer)));
  if (subject.xid) out += fmt::format(R"("xid":"{}",)", xid_text(*subject.xid));
  return out;
}

class StderrSink final : public LogSink {
 public:
  StderrSink(LogLevel level, std::string_view program, LogFormat format)
      : json_(format == LogFormat::json),
        logger_(json_ ? json_escaped(program) : std::string(program),
                std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(to_spdlog(level));
    logger_.flush_on(spdlog::level::trace);
    logger_.set_pattern(json_ ? R"({"time":"%Y-%m-%dT%H:%M:%S.%f%z","level":"%l","program":"%n","pid":%P,%v})"
                              : "%Y-%m-%dT%H:%M:%S.%f %n[%P] %l: %v");
  }
  bool enabled(LogLevel level) const noexcept override { return logger_.should_log(to_spdlog(level)); }
  void write(LogLevel level, std::string_view line) noexcept override {
    if (json_) return write_about(level, {}, line);
    logger_.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }
  void write_about(LogLevel level, const LogSubject& subject, std::string_view line) noexcept override {
    if (!json_) return LogSink::write_about(level, subject, line);
    const std::string members = fmt::format(R"({}"message":"{}")", json_members(subject), json_escaped(line));
    logger_.log(to_spdlog(level), spdlog::string_view_t(members.data(), members.size()));
  }

 private:
  const bool json_;
  spdlog::logger logger_;
};

/// Spreads the addresses of an IPv6 /64 prefix over half of the groups. One host may have all these addresses, so it
/// must not reach all groups. Many hosts may share the prefix, so they must not share one group. An IPv4-mapped address
/// belongs to the group of the IPv4 address.
std::size_t group_of(const boost::asio::ip::address& peer) noexcept {
  using namespace boost::asio::ip;
  if (const address plain = unmapped(peer); plain.is_v4()) return std::hash<address_v4>{}(plain.to_v4());
  constexpr std::size_t kHalf = LogLimit::kGroups / 2;
  address_v6::bytes_type prefix = peer.to_v6().to_bytes();
  std::fill(prefix.begin() + prefix.size() / 2, prefix.end(), 0);
  const std::hash<address_v6> hash;
  return hash(address_v6(prefix)) % 2 * kHalf + hash(peer.to_v6()) % kHalf;
}

}  // namespace

void LogSink::write_about(LogLevel level, const LogSubject& subject, std::string_view line) noexcept {
  const std::string about = text_of(subject);
  if (about.empty()) return write(level, line);
  write(level, fmt::format("{}: {}", about, line));
}

void LogAbout::write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
  std::optional<std::uint64_t> left_out = 0;
  // Lines below info are not limited, and so do not use up the limit of the other lines.
  if (limit_ != nullptr && level >= LogLevel::info)
    left_out = limit_->admit(LogLimit::Clock::now(), group_of(subject_.peer.address()));
  if (!left_out) return;
  std::string line = fmt::vformat(format, args);
  if (*left_out != 0) line += fmt::format(" ({} similar lines were left out before)", *left_out);
  sink_->write_about(level, subject_, line);
}

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
