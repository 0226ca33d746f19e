// SPDX-License-Identifier: BSD-3-Clause
#include "commands/context.hpp"

namespace rpcrdma::commands {

boost::asio::awaitable<void> run_mv(Context& context) {
  const nfs::Url& from = context.options.url;
  const nfs::Url& to = context.options.target;
  if (!from.same_server(to)) co_return context.report.fail(to.text(), nfs::Status::xdev);
  const Result<nfs::Place> source = co_await context.paths.resolve_parent(from.path);
  if (!source) co_return context.report.fail(from.text(), source.error());
  Result<nfs::Place> target = nfs::Place{};
  const Result<nfs::Node> there = co_await context.paths.resolve(to.path, true);
  if (there && there->attributes.type == nfs::FileType::directory) {
    *target = {there->handle, source->name};
  } else {
    target = co_await context.paths.resolve_parent(to.path);
  }
  if (!target) co_return context.report.fail(to.text(), target.error());
  const Result<void> moved =
      co_await context.client.rename(source->directory, source->name, target->directory, target->name);
  if (!moved) context.report.fail(from.text(), moved.error());
}

}  // namespace rpcrdma::commands
