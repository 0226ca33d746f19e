// SPDX-License-Identifier: BSD-3-Clause
// Reads one [[export]] of a configuration file.
#include <limits>

#include "config_reader.hpp"

namespace rpcrdma::nfsd {
namespace {

/// The ids that a configuration may name. A negative id is refused; other servers accept -1 for "no such user".
constexpr NumberRange kIds{0, std::numeric_limits<std::uint32_t>::max()};

bool take_squash(ConfigReader& reader, const toml::node& node, SquashPolicy& out) {
  std::string word;
  if (!reader.take("squash", node, word)) return false;
  if (word == "root")
    out.mode = SquashPolicy::Mode::root;
  else if (word == "all")
    out.mode = SquashPolicy::Mode::all;
  else if (word == "none")
    out.mode = SquashPolicy::Mode::none;
  else
    return reader.fail(node.source(), R"(squash: not "root", "all" or "none")");
  return true;
}

bool take_size(ConfigReader& reader, const toml::node& node, std::uint64_t& out) {
  if (const auto bytes = node.value_exact<std::int64_t>(); bytes && *bytes > 0) {
    out = static_cast<std::uint64_t>(*bytes);
    return true;
  }
  const auto text = node.value_exact<std::string>();
  const auto size = text ? parse_size(*text) : std::nullopt;
  out = size.value_or(0);
  return size || reader.fail(node.source(), R"(size: not a number of bytes, such as 65536 or "512M")");
}

bool take_directory(ConfigReader& reader, const toml::node& node, std::string& out) {
  if (!reader.take("directory", node, out)) return false;
  return out.front() == '/' || reader.fail(node.source(), "directory: not an absolute path");
}

bool take_clients(ConfigReader& reader, const toml::node& node, std::vector<Cidr>& out) {
  std::vector<std::string> texts;
  return reader.take("clients", node, texts, [&out](const std::string& text) -> Checked<void> {
    const auto range = Cidr::parse(text);
    if (!range) return Refusal{"not an address or an address range: '" + text + "'"};
    out.push_back(*range);
    return {};
  });
}

bool take_key(ConfigReader& reader, const toml::key& key, const toml::node& node, ExportSpec& out) {
  const std::string_view k = key.str();
  if (k == "directory") return take_directory(reader, node, out.directory);
  if (k == "memory") return reader.take(k, node, out.memory);
  if (k == "name") return reader.take(k, node, out.name);
  if (k == "size") return take_size(reader, node, out.size);
  if (k == "clients") return take_clients(reader, node, out.allow);
  if (k == "read-only") return reader.take(k, node, out.read_only);
  if (k == "sync") return reader.take(k, node, out.sync);
  if (k == "devices") return reader.take(k, node, out.devices);
  if (k == "reserved-ports") return reader.take(k, node, out.reserved_ports);
  if (k == "squash") return take_squash(reader, node, out.squash);
  if (k == "anonuid") return reader.take(k, node, kIds, out.squash.anonymous_uid);
  if (k == "anongid") return reader.take(k, node, kIds, out.squash.anonymous_gid);
  return reader.fail(key.source(), fmt::format("unknown key '{}' of an export", k));
}

}  // namespace

bool read_export(ConfigReader& reader, const toml::table& table, ExportSpec& out) {
  out.origin = reader.place(table.source());
  for (const auto& [key, node] : table)
    if (!take_key(reader, key, node, out)) return false;
  if (out.memory && !out.directory.empty())
    return reader.fail(table.source(), "an export has either a directory or memory = true, not both");
  const auto complete = complete_export(out);
  return complete || reader.fail(table.source(), complete.error().text);
}

}  // namespace rpcrdma::nfsd
