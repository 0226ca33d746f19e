// SPDX-License-Identifier: BSD-3-Clause
#include "commands/context.hpp"

namespace rpcrdma::commands {

boost::asio::awaitable<void> run_chmod(Context& context) {
  const std::string subject = context.options.url.text();
  const Result<nfs::Node> node = co_await context.paths.resolve(context.options.url.path, true);
  if (!node) co_return context.report.fail(subject, node.error());
  const Result<void> changed =
      co_await context.client.setattr(node->handle, nfs::SetAttributes{.mode = context.options.mode});
  if (!changed) context.report.fail(subject, changed.error());
}

}  // namespace rpcrdma::commands
