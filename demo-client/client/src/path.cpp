// SPDX-License-Identifier: BSD-3-Clause
// Operation: unless the root is given, the export is the longest prefix of the path that MOUNT accepts, so prefixes are
// tried from the longest. Then one LOOKUP for each component except ".."; the target of a symbolic link is inserted
// before the remaining components.
// Ownership: everything is held by value in the coroutines' frames.
// Error handling: if MOUNT refuses all prefixes, reports the first error other than NOENT and NOTDIR, or NOENT if there
// is none.
#include "rpcrdma/nfs/path.hpp"

#include <deque>

namespace rpcrdma::nfs {
namespace {

constexpr std::size_t kMaxMountPath = 1024;  // MNTPATHLEN, RFC 1813 section 5.1.4
constexpr int kMaxLinks = 40;
/// The error of resolve_parent() for an empty path, and for the path of an export that is not below another export.
/// rename(2) and rmdir(2) report the same error for a mount point.
const error_code kIsExport = make_error_code(boost::system::errc::device_or_resource_busy);

std::string joined(std::span<const std::string> components) {
  std::string out;
  for (const std::string& component : components) out += '/' + component;
  return out.empty() ? "/" : out;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= path.size()) {
    const std::size_t to = std::min(path.find('/', from), path.size());
    if (to > from && path.compare(from, to - from, ".") != 0) out.push_back(path.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

bool starts_with(const std::vector<std::string>& path, std::span<const std::string> prefix) {
  return path.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

}  // namespace

Task<PathResolver::Export> PathResolver::find_export(const Path& path) {
  if (root_) co_return Export{*root_, std::min<std::size_t>(path.size(), 1)};
  error_code refusal = Status::noent;
  for (std::size_t count = path.size() + 1; count-- > 0;) {
    const std::string prefix = joined(std::span(path).first(count));
    if (prefix.size() > kMaxMountPath) continue;
    const Result<FileHandle> root = co_await client_.mount(prefix);
    if (root) co_return Export{*root, count};
    if (!is_file_error(root.error())) co_return root.error();
    const bool telling = root.error() != Status::noent && root.error() != Status::notdir;
    if (telling && refusal == Status::noent) refusal = root.error();
  }
  co_return refusal;
}

Task<Node> PathResolver::walk(Export from, Path path, bool follow_last) {
  const std::vector<std::string> export_path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(from.components));
  std::deque<std::string> todo(path.begin() + static_cast<std::ptrdiff_t>(from.components), path.end());
  std::vector<FileHandle> above{from.root};  // from the root to here, for ".." in symbolic links
  std::optional<Node> here;
  int links = 0;
  while (!todo.empty()) {
    const std::string name = std::move(todo.front());
    todo.pop_front();
    if (name == "..") {
      if (above.size() > 1) above.pop_back();
      here.reset();
      continue;
    }
    Result<Node> next = co_await client_.lookup(above.back(), name);
    if (!next) co_return next.error();
    if (next->attributes.type != FileType::symlink || (todo.empty() && !follow_last)) {
      above.push_back(next->handle);
      here = *next;
      continue;
    }
    if (++links > kMaxLinks) co_return make_error_code(boost::system::errc::too_many_symbolic_link_levels);
    const Result<std::string> target = co_await client_.readlink(next->handle);
    if (!target) co_return target.error();
    std::vector<std::string> components = split(*target);
    if (target->starts_with('/')) {
      // An absolute target is a path on the server, and can be reached only if it is below the export.
      if (!starts_with(components, export_path)) co_return make_error_code(Status::noent);
      components.erase(components.begin(), components.begin() + static_cast<std::ptrdiff_t>(export_path.size()));
      above.resize(1);
    }
    todo.insert(todo.begin(), components.begin(), components.end());
    here.reset();
  }
  if (here) co_return *here;
  const Result<Attributes> attributes = co_await client_.getattr(above.back());
  if (!attributes) co_return attributes.error();
  co_return Node{above.back(), *attributes};
}

Task<Node> PathResolver::resolve(Path path, bool follow_last) {
  const Result<Export> from = co_await find_export(path);
  if (!from) co_return from.error();
  co_return co_await walk(*from, std::move(path), follow_last);
}

Task<Place> PathResolver::resolve_parent(Path path) {
  if (path.empty() || (root_ && path.size() == 1)) co_return kIsExport;
  const std::string whole = joined(path);
  Place place;
  place.name = std::move(path.back());
  path.pop_back();
  // Passes the path of the directory to find_export(), not the whole path. Some servers accept any path below an export
  // in MNT. For the whole path, such a server would return the handle of the object, not of its directory.
  const Result<Export> from = co_await find_export(path);
  if (!from && is_file_error(from.error())) {
    const Result<FileHandle> exported = co_await client_.mount(whole);
    if (exported) co_return kIsExport;
  }
  if (!from) co_return from.error();
  const Result<Node> directory = co_await walk(*from, std::move(path), true);
  if (!directory) co_return directory.error();
  if (directory->attributes.type != FileType::directory) co_return make_error_code(Status::notdir);
  place.directory = directory->handle;
  co_return place;
}

}  // namespace rpcrdma::nfs
