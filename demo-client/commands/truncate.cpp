// SPDX-License-Identifier: BSD-3-Clause
#include "commands/context.hpp"

namespace rpcrdma::commands {

boost::asio::awaitable<void> run_truncate(Context& context) {
  const std::string subject = context.options.url.text();
  const Result<nfs::Node> node = co_await context.paths.resolve(context.options.url.path, true);
  if (!node) co_return context.report.fail(subject, node.error());
  if (node->attributes.type == nfs::FileType::directory) co_return context.report.fail(subject, nfs::Status::isdir);
  const Result<void> changed =
      co_await context.client.setattr(node->handle, nfs::SetAttributes{.size = context.options.size});
  if (!changed) context.report.fail(subject, changed.error());
}

}  // namespace rpcrdma::commands
