// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include "commands/transfer.hpp"

namespace rpcrdma::commands {
namespace {

using boost::asio::awaitable;

awaitable<Result<void>> copy_into(nfs::Copier& copier, TransferObserver& observer, nfs::Node from, const Fd& file) {
  const Result<void> readable = co_await copier.check_source(from, file);
  if (!readable) co_return readable.error();
  observer.on_found(from.attributes.size);
  co_return co_await copier.download_file(from, file, nfs::SetAttributes());
}

awaitable<void> get_file(Context& context, nfs::Copier& copier, TransferObserver& observer, nfs::Node source,
                         std::string target) {
  const bool fresh = !nfs::local_attributes(target, false);
  const Result<Fd> file = nfs::open_to_write(target, source.attributes.mode & 0777, false);
  if (!file) co_return context.report.fail(target, file.error());
  const Result<void> copied = co_await copy_into(copier, observer, source, *file);
  if (copied) co_return observer.on_file_done();
  if (fresh) nfs::take_back(AT_FDCWD, target, *file);
  context.report.fail(context.options.url.text(), copied.error());
}

awaitable<void> get_tree(Context& context, nfs::Copier& copier, nfs::Node source, std::string directory,
                         std::string name) {
  Result<nfs::LocalDirectory> into = nfs::LocalDirectory::open(directory);
  if (!into) co_return context.report.fail(directory, into.error());
  const Result<void> copied = co_await copier.download_tree(source, std::move(*into), name);
  if (!copied) context.report.fail(context.options.url.text(), copied.error());
}

awaitable<void> get_link(Context& context, nfs::Node source, std::string directory, std::string name) {
  const Result<nfs::LocalDirectory> into = nfs::LocalDirectory::open(directory);
  if (!into) co_return context.report.fail(directory, into.error());
  const Result<std::string> target = co_await context.client.readlink(source.handle);
  if (!target) co_return context.report.fail(context.options.url.text(), target.error());
  const Result<void> made = into->make_link(name, *target);
  if (!made) context.report.fail(directory + '/' + name, made.error());
}

}  // namespace

awaitable<void> run_get(Context& context) {
  const Options& options = context.options;
  const std::string subject = options.url.text();
  const Result<nfs::Node> node = co_await context.paths.resolve(options.url.path, !options.recursive);
  if (!node) co_return context.report.fail(subject, node.error());
  const nfs::FileType type = node->attributes.type;
  if (type == nfs::FileType::directory && !options.recursive)
    co_return context.report.fail(subject, nfs::Status::isdir);
  const Result<nfs::Limits> limits = co_await context.client.limits(node->handle);
  if (!limits) co_return context.report.fail(subject, limits.error());

  // As for cp(1), options.local may be an existing directory: the copy then has the name of the source in this
  // directory. Otherwise options.local is the path of the copy.
  std::string directory = parent_path(options.local);
  std::string name = entry_name(options.local);
  const Result<nfs::Attributes> there = nfs::local_attributes(options.local, true);
  if (there && there->type == nfs::FileType::directory) {
    directory = options.local;
    name = options.url.path.back();
  } else if (there && type == nfs::FileType::directory) {
    co_return context.report.fail(options.local, local_error(ENOTDIR));
  } else if (name.empty()) {
    co_return context.report.fail(options.local, there ? local_error(EINVAL) : there.error());
  }

  TransferObserver observer(context.report, subject);
  nfs::CopyOptions how;
  how.resume = options.resume;
  how.window *= context.client.connections();
  nfs::Copier copier(context.client, observer, *limits, how);
  if (type == nfs::FileType::directory) {
    co_await get_tree(context, copier, *node, directory, name);
    print_out(context, observer.summary());
  } else if (type == nfs::FileType::symlink) {
    co_await get_link(context, *node, directory, name);
  } else if (type == nfs::FileType::regular) {
    co_await get_file(context, copier, observer, *node, directory + '/' + name);
  } else {
    context.report.fail(subject, make_error_code(boost::system::errc::not_supported));
  }
}

}  // namespace rpcrdma::commands
