// SPDX-License-Identifier: BSD-3-Clause
#include "commands/context.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::commands {
namespace {

nfs::Task<void> remove(Context& context) {
  const Result<nfs::Place> place = co_await context.paths.resolve_parent(context.options.url.path);
  if (!place) co_return place.error();
  const Result<nfs::Node> node = co_await context.client.lookup(place->directory, place->name);
  if (!node) co_return node.error();
  if (node->attributes.type != nfs::FileType::directory) {
    co_return co_await context.client.remove(place->directory, place->name);
  }
  if (!context.options.recursive) co_return make_error_code(nfs::Status::isdir);
  const Result<void> emptied = co_await nfs::Copier::remove_below(context.client, node->handle);
  if (!emptied) co_return emptied.error();
  const Result<void> removed = co_await context.client.rmdir(place->directory, place->name);
  // The directory existed when this command began. If RMDIR reports that the directory does not exist, either another
  // client has removed it, or the server has run this RMDIR twice because the first reply was lost.
  if (!removed && removed.error() == nfs::Status::noent) co_return Result<void>();
  co_return removed;
}

}  // namespace

boost::asio::awaitable<void> run_rm(Context& context) {
  const Result<void> removed = co_await remove(context);
  if (!removed) context.report.fail(context.options.url.text(), removed.error());
}

}  // namespace rpcrdma::commands
