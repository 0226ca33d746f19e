// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/open/open.hpp"

#include <utility>

#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "verbs_plugin.hpp"

namespace rpcrdma::fabric {
namespace {

using boost::asio::ip::address;

constexpr std::pair<std::string_view, Provider> kProviders[] = {
    {"auto", Provider::automatic}, {"verbs", Provider::verbs}, {"iwarp", Provider::iwarp}};

Result<std::unique_ptr<Fabric>> open_iwarp_with(boost::asio::io_context& context, const address& at,
                                                const OpenOptions& wanted, Log log) {
  IwarpOptions options;
  if (wanted.crc != CrcPolicy::automatic) options.crc = wanted.crc == CrcPolicy::on;
  options.keepalive = wanted.keepalive;
  if (wanted.from_there && !at.is_unspecified()) options.source = at;
  return open_iwarp(context, options, std::move(log));
}

Result<std::unique_ptr<Fabric>> open_verbs_with(const VerbsPlugin& plugin, boost::asio::io_context& context,
                                                const address& at, const OpenOptions& wanted, Log log) {
  VerbsOptions options;
  options.towards = wanted.towards;
  options.keepalive = wanted.keepalive;
  return plugin.open(context, at, options, std::move(log));
}

Result<std::unique_ptr<Fabric>> open_provider(boost::asio::io_context& context, const address& at,
                                              const OpenOptions& options, Log log) {
  if (options.provider == Provider::iwarp) return open_iwarp_with(context, at, options, std::move(log));
  const bool automatic = options.provider == Provider::automatic;
  // The verbs provider refuses wildcard and loopback addresses, so the automatic choice does not load its plug-in.
  if (automatic && (at.is_unspecified() || at.is_loopback()))
    return open_iwarp_with(context, at, options, std::move(log));
  const auto plugin = load_verbs_plugin(log);
  if (plugin && (!automatic || (*plugin)->device_at(at)))
    return open_verbs_with(**plugin, context, at, options, std::move(log));
  if (!automatic) return plugin.error();
  return open_iwarp_with(context, at, options, std::move(log));
}

}  // namespace

std::vector<std::string> provider_names() {
  std::vector<std::string> names;
  for (const auto& [name, provider] : kProviders) names.emplace_back(name);
  return names;
}

bool parse_provider(std::string_view text, Provider& provider) noexcept {
  for (const auto& [name, named] : kProviders) {
    if (text != name) continue;
    provider = named;
    return true;
  }
  return false;
}

Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context, const address& at, const OpenOptions& options,
                                     Log log) {
  auto opened = open_provider(context, at, options, std::move(log));
  if (opened && options.tap != nullptr) return options.tap->wrap(std::move(*opened));
  return opened;
}

}  // namespace rpcrdma::fabric
