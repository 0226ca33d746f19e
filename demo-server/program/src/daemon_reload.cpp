// SPDX-License-Identifier: BSD-3-Clause
// Handles SIGHUP: the main thread reads the configuration file again, as opening directories may block. Either all of
// its exports take effect at once, or none. The event loops use the old exports meanwhile, and a call keeps the export
// with which it began.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "rpcrdma/nfsd/program/daemon.hpp"

namespace rpcrdma::nfsd {

void Daemon::reload() {
  manager_.reloading();
  const auto reread = reread_exports();
  if (!reread) log_.error("configuration unchanged: {}", reread.error().text);
  manager_.ready(reread ? ready_line() : "configuration unchanged: " + reread.error().text);
}

Checked<void> Daemon::reread_exports() {
  if (options_.sandbox == SandboxMode::strict)
    return Refusal{"the exports of a server with --sandbox strict are fixed: restart it"};
  std::vector<ExportSpec> specs(options_.exports.begin(),
                                options_.exports.begin() + static_cast<std::ptrdiff_t>(options_.command_line_exports));
  const auto file = read_config(options_.config);
  if (!file) return file.error();
  specs.insert(specs.end(), file->exports.begin(), file->exports.end());
  if (auto possible = check_within_sandbox(specs); !possible) return possible;
  if (const auto replaced = exports_.replace(specs, options_.state_dir, log_); !replaced) return replaced;
  options_.exports = std::move(specs);
  log_.info("{}: read again: now serving {} exports, those of the command line included", options_.config.string(),
            options_.exports.size());
  if (file->settings != options_.settings)
    log_.warn("{}: the changed settings outside of [[export]] take effect after a restart", options_.config.string());
  // Makes each worker release the exports that have been removed. A worker would otherwise keep them open until its
  // next call, which may never come.
  for (const auto& group : groups_)
    for (const auto& worker : group->workers)
      boost::asio::post(worker->context(), [&worker = *worker] { worker.refresh(); });
  return {};
}

/// Refuses exports that need a privilege that the server dropped at its start.
Checked<void> Daemon::check_within_sandbox(std::span<const ExportSpec> specs) const {
  const auto makes_devices = [](const ExportSpec& spec) { return !spec.memory && spec.devices; };
  const auto found = std::ranges::find_if(specs, makes_devices);
  if (options_.sandbox == SandboxMode::off || may_make_devices_ || found == specs.end()) return {};
  return Refusal{
      fmt::format("{}: {}: the server has given up the right to make devices: restart it", found->origin, found->name)};
}

}  // namespace rpcrdma::nfsd
