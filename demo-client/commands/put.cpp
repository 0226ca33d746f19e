// SPDX-License-Identifier: BSD-3-Clause
#include "commands/transfer.hpp"

namespace rpcrdma::commands {
namespace {

using boost::asio::awaitable;
using nfs::FileType;

/// Looks up the file at `path`, or creates it.
nfs::Task<nfs::Node> file_at(Context& context, nfs::PathResolver::Path path, std::uint32_t mode) {
  Result<nfs::Node> node = co_await context.paths.resolve(path, true);
  if (node) {
    if (node->attributes.type == FileType::directory) co_return make_error_code(nfs::Status::isdir);
    co_return node;
  }
  if (node.error() != nfs::Status::noent) co_return node.error();
  const Result<nfs::Place> place = co_await context.paths.resolve_parent(path);
  if (!place) co_return place.error();
  const nfs::SetAttributes attributes{.mode = mode, .size = 0};
  co_return co_await context.client.create(place->directory, place->name, attributes, false);
}

awaitable<void> put_file(Context& context, nfs::Copier& copier, TransferObserver& observer, nfs::Url target) {
  const std::string& local = context.options.local;
  const Result<Fd> file = nfs::open_to_read(local);
  if (!file) co_return context.report.fail(local, file.error());
  const Result<nfs::Attributes> attributes = nfs::local_attributes(*file);
  if (!attributes) co_return context.report.fail(local, attributes.error());
  const std::uint32_t mode = attributes->mode & 0777 & ~context.options.umask;
  const Result<nfs::Node> node = co_await file_at(context, target.path, mode);
  if (!node) co_return context.report.fail(target.text(), node.error());
  observer.on_found(attributes->size);
  const Result<void> copied = co_await copier.upload_file(*file, *attributes, *node, nfs::SetAttributes());
  if (!copied) co_return context.report.fail(target.text(), copied.error());
  observer.on_file_done();
}

awaitable<void> put_link(Context& context, nfs::Url target) {
  const Result<nfs::LocalDirectory> from = nfs::LocalDirectory::open(parent_path(context.options.local));
  if (!from) co_return context.report.fail(context.options.local, from.error());
  const Result<std::string> text = from->read_link(entry_name(context.options.local));
  if (!text) co_return context.report.fail(context.options.local, text.error());
  const Result<nfs::Place> place = co_await context.paths.resolve_parent(target.path);
  if (!place) co_return context.report.fail(target.text(), place.error());
  const Result<void> made = co_await context.client.symlink(place->directory, place->name, *text);
  if (!made) context.report.fail(target.text(), made.error());
}

awaitable<void> put_tree(Context& context, nfs::Copier& copier, nfs::FileHandle into, std::string name) {
  Result<nfs::LocalDirectory> from = nfs::LocalDirectory::open(context.options.local);
  if (!from) co_return context.report.fail(context.options.local, from.error());
  const Result<void> copied = co_await copier.upload_tree(std::move(*from), into, name);
  if (!copied) context.report.fail(context.options.url.text(), copied.error());
}

/// Returns the object for which the client calls FSINFO to get the limits of the export. It is the target if the target
/// exists. Otherwise it is the directory in which the target will be created.
nfs::Task<nfs::FileHandle> nearest(Context& context, const Result<nfs::Node>& target) {
  if (target) co_return target->handle;
  if (target.error() != nfs::Status::noent) co_return target.error();
  const Result<nfs::Place> place = co_await context.paths.resolve_parent(context.options.url.path);
  if (!place) co_return place.error();
  co_return place->directory;
}

}  // namespace

awaitable<void> run_put(Context& context) {
  const Options& options = context.options;
  const Result<nfs::Attributes> local = nfs::local_attributes(options.local, !options.recursive);
  if (!local) co_return context.report.fail(options.local, local.error());
  if (local->type == FileType::directory && !options.recursive) {
    co_return context.report.fail(options.local, local_error(EISDIR));
  }
  const std::string name = entry_name(options.local);
  nfs::Url target = options.url;
  const Result<nfs::Node> there = co_await context.paths.resolve(target.path, true);
  const Result<nfs::FileHandle> anchor = co_await nearest(context, there);
  if (!anchor) co_return context.report.fail(target.text(), anchor.error());
  const Result<nfs::Limits> limits = co_await context.client.limits(*anchor);
  if (!limits) co_return context.report.fail(target.text(), limits.error());
  const bool inside = there && there->attributes.type == FileType::directory;

  TransferObserver observer(context.report, options.local);
  nfs::CopyOptions how;
  how.resume = options.resume;
  how.window *= context.client.connections();
  nfs::Copier copier(context.client, observer, *limits, how);
  if (local->type == FileType::directory) {
    if (there && !inside) co_return context.report.fail(target.text(), nfs::Status::notdir);
    co_await put_tree(context, copier, *anchor, inside ? name : target.path.back());
    print_out(context, observer.summary());
    co_return;
  }
  if (inside) target = target.child(name);
  if (local->type == FileType::symlink) co_return co_await put_link(context, target);
  if (local->type == FileType::fifo || local->type == FileType::socket) {
    co_return context.report.fail(options.local, local_error(EOPNOTSUPP));
  }
  co_await put_file(context, copier, observer, target);
}

}  // namespace rpcrdma::commands
