// SPDX-License-Identifier: BSD-3-Clause
// Operation: calls on names, except CREATE with REMOVE, are measured in batches. Each of the kBatch calls of a batch
// uses a different directory. Directories that RMDIR needs are made, and those that MKDIR leaves are removed, outside
// the measured time.
// Ownership: the server belongs to the subject, and so does its directory.
// Error handling: if ganesha cannot run here, the subject is unavailable; other failures are std::runtime_error.
#include "libnfs_subject.hpp"

#include <fmt/core.h>

#include <cstring>
#include <stdexcept>

#include "ganesha.hpp"
#include "libnfs_connection.hpp"
#include "material.hpp"
#include "nfs_server.hpp"

namespace rpcrdma::bench {
namespace {

constexpr std::uint32_t kPiece = 1u << 20;

nfs_fh3 borrowed(std::string& handle) { return {{static_cast<u_int>(handle.size()), handle.data()}}; }

sattr3 mode_of(std::uint32_t mode) {
  sattr3 attributes{};
  attributes.mode.set_it = 1;
  attributes.mode.set_mode3_u.mode = mode;
  return attributes;
}

/// A server, and the values that clients need to connect to it.
struct Server {
  std::unique_ptr<Child> ours{};
  std::unique_ptr<Ganesha> ganesha{};
  std::string path{};

  std::uint16_t nfs_port() const { return ganesha ? ganesha->nfs_port() : ours->port(); }
  std::uint16_t mount_port() const { return ganesha ? ganesha->mount_port() : ours->port(); }
  Usage usage() const { return ganesha ? ganesha->child().usage_of_program() : ours->usage(); }
};

Server start(const Setting& setting, TcpServer which, const TemporaryDirectory& folder) {
  if (which == TcpServer::ganesha)
    return {.ganesha = std::make_unique<Ganesha>(folder), .path = folder.exported().string()};
  return {.ours = start_nfs_server(setting, ExportKind::directory_async, folder, NfsPort::tcp), .path = "/bench"};
}

class Libnfs final : public Subject {
 public:
  Libnfs(const Setting& setting, TcpServer which) : server_(start(setting, which, folder_)) {
    try {
      libnfs_mount(server_.mount_port(), server_.path);
    } catch (const std::runtime_error& error) {
      if (which == TcpServer::ganesha)
        throw Unavailable(std::string("nfs-ganesha does not serve here: ") + error.what());
      throw;
    }
  }

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    if (!nfs_) connect();
    switch (which.operation) {
      case Operation::attributes:
      case Operation::read:
      case Operation::write: return on_file(which, budget);
      case Operation::lookup:
      case Operation::set_mode:
      case Operation::rename:
      case Operation::mkdir:
      case Operation::rmdir: return on_names(which, budget);
      case Operation::create_remove: return one_by_one(which, budget, [this] { create_remove(); });
      case Operation::read_directory: return read_directory(which, budget);
      default: return std::nullopt;
    }
  }

  Usage usage() override { return server_.usage(); }

 private:
  using Sequence = LibnfsConnection::Sequence;

  void connect() {
    make_file(folder_.exported() / "file", kFileBytes);
    root_ = libnfs_mount(server_.mount_port(), server_.path);
    nfs_ = std::make_unique<LibnfsConnection>(server_.nfs_port(), NFS_PROGRAM, NFS_V3);
    file_ = find(root_, "file");
    pass(&Libnfs::mkdir, "names");
    names_ = find(root_, "names");
    data_.assign(kPiece, 'w');
  }

