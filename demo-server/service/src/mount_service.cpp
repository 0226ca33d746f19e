// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/service/mount_service.hpp"

#include "convert.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace mount3 = rpc::mount3;

constexpr std::size_t kMaxMounts = 1024;
/// Encoded bytes of a reply to DUMP without its entries: RPC header, end of list.
constexpr std::size_t kListAround = 24 + 4;
/// The bytes of the bulk budget that a call of DUMP or EXPORT reserves. One half is for the list in memory, and the
/// other half is for the encoded reply.
constexpr std::uint32_t kListRoom = 2 * mount3::kMaxList;
constexpr unsigned kMaxLinks = 40;  // the most symbolic links that one path may lead through: the limit of Linux

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

template <rpc::Procedure P>
std::string host_of(const rpc::ServerCall<P>& call) {
  return call.peer().address().to_string();
}

mountres3 refused(mountstat3 status) {
  mountres3 result{};
  result.fhs_status = status;
  return result;
}

/// The accepted flavors, in order of preference (RFC 1813 section 5.2.1).
std::array<int, 2>& flavors() {
  static std::array<int, 2> list{static_cast<int>(rpc::AuthFlavor::sys), static_cast<int>(rpc::AuthFlavor::none)};
  return list;
}

mountres3 mounted(const FileHandle& handle) {
  mountres3 result = refused(MNT3_OK);
  mountres3_ok& ok = result.mountres3_u.mountinfo;
  ok.fhandle = to_wire(handle);
  ok.auth_flavors.auth_flavors_len = static_cast<u_int>(flavors().size());
  ok.auth_flavors.auth_flavors_val = flavors().data();
  return result;
}

mountstat3 mount_status(Status status) noexcept {
  switch (status) {
    case Status::ok: return MNT3_OK;
    case Status::noent:
    case Status::stale: return MNT3ERR_NOENT;
    case Status::perm: return MNT3ERR_PERM;
    case Status::acces: return MNT3ERR_ACCES;
    case Status::notdir: return MNT3ERR_NOTDIR;
    case Status::nametoolong: return MNT3ERR_NAMETOOLONG;
    case Status::io: return MNT3ERR_IO;
    default: return MNT3ERR_SERVERFAULT;
  }
}

/// True if a component of the path is "." or "..", which could lead up.
bool has_dots(std::string_view path) noexcept {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (is_dot(name) || is_dot_dot(name)) return true;
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return false;
}

/// Follows the symbolic link `link`. `rest` is the part of the path after the link. Returns the target of the link
/// followed by `rest`: the path that the caller must walk instead, from the directory of the link. Refuses an absolute
/// target, because it names a path of this machine, and clients see only the exports.
boost::system::result<std::string, Status> follow(FileSystem& fs, const NodeKey& link, const std::string& rest) {
  const ReadlinkResult read = fs.read_link(link);
  if (read.status != Status::ok) return read.status;
  if (read.target.starts_with('/')) return Status::notdir;
  std::string path = read.target + '/' + rest;
  if (path.size() > kMaxTarget) return Status::nametoolong;
  return path;
}

/// Returns the directory at `path`, by one LOOKUP for each component from the root directory on. Uses the rights of
/// the server's user root. The rights of the caller would not suffice: a client mounts as root on behalf of its users,
/// and most exports squash root. Later calls that use the handle are checked with the rights of their callers. Follows
/// relative symbolic links. The root directory is its own parent, so that no link leads out of the file system.
boost::system::result<NodeKey, Status> walk(FileSystem& fs, std::string_view path) {
  Caller server;
  server.uid = server.gid = 0;
  if (has_dots(path)) return Status::noent;
  NodeKey node = fs.root();
  std::string rest(path);
  for (unsigned links = 0; !rest.empty();) {
    const std::string name = rest.substr(0, rest.find('/'));
    rest.erase(0, name.size() + 1);
    if (name.empty()) continue;
    const NodeResult found = fs.lookup(server, node, name);
    if (found.status != Status::ok) return found.status;
    if (!found.attributes) return Status::notdir;
    if (found.attributes->type == FileType::symlink) {
      if (++links > kMaxLinks) return Status::notdir;
      auto target = follow(fs, found.node, rest);
      if (!target) return target.error();
      rest = std::move(*target);
    } else if (found.attributes->type != FileType::directory) {
      return Status::notdir;
    } else {
      node = found.node;
    }
  }
  return node;
}

/// The part of `path` after the name of an export, beginning with '/'; empty if `path` is not below the export.
std::string_view below(std::string_view path, std::string_view name) noexcept {
  if (name == "/") return path;
  if (!path.starts_with(name) || path.size() == name.size() || path[name.size()] != '/') return {};
  return path.substr(name.size());
}

/// The encoded size of a mount in the reply to DUMP.
std::size_t encoded_size(const MountTable::Mount& m) noexcept {
  return 4 + 4 + pad4(m.host.size()) + 4 + pad4(m.path.size());
}

/// Runs `serve`, a void(rpc::ServerCall<P>), when the bulk budget has room for the list in the reply to `call`. Rejects
/// `call` if the reservation fails.
template <rpc::Procedure P, class Serve>
void with_room(rpc::ServerCall<P> call, Serve serve) {
  rpc::async_reserve(std::move(call), kListRoom, [serve](error_code status, rpc::ServerCall<P> resumed) {
    if (status) return resumed.reject(rpc::AcceptStat::system_err);
    serve(std::move(resumed));
  });
}

