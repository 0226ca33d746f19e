// SPDX-License-Identifier: BSD-3-Clause
#include "posix_file_system.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "limits.hpp"
#include "locate/confinement.hpp"
#include "open_files/commit_order.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::chrono::seconds kIdle{5};
constexpr std::chrono::seconds kLongest{30};

std::uint64_t fresh_verifier() {
  std::uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != sizeof value)
    value = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return value;
}

}  // namespace

bool serves_as_callers() { return can_act_as_others(); }

Result<std::unique_ptr<FileSystem>> make_posix_file_system(const PosixOptions& options, Log log) {
  Fd root(::open(options.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return error_code(errno, boost::system::system_category());
  const auto stat = stat_fd(root.get());
  if (!stat) return error_code(errno, boost::system::system_category());
  // Refuses a root that cannot be read.
  auto readable = reopen(root.get(), O_RDONLY | O_DIRECTORY);
  if (!readable) return error_code(errno, boost::system::system_category());
  auto file_system =
      std::make_unique<PosixFileSystem>(std::move(root), std::move(*readable), *stat, options, std::move(log));
  if (file_system->start(options) != Status::ok)
    return error_code(errno != 0 ? errno : EIO, boost::system::system_category());
  return std::unique_ptr<FileSystem>(std::move(file_system));
}

PosixFileSystem::PosixFileSystem(Fd root, Fd readable_root, const NodeStat& stat, const PosixOptions& options, Log log)
    : log_(std::move(log)),
      root_(std::move(root)),
      readable_root_(std::move(readable_root)),
      root_stat_(stat),
      limits_(limits_of(readable_root_.get())),
      verifier_(fresh_verifier()),
      write_backs_(verifier_, 2 * options.max_descriptors),
      descriptors_(options.max_descriptors),
      commits_in_order_(nfsd::commits_in_order(readable_root_.get())),
      forgets_inodes_(nfsd::forgets_inodes(readable_root_.get())),
      acts_(can_act_as_others()) {
  itself_.uid = ::geteuid();
  itself_.gid = ::getegid();
}

Status PosixFileSystem::start(const PosixOptions& options) {
  if (options.kernel_handles) locator_ = make_handle_locator(root_.get(), options.hint_file, options.max_hints, log_);
  if (locator_ == nullptr) {
    log_.debug("{}: no kernel file handles here; the places of files are remembered instead", options.root.string());
    locator_ = make_place_locator(root_.get(), options.hint_file, options.max_hints, log_);
  }
  if (locator_ == nullptr) return Status::io;
  const auto key = locator_->key_of(root_.get(), root_stat_, root_stat_, {});
  if (!key) return key.error();
  root_key_ = *key;
  return Status::ok;
}

Verifier PosixFileSystem::write_verifier() const noexcept {
  Verifier verifier;
  const std::uint64_t value = verifier_.load(std::memory_order_relaxed);
  std::memcpy(verifier.data(), &value, sizeof value);
  return verifier;
}

void PosixFileSystem::tidy() {
  const auto now = DescriptorCache::Clock::now();
  descriptors_.drop_idle(now - kIdle, now - kLongest);
  streams_.drop_idle(now - kIdle);
  late_close_.close_all();
  write_backs_.tidy(now);
  locator_->tidy();
}

std::mutex& PosixFileSystem::lock_of(const NodeKey& node) noexcept {
  return locks_[NodeKeyHash{}(node) % locks_.size()];
}

StatusOr<PosixFileSystem::Node> PosixFileSystem::open_node(const NodeKey& key) const {
  auto fd = locator_->open(key);
  if (!fd) return fd.error();
  const auto stat = stat_fd(fd->get());
  if (!stat) return stat.error();
  return Node{std::move(*fd), *stat};
}

StatusOr<PosixFileSystem::Node> PosixFileSystem::open_directory(const NodeKey& key) const {
  auto node = open_node(key);
  if (node && !is_directory(node->stat)) return Status::notdir;
  return node;
}

Status PosixFileSystem::refresh(Node& node) {
  const auto stat = stat_fd(node.fd.get());
  if (!stat) return stat.error();
  node.stat = *stat;
  return Status::ok;
}

Wcc PosixFileSystem::wcc_after(const Node& directory, bool changed) const {
  Wcc wcc;
  wcc.before = wcc_of(directory.stat.attributes);
  auto after = stat_fd(directory.fd.get());
  if (!after) return wcc;
  if (changed) touch_inode(directory.fd.get(), *after);
  wcc.after = after->attributes;
  locator_->changed(directory.stat, *after);
  return wcc;
}

/// Where fsync would omit the inode, sets the access time to its present value: fsync then writes the inode. Must
/// precede every reply that shows the ctime, because it changes the ctime.
void PosixFileSystem::touch_inode(int fd, NodeStat& stat) const {
  if (!forgets_inodes_) return;
  const Time& accessed = stat.attributes.atime;
  const timespec times[2] = {{static_cast<time_t>(accessed.seconds), static_cast<long>(accessed.nanoseconds)},
                             {0, UTIME_OMIT}};
  if (::utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return;
  if (const auto now = stat_fd(fd)) stat = *now;
}

StatusOr<PosixFileSystem::Found> PosixFileSystem::found(const Node& directory, std::string_view name, int fd) const {
  const auto stat = stat_fd(fd);
  if (!stat) return stat.error();
  const auto key = locator_->key_of(fd, *stat, directory.stat, name);
  if (!key) return key.error();
  return Found{*key, stat->attributes};
}

Status PosixFileSystem::fill(NodeResult& out, const StatusOr<Found>& found) {
  if (!found) return found.error();
  out.node = found->node;
  out.attributes = found->attributes;
  return Status::ok;
}

AttributesResult PosixFileSystem::attributes(const NodeKey& key) {
  const auto node = open_node(key);
  if (!node) return {node.error(), {}};
  return {Status::ok, node->stat.attributes};
}

StatusOr<PosixFileSystem::Found> PosixFileSystem::look_up(const Caller& caller, const Node& directory,
                                                          std::string_view name) const {
  if (const Status s = check_component(name); s != Status::ok) return s;
  if (is_dot_dot(name)) {
    const auto parent = open_parent(caller, directory);
    if (!parent) return parent.error();
    // No name is passed: the place of the parent itself is known already.
    return found(directory, {}, parent->get());
  }
  const auto fd = open_as_caller(caller, directory, name);
  if (!fd) return fd.error();
  return found(directory, is_dot(name) ? std::string_view() : name, fd->get());
}

NodeResult PosixFileSystem::lookup(const Caller& caller, const NodeKey& key, std::string_view name) {
  NodeResult result;
  const auto directory = open_directory(key);
  if (!directory) {
    result.status = directory.error();
    return result;
  }
  result.directory.after = directory->stat.attributes;
  result.status = fill(result, look_up(caller, *directory, name));
  return result;
}

StatusOr<Fd> PosixFileSystem::open_as_caller(const Caller& caller, const Node& directory, std::string_view name) const {
  const ActingAs acting(user(caller));
  if (!acting) return Status::acces;
  return open_component(directory.fd.get(), name);
}

/// The root is its own parent: nothing above it is exported.
StatusOr<Fd> PosixFileSystem::open_parent(const Caller& caller, const Node& directory) const {
  const bool at_root = is_top(directory);
  Fd fd;
  const int error = as_caller(caller, [&] {
    fd = Fd(::openat(directory.fd.get(), at_root ? "." : "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return fd.get();
  });
  if (error != 0) return status_of(error);
  // The directory may have been moved out of the tree since it was opened.
  if (!at_root && !is_inside(fd.get(), root_.get())) return Status::stale;
  return fd;
}

ReadlinkResult PosixFileSystem::read_link(const NodeKey& key) {
  const auto node = open_node(key);
  if (!node) return {node.error(), {}, {}};
  ReadlinkResult result{Status::ok, node->stat.attributes, {}};
  if (node->stat.attributes.type != FileType::symlink) {
    result.status = Status::inval;
    return result;
  }
  result.target.resize(kMaxTarget + 1);
  const ssize_t length = ::readlinkat(node->fd.get(), "", result.target.data(), result.target.size());
  if (length < 0) result.status = status_of(errno);
  result.target.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return result;
}

StatisticsResult PosixFileSystem::statistics(const NodeKey& key) {
  const auto node = open_node(key);
  if (!node) return {node.error(), {}, {}};
  struct statvfs s {};
  if (::fstatvfs(root_.get(), &s) != 0) return {status_of(errno), node->stat.attributes, {}};
  const std::uint64_t unit = s.f_frsize;
  return {Status::ok,
          node->stat.attributes,
          {s.f_blocks * unit, s.f_bfree * unit, s.f_bavail * unit, s.f_files, s.f_ffree, s.f_favail}};
}

}  // namespace rpcrdma::nfsd