  // Each of these functions starts one call, and returns the result of libnfs.
  int mkdir(std::string& directory, std::string name, rpc_cb done, void* data) {
    MKDIR3args args{{borrowed(directory), name.data()}, mode_of(0755)};
    return rpc_nfs3_mkdir_async(nfs_->context(), done, &args, data);
  }
  int rmdir(std::string& directory, std::string name, rpc_cb done, void* data) {
    RMDIR3args args{{borrowed(directory), name.data()}};
    return rpc_nfs3_rmdir_async(nfs_->context(), done, &args, data);
  }
  int create(std::string& directory, std::string name, rpc_cb done, void* data) {
    CREATE3args args{};
    args.where = {borrowed(directory), name.data()};
    args.how.mode = GUARDED;
    args.how.createhow3_u.g_obj_attributes = mode_of(0644);
    return rpc_nfs3_create_async(nfs_->context(), done, &args, data);
  }
  int remove(std::string& directory, std::string name, rpc_cb done, void* data) {
    REMOVE3args args{{borrowed(directory), name.data()}};
    return rpc_nfs3_remove_async(nfs_->context(), done, &args, data);
  }
  int lookup(std::string& directory, std::string name, rpc_cb done, void* data) {
    LOOKUP3args args{{borrowed(directory), name.data()}};
    return rpc_nfs3_lookup_async(nfs_->context(), done, &args, data);
  }
  int rename(std::string& directory, std::string from, std::string to, rpc_cb done, void* data) {
    RENAME3args args{{borrowed(directory), from.data()}, {borrowed(directory), to.data()}};
    return rpc_nfs3_rename_async(nfs_->context(), done, &args, data);
  }
  int set_mode(std::string& object, std::uint32_t mode, rpc_cb done, void* data) {
    SETATTR3args args{};
    args.object = borrowed(object);
    args.new_attributes = mode_of(mode);
    return rpc_nfs3_setattr_async(nfs_->context(), done, &args, data);
  }
  int on_file(Operation which, std::uint64_t number, std::uint32_t bytes, rpc_cb done, void* data) {
    const std::uint64_t offset = number * bytes % kFileBytes;
    if (which == Operation::attributes) {
      GETATTR3args args{borrowed(file_)};
      return rpc_nfs3_getattr_async(nfs_->context(), done, &args, data);
    }
    if (which == Operation::read) {
      READ3args args{borrowed(file_), offset, bytes};
      return rpc_nfs3_read_async(nfs_->context(), done, &args, data);
    }
    WRITE3args args{borrowed(file_), offset, bytes, UNSTABLE, {bytes, data_.data()}};
    return rpc_nfs3_write_async(nfs_->context(), done, &args, data);
  }

  /// Makes one call on a name in the root. The call must succeed.
  void pass(int (Libnfs::*start)(std::string&, std::string, rpc_cb, void*), const char* name) {
    nfs_->run(
        {.submit = [&](std::uint64_t, rpc_cb done, void* data) { return (this->*start)(root_, name, done, data); },
         .limit = 1});
  }

  std::string find(std::string& directory, const std::string& name) {
    std::string handle;
    nfs_->call([&](rpc_cb done, void* data) { return lookup(directory, name, done, data); },
               [&](const void* data) {
                 const auto& result = *static_cast<const LOOKUP3res*>(data);
                 if (result.status != NFS3_OK) return;
                 const nfs_fh3& found = result.LOOKUP3res_u.resok.object;
                 handle.assign(found.data.data_val, found.data.data_len);
               });
    if (handle.empty()) nfs_->fail("cannot look up " + name);
    return handle;
  }

  Outcome on_file(const Case& which, std::chrono::milliseconds budget) {
    std::vector<double> samples;
    const auto start = Clock::now();
    const std::uint64_t done =
        nfs_->run({.submit = [&](std::uint64_t number, rpc_cb landed,
                                 void* data) { return on_file(which.operation, number, which.bytes, landed, data); },
                   .depth = which.depth,
                   .end = start + budget,
                   .samples = which.unit == "us" ? &samples : nullptr});
    return which.unit == "us" ? typical(samples) : rate(which, done, seconds_since(start));
  }

  /// Starts call `number` of a batch.
  int on_name(Operation which, std::uint64_t number, rpc_cb done, void* data) {
    switch (which) {
      case Operation::mkdir: return mkdir(names_, fmt::format("made{}", number), done, data);
      case Operation::rmdir: return rmdir(names_, fmt::format("made{}", number), done, data);
      case Operation::lookup: return lookup(names_, fmt::format("{}{}", prefix_, number), done, data);
      case Operation::set_mode: return set_mode(objects_[number], mode_, done, data);
      default:
        return rename(names_, fmt::format("{}{}", prefix_, number), fmt::format("{}{}", other_, number), done, data);
    }
  }

