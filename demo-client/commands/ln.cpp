// SPDX-License-Identifier: BSD-3-Clause
#include "commands/context.hpp"

namespace rpcrdma::commands {

boost::asio::awaitable<void> run_ln(Context& context) {
  const Options& options = context.options;
  const std::string subject = options.url.text();
  const Result<nfs::Place> place = co_await context.paths.resolve_parent(options.url.path);
  if (!place) co_return context.report.fail(subject, place.error());
  Result<void> made;
  if (options.symbolic) {
    made = co_await context.client.symlink(place->directory, place->name, options.local);
  } else {
    if (!options.url.same_server(options.target)) co_return context.report.fail(subject, nfs::Status::xdev);
    const Result<nfs::Node> file = co_await context.paths.resolve(options.target.path, false);
    if (!file) co_return context.report.fail(options.target.text(), file.error());
    made = co_await context.client.link(file->handle, place->directory, place->name);
  }
  if (!made) context.report.fail(subject, made.error());
}

}  // namespace rpcrdma::commands
