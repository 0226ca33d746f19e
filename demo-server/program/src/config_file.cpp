// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/program/config_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "config_reader.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/nfsd/program/options.hpp"

namespace rpcrdma::nfsd {
namespace {

Checked<void> check_listen(const std::string& text) {
  const auto listen = parse_listen(text, fabric::Provider::automatic);
  if (!listen) return listen.error();
  return {};
}

Checked<void> check_tcp_listen(const std::string& text) {
  if (!parse_endpoint(text)) return Refusal{"not ADDR:PORT: '" + text + "'"};
  return {};
}

bool take_word(ConfigReader& reader, std::string_view key, const toml::node& node, std::optional<std::string>& out,
               bool (*good)(const std::string&)) {
  if (!reader.take(key, node, out.emplace())) return false;
  return good(*out) || reader.fail(node.source(), fmt::format("{}: not a valid value: '{}'", key, *out));
}

bool is_fabric(const std::string& word) {
  fabric::Provider provider{};
  return fabric::parse_provider(word, provider);
}
bool is_crc(const std::string& word) { return word == "on" || word == "off"; }
bool is_version(const std::string& word) { return transport::parse_version(word).has_value(); }
bool is_level(const std::string& word) {
  LogLevel level{};
  return parse_log_level(word, level);
}
bool is_format(const std::string& word) {
  LogFormat format{};
  return parse_log_format(word, format);
}
bool is_sandbox(const std::string& word) { return parse_sandbox_mode(word).has_value(); }
bool is_polling(const std::string& word) { return parse_polling(word).has_value(); }
bool is_metrics(const std::string& word) { return parse_metrics(word).has_value(); }
bool is_path(const std::string& word) { return word.front() == '/'; }

bool take_exports(ConfigReader& reader, const toml::node& node, std::vector<ExportSpec>& out) {
  const toml::array* list = node.as_array();
  if (list == nullptr || !list->is_array_of_tables())
    return reader.fail(node.source(), "export: not an array of tables: begin each export with a line [[export]]");
  for (const toml::node& item : *list)
    if (!read_export(reader, *item.as_table(), out.emplace_back())) return false;
  return true;
}

bool take_key(ConfigReader& reader, const toml::key& key, const toml::node& node, ConfigFile& out) {
  Settings& s = out.settings;
  const std::string_view k = key.str();
  if (k == "export") return take_exports(reader, node, out.exports);
  if (k == "listen") return reader.take(k, node, s.listens, check_listen);
  if (k == "tcp-listen") return reader.take(k, node, s.tcp_listens, check_tcp_listen);
  if (k == "fabric") return take_word(reader, k, node, s.fabric, is_fabric);
  if (k == "crc") return take_word(reader, k, node, s.crc, is_crc);
  if (k == "rdma-version") return take_word(reader, k, node, s.rdma_version, is_version);
  if (k == "metrics") return take_word(reader, k, node, s.metrics, is_metrics);
  if (k == "log-level") return take_word(reader, k, node, s.log_level, is_level);
  if (k == "log-format") return take_word(reader, k, node, s.log_format, is_format);
  if (k == "state-dir") return take_word(reader, k, node, s.state_dir, is_path);
  if (k == "sandbox") return take_word(reader, k, node, s.sandbox, is_sandbox);
  if (k == "threads") return reader.take(k, node, kThreadsRange, s.threads.emplace());
  if (k == "credits") return reader.take(k, node, kCreditsRange, s.credits.emplace());
  if (k == "inline-threshold") return reader.take(k, node, kInlineThresholdRange, s.inline_threshold.emplace());
  if (k == "max-connections") return reader.take(k, node, kMaxConnectionsRange, s.max_connections.emplace());
  if (k == "keepalive") return reader.take(k, node, kKeepaliveRange, s.keepalive.emplace());
  if (k == "poll") return take_word(reader, k, node, s.poll, is_polling);
  if (k == "rpcbind") return reader.take(k, node, s.rpcbind.emplace());
  return reader.fail(key.source(), fmt::format("unknown key '{}'", k));
}

Result<std::string> read_whole(const std::filesystem::path& file) {
  const auto last_error = [] { return error_code(errno, boost::system::system_category()); };
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return last_error();
  std::string content;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0) return last_error();
    if (got == 0) return content;
    content.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Checked<ConfigFile> parse_config(std::string_view content, const std::string& name) {
  ConfigReader reader(name);
  const toml::parse_result parsed = toml::parse(content, name);
  ConfigFile read;
  if (!parsed) {
    reader.fail(parsed.error().source(), parsed.error().description());
  } else {
    for (const auto& [key, node] : parsed.table())
      if (!take_key(reader, key, node, read)) break;
  }
  if (!reader.good()) return reader.refusal();
  return read;
}

Checked<ConfigFile> read_config(const std::filesystem::path& file) {
  const auto content = read_whole(file);
  if (!content) return Refusal{fmt::format("{}: {}", file.string(), content.error().message())};
  return parse_config(*content, file.string());
}

}  // namespace rpcrdma::nfsd
