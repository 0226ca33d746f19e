// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>
#include <limits>

#include "rpcrdma/nfsd/exports/export_spec.hpp"

namespace rpcrdma::nfsd {
namespace {

bool parse_id(std::string_view text, std::uint32_t& out) noexcept {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc() && end == text.data() + text.size();
}

/// Sets an option without a value; returns false if `word` is not the name of such an option.
bool set_flag(std::string_view word, ExportSpec& out) noexcept {
  using Mode = SquashPolicy::Mode;
  if (word == "ro" || word == "rw")
    out.read_only = word == "ro";
  else if (word == "sync" || word == "async")
    out.sync = word == "sync";
  else if (word == "secure" || word == "insecure")
    out.reserved_ports = word == "secure";
  else if (word == "devices" || word == "nodevices")
    out.devices = word == "devices";
  else if (word == "root_squash")
    out.squash.mode = Mode::root;
  else if (word == "all_squash")
    out.squash.mode = Mode::all;
  else if (word == "no_root_squash")
    out.squash.mode = Mode::none;
  else
    return false;
  return true;
}

Refusal refuse(std::string_view what, std::string_view text) {
  return {std::string(what) + ": '" + std::string(text) + "'"};
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t size = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (failed != std::errc() || size == 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty()) return size;
  const std::size_t which = kUnits.find(unit.front());
  if (unit.size() != 1 || which == kUnits.npos) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (which + 1));
  if (size > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return size << shift;
}

Checked<void> set_export_option(std::string_view word, ExportSpec& spec) {
  if (set_flag(word, spec)) return {};
  const std::size_t equals = word.find('=');
  const std::string_view value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
  const std::string_view key = value.empty() ? std::string_view() : word.substr(0, equals);
  if (key == "allow") {
    const auto range = Cidr::parse(value);
    if (!range) return refuse("not an address range", value);
    spec.allow.push_back(*range);
  } else if (key == "anonuid" || key == "anongid") {
    if (!parse_id(value, key == "anonuid" ? spec.squash.anonymous_uid : spec.squash.anonymous_gid))
      return refuse("not a number of a user or group", value);
  } else if (key == "size") {
    const auto size = parse_size(value);
    if (!size) return refuse("not a size", value);
    spec.size = *size;
  } else {
    return refuse("unknown export option", word);
  }
  return {};
}

}  // namespace rpcrdma::nfsd
