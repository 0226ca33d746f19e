// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The configuration file of rpcrdma-nfsd: TOML, with exactly the keys that docs/exports.md lists.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/nfsd/exports/export_spec.hpp"

namespace rpcrdma::nfsd {

/// The settings of a configuration file, except its exports. The values have been checked. A text has the form in which
/// the command line accepts it. A member is empty if the file does not have the setting.
struct Settings {
  std::vector<std::string> listens;
  std::vector<std::string> tcp_listens;
  std::optional<std::string> fabric;
  std::optional<std::string> crc;
  std::optional<std::string> rdma_version;
  std::optional<std::string> log_level;
  std::optional<std::string> log_format;
  std::optional<std::string> state_dir;
  std::optional<std::string> sandbox;
  std::optional<std::uint32_t> threads;
  std::optional<std::uint32_t> credits;
  std::optional<std::uint32_t> inline_threshold;
  std::optional<std::uint32_t> max_connections;
  std::optional<std::uint32_t> keepalive;
  std::optional<std::string> poll;
  std::optional<bool> rpcbind;
  std::optional<std::string> metrics;

  friend bool operator==(const Settings&, const Settings&) = default;
};

struct ConfigFile {
  Settings settings;
  std::vector<ExportSpec> exports;
};

/// Reads and checks the whole file. The text of the refusal is `FILE: REASON` if the file cannot be read, and
/// `FILE:LINE: REASON` if its content is wrong.
Checked<ConfigFile> read_config(const std::filesystem::path& file);

/// As read_config(), for the content of a file; `name` is FILE in the refusal.
Checked<ConfigFile> parse_config(std::string_view content, const std::string& name);

}  // namespace rpcrdma::nfsd
