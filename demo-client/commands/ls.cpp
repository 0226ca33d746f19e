// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "commands/context.hpp"
#include "commands/format.hpp"
#include "rpcrdma/nfs/directory.hpp"

namespace rpcrdma::commands {
namespace {

using nfs::Client;
using nfs::DirectoryEntry;

struct Line {
  DirectoryEntry entry;
  std::string target;  ///< target of a symbolic link
};

nfs::Task<std::vector<Line>> read_all(Context& context, nfs::FileHandle directory) {
  std::vector<Line> lines;
  nfs::DirectoryReader reader(context.client, directory, context.options.long_format);
  for (bool end = false; !end;) {
    Result<Client::Page> page = co_await reader.next();
    if (!page) co_return page.error();
    for (DirectoryEntry& entry : page->entries) lines.push_back({std::move(entry), {}});
    end = page->end;
  }
  std::ranges::sort(lines, {}, [](const Line& line) -> const std::string& { return line.entry.name; });
  co_return lines;
}

/// Fetches what one line of a long listing lacks: the attributes, and the target of a symbolic link.
boost::asio::awaitable<void> complete(Context& context, nfs::FileHandle directory, Line& line, nfs::Permits::Permit) {
  DirectoryEntry& entry = line.entry;
  const bool link = entry.attributes && entry.attributes->type == nfs::FileType::symlink;
  if (!entry.attributes || (link && !entry.handle)) {
    const Result<nfs::Node> node = co_await context.client.lookup(directory, entry.name);
    if (!node) co_return context.report.fail(entry.name, node.error());
    entry.attributes = node->attributes;
    entry.handle = node->handle;
  }
  if (entry.attributes->type != nfs::FileType::symlink) co_return;
  Result<std::string> target = co_await context.client.readlink(*entry.handle);
  if (!target) co_return context.report.fail(entry.name, target.error());
  line.target = std::move(*target);
}

boost::asio::awaitable<void> complete_all(Context& context, nfs::FileHandle directory, std::vector<Line>& lines) {
  nfs::Permits permits(context.client.executor(), 16);
  nfs::Group children(context.client.executor());
  for (Line& line : lines) {
    const bool complete_already = line.entry.attributes && line.entry.attributes->type != nfs::FileType::symlink;
    if (complete_already) continue;
    nfs::Permits::Permit permit = co_await permits.acquire();
    children.spawn(complete(context, directory, line, std::move(permit)));
  }
  co_await children.wait();
}

void print_lines(Context& context, const std::vector<Line>& lines) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const std::time_t now = std::time(nullptr);
  ListWidths widths;
  Owners owners;
  for (const Line& line : lines) {
    if (context.options.long_format && line.entry.attributes) widths.include(*line.entry.attributes, owners);
  }
  std::string out;
  for (const Line& line : lines) {
    if (context.options.long_format) {
      if (!line.entry.attributes) continue;  // complete() has reported the error
      out += list_line(*line.entry.attributes, widths, owners, now) + ' ';
    }
    out += printable(line.entry.name, terminal);
    if (!line.target.empty()) out += " -> " + printable(line.target, terminal);
    out += '\n';
    if (out.size() > 65536) {
      if (!print_out(context, out)) return;
      out.clear();
    }
  }
  print_out(context, out);
}

}  // namespace

boost::asio::awaitable<void> run_ls(Context& context) {
  const std::string subject = context.options.url.text();
  // If the path ends with a symbolic link, a short listing shows the target of the link, and a long listing shows the
  // link itself. ls(1) does the same with a link to a directory.
  const Result<nfs::Node> node = co_await context.paths.resolve(context.options.url.path, !context.options.long_format);
  if (!node) co_return context.report.fail(subject, node.error());
  if (node->attributes.type != nfs::FileType::directory) {
    std::vector<Line> one(1);
    const auto& path = context.options.url.path;
    one[0].entry = {path.empty() ? "/" : path.back(), node->attributes.fileid, node->attributes, node->handle};
    if (context.options.long_format) co_await complete_all(context, node->handle, one);
    co_return print_lines(context, one);
  }
  Result<std::vector<Line>> lines = co_await read_all(context, node->handle);
  if (!lines) co_return context.report.fail(subject, lines.error());
  if (context.options.long_format) co_await complete_all(context, node->handle, *lines);
  print_lines(context, *lines);
}

}  // namespace rpcrdma::commands
