// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/open/open.hpp"

#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#ifdef RPCRDMA_WITH_VERBS
#include "rpcrdma/fabric/verbs/verbs.hpp"
#endif

namespace rpcrdma::fabric {
namespace {

using boost::asio::ip::address;

Result<std::unique_ptr<Fabric>> open_iwarp_with(boost::asio::io_context& context, const OpenOptions& wanted, Log log) {
  IwarpOptions options;
  if (wanted.crc != CrcPolicy::automatic) options.crc = wanted.crc == CrcPolicy::on;
  options.keepalive = wanted.keepalive;
  return open_iwarp(context, options, std::move(log));
}

#ifdef RPCRDMA_WITH_VERBS
bool verbs_is_for(const address& at) noexcept { return verbs_device_at(at); }

Result<std::unique_ptr<Fabric>> open_verbs_at(boost::asio::io_context& context, const address& at,
                                              const OpenOptions& wanted, Log log) {
  VerbsOptions options;
  options.towards = wanted.towards;
  options.keepalive = wanted.keepalive;
  return open_verbs(context, at, options, std::move(log));
}
#else
bool verbs_is_for(const address&) noexcept { return false; }

Result<std::unique_ptr<Fabric>> open_verbs_at(boost::asio::io_context&, const address&, const OpenOptions&,
                                              const Log&) {
  return make_error_code(FabricError::not_built);
}
#endif

}  // namespace

bool parse_provider(std::string_view text, Provider& provider) noexcept {
  if (text == "auto")
    provider = Provider::automatic;
  else if (text == "verbs")
    provider = Provider::verbs;
  else if (text == "iwarp")
    provider = Provider::iwarp;
  else
    return false;
  return true;
}

Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context, const address& at, const OpenOptions& options,
                                     Log log) {
  const bool verbs =
      options.provider == Provider::verbs || (options.provider == Provider::automatic && verbs_is_for(at));
  return verbs ? open_verbs_at(context, at, options, std::move(log))
               : open_iwarp_with(context, options, std::move(log));
}

}  // namespace rpcrdma::fabric
