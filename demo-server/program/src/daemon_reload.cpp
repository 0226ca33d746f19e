// SPDX-License-Identifier: BSD-3-Clause
// SIGHUP: the configuration file is read again on the main thread, as opening directories may block. All of its exports
// take effect at once, or none: the event loops go on with the old ones meanwhile, and calls under way end on those
// that they began on.
#include <boost/asio/post.hpp>

#include "rpcrdma/nfsd/program/daemon.hpp"

namespace rpcrdma::nfsd {

void Daemon::reload() {
  ConfigFile file;
  std::string why;
  std::vector<ExportSpec> specs(options_.exports.begin(),
                                options_.exports.begin() + static_cast<std::ptrdiff_t>(options_.command_line_exports));
  bool good = read_config(options_.config, file, why);
  if (good) {
    specs.insert(specs.end(), file.exports.begin(), file.exports.end());
    good = exports_.replace(specs, options_.state_dir, log_, why);
  }
  if (!good) {
    log_.error("the configuration stays as it was: {}", why);
    return;
  }
  options_.exports = std::move(specs);
  log_.info("{}: {} exports", options_.config.string(), options_.exports.size());
  if (file.settings != options_.settings)
    log_.warn("{}: changes outside of [[export]] take effect at the next start", options_.config.string());
  // Loops without calls would keep open what is not served any more.
  for (const auto& group : groups_)
    for (const auto& lane : group->lanes) boost::asio::post(lane->context(), [&lane = *lane] { lane.refresh(); });
}

}  // namespace rpcrdma::nfsd
