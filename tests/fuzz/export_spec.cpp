// SPDX-License-Identifier: BSD-3-Clause
// If the input is a valid argument of --export, its canonical form parses to the same export.
#include "rpcrdma/nfsd/exports/export_spec.hpp"

#include "input.hpp"

namespace {

using namespace rpcrdma::nfsd;
using rpcrdma::fuzz::require;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ',' || c == ':' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string text_of(const ExportSpec& spec) {
  constexpr const char* kModes[] = {",root_squash", ",all_squash", ",no_root_squash"};
  std::string out = spec.memory ? "memory" : escaped(spec.directory);
  // "memory:NAME" would be the memory export, so the directory "memory" needs an escape.
  if (!spec.memory && spec.directory == "memory") out.insert(0, "\\");
  out += ":" + escaped(spec.name);
  out += spec.read_only ? ",ro" : ",rw";
  out += spec.sync ? ",sync" : ",async";
  out += spec.devices ? ",devices" : ",nodevices";
  out += spec.reserved_ports ? ",secure" : ",insecure";
  out += kModes[static_cast<std::size_t>(spec.squash.mode)];
  out += ",anonuid=" + std::to_string(spec.squash.anonymous_uid);
  out += ",anongid=" + std::to_string(spec.squash.anonymous_gid);
  if (spec.size != 0) out += ",size=" + std::to_string(spec.size);
  for (const Cidr& range : spec.allow) out += ",allow=" + escaped(range.text());
  return out;
}

void check(const ExportSpec& a, const ExportSpec& b) {
  require(a.memory == b.memory && a.directory == b.directory && a.name == b.name && a.size == b.size);
  require(a.read_only == b.read_only && a.sync == b.sync && a.devices == b.devices);
  require(a.reserved_ports == b.reserved_ports && a.squash == b.squash && a.allow.size() == b.allow.size());
  for (std::size_t i = 0; i < a.allow.size(); ++i) require(a.allow[i].text() == b.allow[i].text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = parse_export(rpcrdma::fuzz::text_of(data, size));
  if (!spec) {
    require(!spec.error().text.empty());
    return 0;
  }
  require(spec->memory == spec->directory.empty() && spec->name.starts_with('/'));
  require(spec->name.size() <= 1024 && (spec->name == "/" || !spec->name.ends_with('/')));
  for (const Cidr& range : spec->allow) require(Cidr::parse(range.text()).has_value());
  const auto again = parse_export(text_of(*spec));
  require(again.has_value());
  check(*spec, *again);
  return 0;
}