struct DumpReply {
  std::vector<MountTable::Mount> mounts;
  std::vector<mountbody> items;
};

struct ExportReply {
  std::vector<std::vector<std::string>> texts;
  std::vector<std::vector<groupnode>> groups;
  std::vector<exportnode> items;
};

}  // namespace

void MountTable::add(std::string host, std::string path) {
  const std::lock_guard lock(mutex_);
  mounts_.remove_if([&](const Mount& m) { return m.host == host && m.path == path; });
  mounts_.push_back({std::move(host), std::move(path)});
  std::size_t size = kListAround;
  for (const Mount& m : mounts_) size += encoded_size(m);
  while (mounts_.size() > kMaxMounts || size > mount3::kMaxList) {
    size -= encoded_size(mounts_.front());
    mounts_.pop_front();
  }
}

void MountTable::remove(const std::string& host, std::string_view path) {
  const std::lock_guard lock(mutex_);
  mounts_.remove_if([&](const Mount& m) { return m.host == host && m.path == path; });
}

void MountTable::remove_all(const std::string& host) {
  const std::lock_guard lock(mutex_);
  mounts_.remove_if([&](const Mount& m) { return m.host == host; });
}

std::vector<MountTable::Mount> MountTable::all() const {
  const std::lock_guard lock(mutex_);
  return {mounts_.begin(), mounts_.end()};
}

bool MountService::refuse(MntCall& call, const ExportPtr& exported) {
  if (exported->admits(call.peer(), call.over_tcp())) return false;
  log_.about(call.subject(), &refusals_)
      .warn("mount of {} refused: {}", exported->name,
            exported->allows(call.peer().address()) ? "the client's port is not below 1024"
                                                    : "the client's address is not allowed");
  call.reply(refused(MNT3ERR_ACCES));
  return true;
}

void MountService::mount(MntCall call) {
  const std::string_view path = without_slashes(call.args().view());
  if (const ExportPtr& found = exports_.find(path); found != nullptr) {
    if (refuse(call, found)) return;
    mounts_.add(host_of(call), found->name);
    return call.reply(mounted(codec_.encode(found->id, found->file_system->root())));
  }
  ExportPtr nearest;
  if (call.over_tcp() && path.starts_with('/')) {
    for (const ExportPtr& e : exports_.all())
      if (!below(path, e->name).empty() && (nearest == nullptr || nearest->name.size() < e->name.size())) nearest = e;
  }
  if (nearest == nullptr) return call.reply(refused(MNT3ERR_NOENT));
  if (refuse(call, nearest)) return;
  const std::string_view rest = below(path, nearest->name);
  mount_below(std::move(call), std::move(nearest), rest);
}

/// Mounts the directory at the path `rest` below the root of `exported`. `rest` is a view of the arguments of `call`,
/// which stay valid until the call is answered.
void MountService::mount_below(MntCall call, ExportPtr exported, std::string_view rest) {
  io_.submit([this, call = std::move(call), exported = std::move(exported), rest](const HandleCodec& codec) mutable {
    const auto node = walk(*exported->file_system, rest);
    if (!node) return call.reply(refused(mount_status(node.error())));
    mounts_.add(host_of(call), std::string(without_slashes(call.args().view())));
    call.reply(mounted(codec.encode(exported->id, *node)));
  });
}

void MountService::dump(DumpCall call) {
  auto reply = std::make_unique<DumpReply>();
  reply->mounts = mounts_.all();
  for (const MountTable::Mount& m : reply->mounts) {
    mountbody& body = reply->items.emplace_back();
    body.ml_hostname.set(m.host);
    body.ml_directory.set(m.path);
  }
  const mount_list result{static_cast<u_int>(reply->items.size()), reply->items.data()};
  call.reply(result, [reply = std::move(reply)](error_code) {});
}

void MountService::list_exports(ExportCall call) {
  auto reply = std::make_unique<ExportReply>();
  for (const ExportPtr& e : exports_.all()) {
    auto& texts = reply->texts.emplace_back();
    auto& groups = reply->groups.emplace_back();
    for (const Cidr& range : e->allow) texts.push_back(range.text());
    for (const std::string& text : texts) groups.emplace_back().gr_name.set(text);
    exportnode& node = reply->items.emplace_back();
    node.ex_dir.set(e->name);
    node.ex_groups = {static_cast<u_int>(groups.size()), groups.data()};
  }
  const export_list result{static_cast<u_int>(reply->items.size()), reply->items.data()};
  call.reply(result, [reply = std::move(reply)](error_code) {});
}

void MountService::add_to(rpc::Dispatcher& dispatcher) {
  dispatcher.on<mount3::Mnt>([this](MntCall call) { mount(std::move(call)); });
  dispatcher.on<mount3::Umnt>([this](rpc::ServerCall<mount3::Umnt> call) {
    mounts_.remove(host_of(call), without_slashes(call.args().view()));
    call.reply({});
  });
  dispatcher.on<mount3::Umntall>([this](rpc::ServerCall<mount3::Umntall> call) {
    mounts_.remove_all(host_of(call));
    call.reply({});
  });
  dispatcher.on<mount3::Dump>(
      [this](DumpCall call) { with_room(std::move(call), [this](DumpCall resumed) { dump(std::move(resumed)); }); });
  dispatcher.on<mount3::Export>([this](ExportCall call) {
    with_room(std::move(call), [this](ExportCall resumed) { list_exports(std::move(resumed)); });
  });
}

}  // namespace rpcrdma::nfsd
