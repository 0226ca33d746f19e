// SPDX-License-Identifier: BSD-3-Clause
// If the input is a valid configuration file, all its values are within their ranges and its exports are complete.
// Otherwise the message is one line, and names the file and a line of the file.
#include "input.hpp"
#include "rpcrdma/nfsd/program/config_file.hpp"
#include "rpcrdma/nfsd/program/limits.hpp"
#include "rpcrdma/nfsd/program/options.hpp"

namespace {

using namespace rpcrdma::nfsd;
using rpcrdma::fuzz::require;

void within(const std::optional<std::uint32_t>& value, const NumberRange& range) {
  if (value) require(*value >= range.least && *value <= range.most && *value % range.unit == 0);
}

void check(const Settings& s) {
  within(s.threads, kThreadsRange);
  within(s.credits, kCreditsRange);
  within(s.inline_threshold, kInlineThresholdRange);
  within(s.max_connections, kMaxConnectionsRange);
  within(s.keepalive, kKeepaliveRange);
  for (const std::string& text : s.listens)
    require(parse_listen(text, rpcrdma::fabric::Provider::automatic).has_value());
  for (const std::string& text : s.tcp_listens) require(parse_endpoint(text).has_value());
  if (s.state_dir) require(s.state_dir->starts_with('/') && s.state_dir->find('\0') == std::string::npos);
}

void check(const ExportSpec& spec) {
  require(spec.memory == spec.directory.empty() && spec.name.starts_with('/'));
  require(spec.memory || spec.directory.starts_with('/'));
  require(spec.memory || spec.size == 0);
  require(spec.origin.starts_with("file.toml:"));
  for (const Cidr& range : spec.allow) require(Cidr::parse(range.text()).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = parse_config(rpcrdma::fuzz::text_of(data, size), "file.toml");
  if (!config) {
    const std::string& why = config.error().text;
    require(why.starts_with("file.toml:") && why.find('\n') == std::string::npos);
    return 0;
  }
  check(config->settings);
  for (const ExportSpec& spec : config->exports) check(spec);
  return 0;
}
