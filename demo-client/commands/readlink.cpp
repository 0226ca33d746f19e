// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include "commands/context.hpp"
#include "commands/format.hpp"

namespace rpcrdma::commands {

boost::asio::awaitable<void> run_readlink(Context& context) {
  const std::string subject = context.options.url.text();
  const Result<nfs::Node> node = co_await context.paths.resolve(context.options.url.path, false);
  if (!node) co_return context.report.fail(subject, node.error());
  if (node->attributes.type != nfs::FileType::symlink) co_return context.report.fail(subject, nfs::Status::inval);
  const Result<std::string> target = co_await context.client.readlink(node->handle);
  if (!target) co_return context.report.fail(subject, target.error());
  print_out(context, printable(*target, isatty(STDOUT_FILENO) == 1) + '\n');
}

}  // namespace rpcrdma::commands
