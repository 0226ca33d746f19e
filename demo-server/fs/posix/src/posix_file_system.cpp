// SPDX-License-Identifier: BSD-3-Clause
#include "posix_file_system.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "commit_order.hpp"
#include "confinement.hpp"
#include "limits.hpp"

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
  NodeStat stat;
  if (stat_fd(root.get(), stat) != Status::ok) return error_code(errno, boost::system::system_category());
  // Reading it is the least that an export must allow.
  Fd readable;
  if (reopen(root.get(), O_RDONLY | O_DIRECTORY, readable) != Status::ok)
    return error_code(errno, boost::system::system_category());
  auto file_system =
      std::make_unique<PosixFileSystem>(std::move(root), std::move(readable), stat, options, std::move(log));
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
    log_.debug("{}: no kernel file handles, places are remembered instead", options.root.string());
    locator_ = make_hint_locator(root_.get(), options.hint_file, options.max_hints, log_);
  }
  if (locator_ == nullptr) return Status::io;
  NodeStat stat;
  if (const Status s = stat_fd(root_.get(), stat); s != Status::ok) return s;
  return locator_->key_of(root_.get(), stat, stat, {}, root_key_);
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

Status PosixFileSystem::open_directory(const NodeKey& key, Directory& out) {
  if (const Status s = locator_->open(key, out.fd); s != Status::ok) return s;
  if (const Status s = stat_fd(out.fd.get(), out.before); s != Status::ok) return s;
  return is_directory(out.before) ? Status::ok : Status::notdir;
}

Wcc PosixFileSystem::wcc_after(const Directory& directory, bool changed) const {
  Wcc wcc;
  if (!directory.fd) return wcc;
  wcc.before = wcc_of(directory.before.attributes);
  NodeStat after;
  if (stat_fd(directory.fd.get(), after) != Status::ok) return wcc;
  if (changed) touch_inode(directory.fd.get(), after);
  wcc.after = after.attributes;
  if (locator_->follows_changes()) locator_->changed(directory.before, after);
  return wcc;
}

/// Where an fsync would not write it: the time of the last access is set to what it is, before anyone sees the time of
/// the change.
void PosixFileSystem::touch_inode(int fd, NodeStat& stat) const {
  if (!forgets_inodes_) return;
  const Time& accessed = stat.attributes.atime;
  const timespec times[2] = {{static_cast<time_t>(accessed.seconds), static_cast<long>(accessed.nanoseconds)},
                             {0, UTIME_OMIT}};
  if (::utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0) stat_fd(fd, stat);
}

void PosixFileSystem::found(const Directory& directory, std::string_view name, int fd, NodeResult& out) {
  NodeStat stat;
  out.status = stat_fd(fd, stat);
  if (out.status != Status::ok) return;
  out.status = locator_->key_of(fd, stat, directory.before, name, out.node);
  if (out.status == Status::ok) out.attributes = stat.attributes;
}

AttributesResult PosixFileSystem::attributes(const NodeKey& node) {
  AttributesResult result;
  Fd fd;
  NodeStat stat;
  result.status = locator_->open(node, fd);
  if (result.status == Status::ok) result.status = stat_fd(fd.get(), stat);
  if (result.status == Status::ok) result.attributes = stat.attributes;
  return result;
}

NodeResult PosixFileSystem::lookup(const Caller& caller, const NodeKey& key, std::string_view name) {
  NodeResult result;
  Directory directory;
  result.status = open_directory(key, directory);
  if (result.status != Status::ok) return result;
  result.directory.after = directory.before.attributes;
  result.status = check_component(name);
  if (result.status != Status::ok) return result;
  Fd fd;
  if (is_dot_dot(name)) {
    result.status = open_parent(caller, directory, fd);
    // Where the parent itself lies is known already.
    if (result.status == Status::ok) found(directory, {}, fd.get(), result);
    return result;
  }
  {
    const ActingAs acting(user(caller));
    result.status = acting ? open_component(directory.fd.get(), name, fd) : Status::acces;
  }
  if (result.status == Status::ok) found(directory, is_dot(name) ? std::string_view() : name, fd.get(), result);
  return result;
}

/// The root is its own parent: what lies above it is nobody's business.
Status PosixFileSystem::open_parent(const Caller& caller, const Directory& directory, Fd& out) const {
  const bool at_root = is_top(directory);
  {
    const ActingAs acting(user(caller));
    if (!acting) return Status::acces;
    out = Fd(::openat(directory.fd.get(), at_root ? "." : "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!out) return status_of(errno);
  // The directory may have been moved out of the tree since it was opened.
  return at_root || is_inside(out.get(), root_.get()) ? Status::ok : Status::stale;
}

ReadlinkResult PosixFileSystem::read_link(const NodeKey& node) {
  ReadlinkResult result;
  Fd fd;
  NodeStat stat;
  result.status = locator_->open(node, fd);
  if (result.status == Status::ok) result.status = stat_fd(fd.get(), stat);
  if (result.status != Status::ok) return result;
  result.attributes = stat.attributes;
  if (stat.attributes.type != FileType::symlink) {
    result.status = Status::inval;
    return result;
  }
  result.target.resize(kMaxTarget + 1);
  const ssize_t length = ::readlinkat(fd.get(), "", result.target.data(), result.target.size());
  if (length < 0) result.status = status_of(errno);
  result.target.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return result;
}

StatisticsResult PosixFileSystem::statistics(const NodeKey& node) {
  StatisticsResult result;
  const AttributesResult object = attributes(node);
  result.status = object.status;
  result.attributes = object.attributes;
  struct statvfs s {};
  if (result.status != Status::ok) return result;
  if (::fstatvfs(root_.get(), &s) != 0) {
    result.status = status_of(errno);
    return result;
  }
  const std::uint64_t unit = s.f_frsize;
  result.statistics = {s.f_blocks * unit, s.f_bfree * unit, s.f_bavail * unit, s.f_files, s.f_ffree, s.f_favail};
  return result;
}

}  // namespace rpcrdma::nfsd
