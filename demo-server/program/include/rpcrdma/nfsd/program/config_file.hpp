// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The configuration file of rpcrdma-nfsd: TOML, with the keys of docs/exports.md and no others.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rpcrdma/nfsd/exports/export_spec.hpp"

namespace rpcrdma::nfsd {

/// What a file says beside its exports, in the words of the command line, checked already. What it does not say is
/// empty.
struct Settings {
  std::vector<std::string> listens;
  std::vector<std::string> tcp_listens;
  std::optional<std::string> fabric;
  std::optional<std::string> crc;
  std::optional<std::string> log_level;
  std::optional<std::string> state_dir;
  std::optional<std::uint32_t> threads;
  std::optional<std::uint32_t> credits;
  std::optional<std::uint32_t> inline_threshold;
  std::optional<std::uint32_t> max_connections;
  std::optional<std::uint32_t> keepalive;
  std::optional<bool> rpcbind;

  friend bool operator==(const Settings&, const Settings&) = default;
};

struct ConfigFile {
  Settings settings;
  std::vector<ExportSpec> exports;
};

/// Reads and checks the whole file. False, `FILE:LINE: what is wrong there` in `why` and `out` untouched if it cannot
/// be read, is no TOML, or has a key or value that means nothing here.
bool read_config(const std::filesystem::path& file, ConfigFile& out, std::string& why);

}  // namespace rpcrdma::nfsd
