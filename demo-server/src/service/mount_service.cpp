// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/service/mount_service.hpp"

#include "rpcrdma/rpc/mount3.hpp"
#include "service/convert.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace mount3 = rpc::mount3;

constexpr std::size_t kMaxMounts = 1024;

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

/// In order of preference (RFC 1813 section 5.2.1).
std::array<int, 2>& flavors() {
  static std::array<int, 2> list{static_cast<int>(rpc::AuthFlavor::sys), static_cast<int>(rpc::AuthFlavor::none)};
  return list;
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
  if (mounts_.size() >= kMaxMounts) mounts_.pop_front();
  mounts_.push_back({std::move(host), std::move(path)});
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

void MountService::add_to(rpc::Dispatcher& dispatcher) {
  dispatcher.on<mount3::Mnt>([this](rpc::ServerCall<mount3::Mnt> call) {
    const std::string_view path = without_slashes(call.args().view());
    const Export* found = exports_.find(path);
    if (found == nullptr) return call.reply(refused(MNT3ERR_NOENT));
    if (!found->allows(call.peer().address())) {
      log_.warn("{} may not mount {}", host_of(call), found->name);
      return call.reply(refused(MNT3ERR_ACCES));
    }
    mounts_.add(host_of(call), found->name);
    mountres3 result = refused(MNT3_OK);
    mountres3_ok& ok = result.mountres3_u.mountinfo;
    ok.fhandle = to_wire(codec_.encode(found->id, found->file_system->root()));
    ok.auth_flavors.auth_flavors_len = static_cast<u_int>(flavors().size());
    ok.auth_flavors.auth_flavors_val = flavors().data();
    call.reply(result);
  });
  dispatcher.on<mount3::Umnt>([this](rpc::ServerCall<mount3::Umnt> call) {
    mounts_.remove(host_of(call), without_slashes(call.args().view()));
    call.reply({});
  });
  dispatcher.on<mount3::Umntall>([this](rpc::ServerCall<mount3::Umntall> call) {
    mounts_.remove_all(host_of(call));
    call.reply({});
  });
  dispatcher.on<mount3::Dump>([this](rpc::ServerCall<mount3::Dump> call) {
    auto reply = std::make_unique<DumpReply>();
    reply->mounts = mounts_.all();
    for (const MountTable::Mount& m : reply->mounts) {
      mountbody& body = reply->items.emplace_back();
      body.ml_hostname.set(m.host);
      body.ml_directory.set(m.path);
    }
    const mount_list result{static_cast<u_int>(reply->items.size()), reply->items.data()};
    call.reply(result, [reply = std::move(reply)](error_code) {});
  });
  dispatcher.on<mount3::Export>([this](rpc::ServerCall<mount3::Export> call) {
    auto reply = std::make_unique<ExportReply>();
    for (const auto& e : exports_.all()) {
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
  });
}

}  // namespace rpcrdma::nfsd
