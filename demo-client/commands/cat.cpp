// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include "commands/context.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::commands {
namespace {

class Silent final : public nfs::CopyObserver {
 public:
  void on_found(std::uint64_t) override {}
  void on_moved(std::uint64_t) override {}
  void on_file_done() override {}
  void on_problem(std::string_view, const error_code&) override {}
};

}  // namespace

boost::asio::awaitable<void> run_cat(Context& context) {
  const std::string subject = context.options.url.text();
  const Result<nfs::Node> node = co_await context.paths.resolve(context.options.url.path, true);
  if (!node) co_return context.report.fail(subject, node.error());
  if (node->attributes.type == nfs::FileType::directory) co_return context.report.fail(subject, nfs::Status::isdir);
  if (node->attributes.type != nfs::FileType::regular)
    co_return context.report.fail(subject, make_error_code(boost::system::errc::not_supported));
  const Result<nfs::Limits> limits = co_await context.client.limits(node->handle);
  if (!limits) co_return context.report.fail(subject, limits.error());
  Silent silent;
  nfs::Copier copier(context.client, silent, *limits);
  const Result<void> copied = co_await copier.stream(node->handle, node->attributes.size, STDOUT_FILENO);
  if (!copied) context.report.fail(subject, copied.error());
}

}  // namespace rpcrdma::commands
