// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/export_spec.hpp"

#include <filesystem>

namespace rpcrdma::nfsd {
namespace {

constexpr std::size_t kMaxExportName = 1024;  // MNTPATHLEN
constexpr std::string_view kMemory = "memory";

/// Up to the first separator without a backslash in front; backslashes go. Moves `text` behind the part, to the
/// separator.
std::string take_until(std::string_view& text, std::string_view separators) {
  std::string part;
  while (!text.empty() && separators.find(text.front()) == separators.npos) {
    if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
    part.push_back(text.front());
    text.remove_prefix(1);
  }
  return part;
}

bool parse_name(std::string_view& text, std::string& name, std::string& why) {
  name = take_until(text, ",");
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  if (name.empty() || name.front() != '/') why = "the name of an export begins with '/': '" + name + "'";
  if (name.size() > kMaxExportName) why = "the name of the export is too long";
  return why.empty();
}

bool parse_option(std::string_view option, ExportSpec& out, std::string& why) {
  constexpr std::string_view kAllow = "allow=";
  if (option == "ro") {
    out.read_only = true;
    return true;
  }
  if (option.starts_with(kAllow)) {
    const auto range = Cidr::parse(option.substr(kAllow.size()));
    if (range) out.allow.push_back(*range);
    if (!range) why = "not an address range: '" + std::string(option.substr(kAllow.size())) + "'";
    return range.has_value();
  }
  why = "unknown export option '" + std::string(option) + "'";
  return false;
}

std::string default_name(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(directory, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return "/" + path.filename().string();
}

}  // namespace

bool parse_export(std::string_view text, ExportSpec& out, std::string& why) {
  out = {};
  why.clear();
  const bool escaped = text.find('\\') < text.find(':');
  std::string first = take_until(text, ",:");
  const bool named = text.starts_with(':');
  if (first.empty()) {
    why = "no directory";
    return false;
  }
  if (named) {
    text.remove_prefix(1);
    if (!parse_name(text, out.name, why)) return false;
  }
  out.memory = named && first == kMemory && !escaped;
  if (!out.memory) out.directory = std::move(first);
  if (!named) out.name = default_name(out.directory);
  while (text.starts_with(',')) {
    text.remove_prefix(1);
    if (!parse_option(take_until(text, ","), out, why)) return false;
  }
  return true;
}

}  // namespace rpcrdma::nfsd
