// SPDX-License-Identifier: BSD-3-Clause
// One [[export]] of a configuration file.
#include <limits>

#include "config_reader.hpp"

namespace rpcrdma::nfsd {
namespace {

/// -1 is how others write "no such user"; here it has to be said as a number.
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
    return reader.fail(node.source(), R"(squash: "root", "all" or "none" is wanted)");
  return true;
}

bool take_size(ConfigReader& reader, const toml::node& node, std::uint64_t& out) {
  if (const auto octets = node.value_exact<std::int64_t>(); octets && *octets > 0) {
    out = static_cast<std::uint64_t>(*octets);
    return true;
  }
  const auto text = node.value_exact<std::string>();
  if (text && parse_size(*text, out)) return true;
  return reader.fail(node.source(), R"(size: octets are wanted, as a number or as "512M")");
}

bool take_directory(ConfigReader& reader, const toml::node& node, std::string& out) {
  if (!reader.take("directory", node, out)) return false;
  return out.front() == '/' || reader.fail(node.source(), "directory: a path that begins with '/' is wanted");
}

bool take_clients(ConfigReader& reader, const toml::node& node, std::vector<Cidr>& out) {
  std::vector<std::string> texts;
  return reader.take("clients", node, texts, [&out](const std::string& text, std::string& why) {
    const auto range = Cidr::parse(text);
    if (range) out.push_back(*range);
    if (!range) why = "not an address or a range of them: '" + text + "'";
    return range.has_value();
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
    return reader.fail(table.source(), "an export has a directory or is in memory, not both");
  std::string why;
  return complete_export(out, why) || reader.fail(table.source(), why);
}

}  // namespace rpcrdma::nfsd