  /// One batch of calls; returns the seconds that it took.
  double batch(Operation which, std::uint32_t depth, std::vector<double>* samples) {
    const auto start = Clock::now();
    nfs_->run(
        {.submit = [&](std::uint64_t number, rpc_cb done, void* data) { return on_name(which, number, done, data); },
         .depth = depth,
         .limit = kBatch,
         .samples = samples});
    return seconds_since(start);
  }

  Outcome on_names(const Case& which, std::chrono::milliseconds budget) {
    if (objects_.empty()) make_objects();
    std::vector<double> samples;
    std::uint64_t done = 0;
    double seconds = 0;
    const auto end = Clock::now() + budget;
    do {
      if (which.operation == Operation::rmdir) batch(Operation::mkdir, 32, nullptr);
      seconds += batch(which.operation, which.depth, &samples);
      done += kBatch;
      if (which.operation == Operation::mkdir) batch(Operation::rmdir, 32, nullptr);
      if (which.operation == Operation::rename) std::swap(prefix_, other_);
      mode_ ^= 0111;
    } while (Clock::now() < end);
    return which.unit == "us" ? typical(samples) : rate(which, done, seconds);
  }

  void make_objects() {
    nfs_->run({.submit = [this](std::uint64_t number, rpc_cb done,
                                void* data) { return mkdir(names_, fmt::format("{}{}", prefix_, number), done, data); },
               .depth = 32,
               .limit = kBatch});
    for (std::uint32_t i = 0; i < kBatch; ++i) objects_.push_back(find(names_, fmt::format("{}{}", prefix_, i)));
  }

  void create_remove() {
    pass(&Libnfs::create, "c");
    pass(&Libnfs::remove, "c");
  }

  Outcome read_directory(const Case& which, std::chrono::milliseconds budget) {
    if (!std::filesystem::exists(folder_.exported() / "list")) fill_directory(folder_.exported() / "list");
    std::string directory = find(root_, "list");
    const Outcome lists = sequential_rate(which, budget, [&] { list(directory); });
    return {lists.value * kListed, lists.operations * kListed};
  }

  void list(std::string& directory) {
    READDIRPLUS3args args{};
    args.dir = borrowed(directory);
    args.dircount = args.maxcount = 1u << 20;
    std::uint32_t found = 0;
    bool over = false;
    while (!over) {
      const std::uint32_t before = found;
      nfs_->call(
          [&](rpc_cb done, void* data) { return rpc_nfs3_readdirplus_async(nfs_->context(), done, &args, data); },
          [&](const void* data) {
            const auto& result = *static_cast<const READDIRPLUS3res*>(data);
            if (result.status != NFS3_OK) return;
            const READDIRPLUS3resok& page = result.READDIRPLUS3res_u.resok;
            over = page.reply.eof != 0;
            std::memcpy(args.cookieverf, page.cookieverf, sizeof args.cookieverf);
            for (const entryplus3* entry = page.reply.entries; entry != nullptr; entry = entry->nextentry) {
              args.cookie = entry->cookie;
              if (entry->name[0] != '.' && entry->name_attributes.attributes_follow != 0) ++found;
            }
          });
      if (!over && found == before) nfs_->fail("READDIRPLUS returned no entries before the end of the directory");
    }
    if (found != kListed) nfs_->fail("the directory was not listed completely");
  }

  TemporaryDirectory folder_;
  Server server_;
  std::unique_ptr<LibnfsConnection> nfs_;
  std::string root_, file_, names_;
  std::vector<std::string> objects_;  // handles of the directories `prefix_`0, `prefix_`1, ...
  std::string prefix_ = "here";
  std::string other_ = "there";
  std::uint32_t mode_ = 0755;
  std::vector<char> data_;
};

}  // namespace

std::unique_ptr<Subject> make_libnfs(const Setting& setting, TcpServer server) {
  return std::make_unique<Libnfs>(setting, server);
}

}  // namespace rpcrdma::bench
