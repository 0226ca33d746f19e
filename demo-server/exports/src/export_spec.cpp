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

std::string default_name(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::absolute(directory, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return "/" + path.filename().string();
}

}  // namespace

bool ExportPolicy::allows(const boost::asio::ip::address& peer) const noexcept {
  if (allow.empty()) return true;
  for (const Cidr& range : allow)
    if (range.contains(peer)) return true;
  return false;
}

bool complete_export(ExportSpec& spec, std::string& why) {
  why.clear();
  if (!spec.memory && spec.directory.empty()) why = "no directory";
  if (!spec.memory && spec.size != 0) why = "a size is for memory exports only";
  if (!why.empty()) return false;
  std::string& name = spec.name;
  if (name.empty() && !spec.memory) name = default_name(spec.directory);
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  if (name.empty() || name.front() != '/') why = "the name of an export begins with '/': '" + name + "'";
  if (name.size() > kMaxExportName) why = "the name of the export is too long";
  return why.empty();
}

bool parse_export(std::string_view text, ExportSpec& out, std::string& why) {
  out = {};
  out.origin = "--export";
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
    out.name = take_until(text, ",");
    if (out.name.empty()) {
      why = "the name of an export begins with '/': ''";
      return false;
    }
  }
  out.memory = named && first == kMemory && !escaped;
  if (!out.memory) out.directory = std::move(first);
  while (text.starts_with(',')) {
    text.remove_prefix(1);
    if (!parse_export_option(take_until(text, ","), out, why)) return false;
  }
  return complete_export(out, why);
}

}  // namespace rpcrdma::nfsd
