// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/export_spec.hpp"

#include <filesystem>

namespace rpcrdma::nfsd {
namespace {

constexpr std::size_t kMaxExportName = 1024;  // MNTPATHLEN
constexpr std::string_view kMemory = "memory";

/// Removes from `text` the part before the first separator that no backslash escapes. Returns this part without the
/// escaping backslashes.
std::string take_until(std::string_view& text, std::string_view separators) {
  std::string part;
  while (!text.empty() && separators.find(text.front()) == separators.npos) {
    if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
    part.push_back(text.front());
    text.remove_prefix(1);
  }
  return part;
}

std::string default_name(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(directory, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return "/" + path.filename().string();
}

Refusal bad_name(const std::string& name) { return {"the name of an export must begin with '/': '" + name + "'"}; }

}  // namespace

bool ExportPolicy::allows(const boost::asio::ip::address& peer) const noexcept {
  if (allow.empty()) return true;
  for (const Cidr& range : allow)
    if (range.contains(peer)) return true;
  return false;
}

Checked<void> complete_export(ExportSpec& spec) {
  if (!spec.memory && spec.directory.empty()) return Refusal{"no directory"};
  if (!spec.memory && spec.size != 0) return Refusal{"only a memory export has a size"};
  std::string& name = spec.name;
  if (name.empty() && !spec.memory) name = default_name(spec.directory);
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  if (name.empty() || name.front() != '/') return bad_name(name);
  if (name.size() > kMaxExportName) return Refusal{"the name of the export is too long"};
  return {};
}

Checked<ExportSpec> parse_export(std::string_view text) {
  ExportSpec spec;
  spec.origin = "--export";
  const bool escaped = text.find('\\') < text.find(':');
  std::string first = take_until(text, ",:");
  if (first.empty()) return Refusal{"no directory"};
  const bool named = text.starts_with(':');
  if (named) {
    text.remove_prefix(1);
    spec.name = take_until(text, ",");
    if (spec.name.empty()) return bad_name(spec.name);
  }
  spec.memory = named && first == kMemory && !escaped;
  if (!spec.memory) spec.directory = std::move(first);
  while (text.starts_with(',')) {
    text.remove_prefix(1);
    if (auto set = set_export_option(take_until(text, ","), spec); !set) return set.error();
  }
  if (auto complete = complete_export(spec); !complete) return complete.error();
  return spec;
}

}  // namespace rpcrdma::nfsd
