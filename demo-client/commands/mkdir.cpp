// SPDX-License-Identifier: BSD-3-Clause
#include "commands/context.hpp"

namespace rpcrdma::commands {
namespace {

constexpr std::uint32_t kMode = 0777;

/// Creates one directory.
nfs::Task<void> make_one(Context& context, const nfs::PathResolver::Path& path, std::uint32_t mode) {
  const Result<nfs::Place> place = co_await context.paths.resolve_parent(path);
  if (!place) co_return place.error();
  const Result<nfs::Node> made = co_await context.client.mkdir(place->directory, place->name, mode);
  if (!made) co_return made.error();
  co_return Result<void>();
}

nfs::Task<void> make_with_parents(Context& context, nfs::PathResolver::Path path, std::uint32_t mode) {
  // Finds the first missing directory, then creates it and those below it.
  nfs::PathResolver::Path missing;
  while (true) {
    const Result<nfs::Node> node = co_await context.paths.resolve(path, true);
    if (node && node->attributes.type == nfs::FileType::directory) break;
    if (node) co_return make_error_code(missing.empty() ? nfs::Status::exist : nfs::Status::notdir);
    if (node.error() != nfs::Status::noent || path.size() <= 1) co_return node.error();
    missing.push_back(std::move(path.back()));
    path.pop_back();
  }
  while (!missing.empty()) {
    path.push_back(std::move(missing.back()));
    missing.pop_back();
    const Result<void> made = co_await make_one(context, path, mode);
    if (made) continue;
    if (made.error() != nfs::Status::exist) co_return made.error();
    // Another client may have created the directory meanwhile. But the name may also be that of a symbolic link that
    // leads nowhere, or of a new file.
    const Result<nfs::Node> node = co_await context.paths.resolve(path, true);
    if (!node || node->attributes.type != nfs::FileType::directory)
      co_return make_error_code(missing.empty() ? nfs::Status::exist : nfs::Status::notdir);
  }
  co_return Result<void>();
}

}  // namespace

boost::asio::awaitable<void> run_mkdir(Context& context) {
  const std::uint32_t mode = kMode & ~context.options.umask;
  const nfs::PathResolver::Path& path = context.options.url.path;
  Result<void> made;
  if (context.options.parents) {
    made = co_await make_with_parents(context, path, mode);
  } else {
    made = co_await make_one(context, path, mode);
  }
  if (!made) context.report.fail(context.options.url.text(), made.error());
}

}  // namespace rpcrdma::commands
