// SPDX-License-Identifier: BSD-3-Clause
#include "posix_file_system.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "limits.hpp"
#include "locate/confinement.hpp"
#include "open_files/commit_order.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

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

/// Returns the number of objects to keep open: 0 if KeptNodes::usable() is false or the limit of descriptors is
/// unknown, otherwise the smaller of `most` and an eighth of that limit.
///
/// Also makes the kernel enlarge the descriptor table of the process now. When several threads share the table, an
/// open() that enlarges it takes about 10 ms, which is too long for an event loop.
std::size_t nodes_to_keep(int root, std::size_t most) noexcept {
  rlimit limit{};
  if (!KeptNodes::usable(root) || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  constexpr rlim_t kOthers = 1024;
  const std::size_t count = std::min<std::size_t>(most, limit.rlim_cur / 8);
  const Fd last(::fcntl(root, F_DUPFD_CLOEXEC, static_cast<int>(std::min(limit.rlim_cur - 1, count + kOthers))));
  return count;
}

}  // namespace

bool serves_as_callers() { return can_act_as_others(); }

Result<std::unique_ptr<FileSystem>> make_posix_file_system(const PosixOptions& options, Log log) {
  Fd root(::open(options.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return error_code(errno, boost::system::system_category());
  const auto stat = stat_fd(root.get());
  if (!stat) return error_code(errno, boost::system::system_category());
  // Opens the root for reading as well, because syncfs(2) does not accept an O_PATH descriptor. A root that the server
  // cannot read is refused.
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
      kept_(root_.get(), stat, nodes_to_keep(root_.get(), options.max_nodes)),
      verifier_(fresh_verifier()),
      write_backs_(verifier_, 2 * options.max_descriptors),
      descriptors_(options.max_descriptors),
      commits_in_order_(nfsd::commits_in_order(readable_root_.get())),
      forgets_inodes_(nfsd::forgets_inodes(readable_root_.get())),
      local_(KeptNodes::usable(root_.get())),
      acts_(can_act_as_others()) {
  itself_.uid = ::geteuid();
  itself_.gid = ::getegid();
}

Status PosixFileSystem::start(const PosixOptions& options) {
  if (options.kernel_handles) locator_ = make_handle_locator(root_.get(), options.hint_file, options.max_hints, log_);
  if (locator_ == nullptr) {
    log_.debug("{}: kernel file handles are not used; remembers the directory and the name of each file instead",
               options.root.string());
    if (root_stat_.birth == 0)
      log_.warn(
          "{}: the file system has no birth times: the handle of a removed file may name a new file with the same "
          "inode number",
          options.root.string());
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
  act_as_server();  // the thread may still have the identity of its last caller
  const auto now = DescriptorCache::Clock::now();
  descriptors_.drop_idle(now - kIdle, now - kLongest);
  kept_.drop_idle(now - kIdle, now - kLongest);
  streams_.drop_idle(now - kIdle);
  late_close_.close_all();
  write_backs_.tidy(now);
  locator_->tidy();
}

std::mutex& PosixFileSystem::lock_of(const NodeKey& node) noexcept {
  return locks_[NodeKeyHash{}(node) % locks_.size()];
}

PosixFileSystem::Node PosixFileSystem::node_of(KeptNodePtr kept, const NodeStat& stat) noexcept {
  const std::uint64_t failures = kept->to_disk.failures();
  return {std::move(kept), stat, failures};
}

StatusOr<PosixFileSystem::Node> PosixFileSystem::open_node(const NodeKey& key) {
  if (KeptNodePtr kept = kept_.find(key); kept != nullptr) {
    if (const auto stat = kept_.look(*kept)) return node_of(std::move(kept), *stat);
    kept = nullptr;
    kept_.drop(key);
  }
  act_as_server();
  auto opened = locator_->open(key);
  if (!opened) return opened.error();
  KeptNodePtr kept = kept_.keep(key, opened->stat, opened->fd, opened->path);
  if (kept != nullptr) return node_of(std::move(kept), opened->stat);
  return Node{std::move(opened->fd), opened->stat};
}

StatusOr<PosixFileSystem::Node> PosixFileSystem::open_directory(const NodeKey& key) {
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

/// Makes a later fsync() write the inode of a new or changed object on a file system where fsync() omits some changed
/// inodes (see forgets_inodes()). For this it sets the access time to the value that it has already, which changes the
/// ctime. Sets `stat` to the new attributes. Call it before the ctime is put into a reply.
void PosixFileSystem::touch_inode(int fd, NodeStat& stat) const {
  if (!forgets_inodes_) return;
  act_as_server();
  const Time& accessed = stat.attributes.atime;
  const timespec times[2] = {{static_cast<time_t>(accessed.seconds), static_cast<long>(accessed.nanoseconds)},
                             {0, UTIME_OMIT}};
  if (::utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return;
  if (const auto now = stat_fd(fd)) stat = *now;
}

StatusOr<PosixFileSystem::Found> PosixFileSystem::found(const Node& directory, std::string_view name, int fd) const {
  const auto stat = stat_fd(fd);
  if (!stat) return stat.error();
  return found(directory, name, fd, *stat);
}

StatusOr<PosixFileSystem::Found> PosixFileSystem::found(const Node& directory, std::string_view name, int fd,
                                                        const NodeStat& stat) const {
  const auto key = locator_->key_of(fd, stat, directory.stat, name);
  if (!key) return key.error();
  return Found{*key, stat};
}

Status PosixFileSystem::fill(NodeResult& out, const StatusOr<Found>& found) {
  if (!found) return found.error();
  out.node = found->node;
  out.attributes = found->stat.attributes;
  return Status::ok;
}

AttributesResult PosixFileSystem::attributes(const NodeKey& key) {
  act_as_server();
  const auto node = open_node(key);
  if (!node) return {node.error(), {}};
  return {Status::ok, node->stat.attributes};
}

std::optional<AttributesResult> PosixFileSystem::attributes_at_once(const NodeKey& key) {
  const KeptNodePtr node = kept_.find(key);
  const auto stat = node != nullptr ? kept_.look(*node) : std::nullopt;
  if (!stat) return std::nullopt;
  return AttributesResult{Status::ok, stat->attributes};
}

/// Looks up `name` in `directory` as the caller. `now` must be a time before the attributes in `directory` were read,
/// as KnownRights::note() requires.
StatusOr<PosixFileSystem::Found> PosixFileSystem::look_up(const Caller& caller, const Node& directory,
                                                          std::string_view name, Time now) {
  if (const Status s = check_component(name); s != Status::ok) return s;
  if (is_dot_dot(name)) {
    const auto parent = open_parent(caller, directory);
    if (!parent) return parent.error();
    // Passes no name, so that the locator does not remember ".." in `directory` as a place of the parent directory.
    return found(directory, {}, parent->get());
  }
  auto fd = open_as_caller(caller, directory, name);
  if (!fd) return fd.error();
  if (is_dot(name)) return found(directory, {}, fd->get());
  auto child = found(directory, name, fd->get());
  const KeptNode* const kept = directory.fd.kept();
  if (!child || kept == nullptr) return child;
  kept->rights.note(owner_of_descriptors(caller), directory.stat.attributes, now, access::kMayExecute,
                    access::kMayExecute);
  kept_.keep(child->node, child->stat, *fd, PathBelow(*kept, name).view());
  return child;
}

NodeResult PosixFileSystem::lookup(const Caller& caller, const NodeKey& key, std::string_view name) {
  act_as_server();
  NodeResult result;
  const Time now = present_time();
  const auto directory = open_directory(key);
  if (!directory) {
    result.status = directory.error();
    return result;
  }
  result.directory.after = directory->stat.attributes;
  result.status = fill(result, look_up(caller, *directory, name, now));
  return result;
}

std::optional<NodeResult> PosixFileSystem::lookup_at_once(const Caller& caller, const NodeKey& key,
                                                          std::string_view name) {
  if (check_component(name) != Status::ok || is_dot(name) || is_dot_dot(name)) return std::nullopt;
  const KeptNodePtr directory = kept_.find(key);
  if (directory == nullptr) return std::nullopt;
  const auto stat = stat_fd(directory->fd.get());
  if (!stat || stat->attributes.links == 0 || !is_directory(*stat)) return std::nullopt;
  const auto may = directory->rights.find(owner_of_descriptors(caller), stat->attributes, access::kMayExecute);
  if (!may || (*may & access::kMayExecute) == 0) return std::nullopt;
  auto child = find_at_once(*directory, *stat, name);
  if (!child) return std::nullopt;
  NodeResult result;
  result.directory.after = stat->attributes;
  result.status = fill(result, *child);
  return result;
}

/// Looks `name` up without blocking. Returns nothing if this is not possible. `now` has the present attributes of
/// `directory`.
///
/// An object is in place if it still has the path under which it is kept. If the object kept under the path of `name`
/// is in place, the kernel has that path in its cache, so stat_at() does not block, unless a local program has renamed
/// or removed the object less than KeptNodes::kTrust ago. Equal inode and device numbers show that `name` leads to the
/// kept object. The numbers differ if a mount hides the object. While this is known (KnownName), the attributes of the
/// object are read without the name, which takes half the time.
///
/// The answer is valid only if `directory` is in place too. That `name` leads to the object proves this if the object
/// has only one name. If it has several names, is_in_place() checks `directory`.
std::optional<StatusOr<PosixFileSystem::Found>> PosixFileSystem::find_at_once(const KeptNode& directory,
                                                                              const NodeStat& now,
                                                                              std::string_view name) {
  const PathBelow path(directory, name);
  if (const KeptNodePtr kept = kept_.find(path.view()); kept != nullptr && kept_.is_in_place(*kept)) {
    const std::int64_t until = kept->in_place_until.load(std::memory_order_acquire);
    const bool known = kept->name.holds(now, until);
    const Time before = known ? Time{} : present_time();
    const auto stat = known ? stat_fd(kept->fd.get()) : stat_at(directory.fd.get(), name, AT_STATX_DONT_SYNC);
    const bool same = stat && stat->attributes.links != 0 && id_of(*stat) == kept->id;
    if (same && (is_directory(*stat) || stat->attributes.links == 1 || kept_.is_in_place(directory))) {
      if (!known) kept->name.note(now, before, until);
      return Found{kept->key, *stat};
    }
  }
  if (locator_->remembers() || !kept_.is_in_place(directory)) return std::nullopt;
  auto opened = open_component_at_once(directory.fd.get(), name);
  if (!opened) return std::nullopt;
  if (!*opened) return opened->error();
  Fd& fd = **opened;
  const auto stat = stat_fd(fd.get());
  const auto node = stat ? locator_->key_of(fd.get(), *stat, {}, {}) : stat.error();
  if (!node) return std::nullopt;
  kept_.keep_at_once(*node, *stat, fd, path.view());
  return Found{*node, *stat};
}

StatusOr<Fd> PosixFileSystem::open_as_caller(const Caller& caller, const Node& directory, std::string_view name) const {
  const ActingAs acting(user(caller));
  if (!acting) return status_of(identity_error());
  return open_component(directory.fd.get(), name);
}

/// Opens the parent of `directory` with the rights of `caller`. For the root of the export, opens the root itself,
/// because nothing above the root is exported.
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
  act_as_server();
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
  act_as_server();
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
