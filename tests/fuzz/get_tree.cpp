// SPDX-License-Identifier: BSD-3-Clause
// Runs `get -r` or `get -r --resume` over the loopback fabric, with a server whose replies are taken from the input.
// Whatever the server replies, the copy ends, nothing outside of the target directory changes, and no copied file has a
// set-id bit.
//
// The input is one byte of options, then the entries of the listings, in pages. The copy makes several calls at once,
// so each of the first kMaxReplies replies depends only on the arguments of its call.
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "input.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/nfs3.hpp"

namespace {

using namespace rpcrdma;
using fuzz::Input;
using fuzz::require;
namespace asio = boost::asio;
namespace fs = std::filesystem;
namespace nfs3 = rpc::nfs3;

// The server fails all calls after this number of replies, so that the copy of a tree that contains itself ends.
constexpr std::size_t kMaxReplies = 400;
constexpr std::string_view kPrecious = "precious";

struct Entry {
  std::uint8_t flags = 0;
  std::uint8_t type = 0;
  std::uint8_t handle = 0;
  std::uint8_t cookie = 0;
  std::uint16_t mode = 0;
  std::uint64_t size = 0;
  std::string name;
};
constexpr std::uint8_t kAttributes = 1;
constexpr std::uint8_t kHandle = 2;
constexpr std::uint8_t kLastOfPage = 4;
constexpr std::uint8_t kEnd = 8;
constexpr std::uint8_t kFails = 16;
constexpr std::uint8_t kLarge = 32;
constexpr std::uint8_t kLongName = 64;

Entry read_entry(Input& in) {
  Entry entry;
  entry.flags = in.u8();
  const std::uint8_t kind = in.u8();
  entry.type = kind & 15;
  entry.handle = kind >> 4;
  entry.cookie = in.u8();
  entry.mode = in.u16();
  entry.size = std::uint64_t{in.u8()} << ((entry.flags & kLarge) != 0 ? 56 : 8);
  const Octets name = in.octets(in.u8() % 32u);
  const std::size_t times = (entry.flags & kLongName) != 0 ? 20 : 1;
  for (std::size_t i = 0; i < times; ++i) entry.name.append(reinterpret_cast<const char*>(name.data()), name.size());
  return entry;
}

nfs_fh3 handle_of(std::uint8_t number) {
  nfs_fh3 out{};
  const std::array bytes{std::byte{number}};
  out.set(bytes);
  return out;
}
std::uint8_t number_of(const nfs_fh3& handle) {
  return handle.octets().empty() ? 0 : std::to_integer<std::uint8_t>(handle.octets()[0]);
}

post_op_attr attributes_of(const Entry& entry) {
  post_op_attr out{};
  out.attributes_follow = TRUE;
  fattr3& a = out.post_op_attr_u.attributes;
  a.type = static_cast<ftype3>(entry.type);
  a.mode = entry.mode;
  a.size = entry.size;
  a.fileid = entry.cookie;
  a.atime.seconds = a.mtime.seconds = entry.mode;
  // A value of a second or more is invalid. A hostile server may send it.
  a.mtime.nseconds = entry.cookie * std::uint32_t{10'000'000};
  return out;
}

/// A server whose replies are taken from the input.
class HostileServer {
 public:
  HostileServer(fabric::LoopbackNetwork& network, Input in, std::string_view text)
      : fabric_(network.make_fabric("server")), pool_(*fabric_), text_(text) {
    while (!in.ended()) entries_.push_back(read_entry(in));
    entries_.emplace_back().flags = kLastOfPage | kEnd;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (i == 0 || (entries_[i - 1].flags & kLastOfPage) != 0) pages_.push_back(i);
    answer();
    server_ = transport::Server::make({{fabric_.get(), &pool_, &dispatcher_}}, {}, {});
    server_->listen({asio::ip::make_address("127.0.0.1"), 0},
                    [this](Result<fabric::Endpoint> at) { endpoint = at.value(); });
  }

  void close(asio::io_context& context) {
    bool closed = false;
    server_->close(std::chrono::steady_clock::now(), [&closed] { closed = true; });
    context.restart();
    while (!closed) require(context.run_one() != 0);
  }

  std::optional<fabric::Endpoint> endpoint;

 private:
  void answer() {
    on<nfs3::Readdirplus>([this](const READDIRPLUS3args& args) { return page(args); });
    on<nfs3::Readlink>([this](const READLINK3args& args) {
      READLINK3res out{};
      out.READLINK3res_u.resok.data.set_text(text_from(args.symlink, 300));
      return out;
    });
    on<nfs3::Read>([this](const READ3args& args) {
      READ3res out{};
      const std::string_view data = text_from(args.file, args.count);
      out.READ3res_u.resok.data.set_text(data);
      out.READ3res_u.resok.count = static_cast<count3>(data.size());
      out.READ3res_u.resok.eof = one_of(args.file).flags & kEnd ? TRUE : FALSE;
      return out;
    });
    on<nfs3::Lookup>([this](const LOOKUP3args& args) {
      const Entry& entry = entries_[(number_of(args.what.dir) + args.what.name.view().size()) % entries_.size()];
      LOOKUP3res out{};
      out.LOOKUP3res_u.resok.object = handle_of(entry.handle);
      if ((entry.flags & kAttributes) != 0) out.LOOKUP3res_u.resok.obj_attributes = attributes_of(entry);
      return out;
    });
    on<nfs3::Getattr>([this](const GETATTR3args& args) {
      GETATTR3res out{};
      out.GETATTR3res_u.resok.obj_attributes = attributes_of(one_of(args.object)).post_op_attr_u.attributes;
      return out;
    });
  }

  template <class P>
  void on(std::function<typename P::Result(const typename P::Args&)> reply) {
    dispatcher_.on<P>([this, reply = std::move(reply)](rpc::ServerCall<P> call) {
      typename P::Result result{};
      if (++replies_ > kMaxReplies)
        result.status = NFS3ERR_IO;
      else
        result = reply(call.args());
      call.reply(result);
    });
  }

  const Entry& one_of(const nfs_fh3& handle) const { return entries_[number_of(handle) % entries_.size()]; }
  std::string_view text_from(const nfs_fh3& handle, std::size_t most) const {
    return text_.substr(std::min<std::size_t>(number_of(handle), text_.size()), most);
  }

  READDIRPLUS3res page(const READDIRPLUS3args& args) {
    const std::size_t first = pages_[(number_of(args.dir) * std::size_t{7} + args.cookie) % pages_.size()];
    std::size_t last = first;
    while ((entries_[last].flags & kLastOfPage) == 0) ++last;
    READDIRPLUS3res out{};
    if ((entries_[last].flags & kFails) != 0) {
      out.status = NFS3ERR_ACCES;
      return out;
    }
    listed_.clear();
    for (std::size_t i = first; i <= last; ++i) {
      const Entry& entry = entries_[i];
      entryplus3& one = listed_.emplace_back();
      one = {};
      one.name.set(entry.name);
      one.cookie = one.fileid = entry.cookie;
      if ((entry.flags & kAttributes) != 0) one.name_attributes = attributes_of(entry);
      one.name_handle.handle_follows = (entry.flags & kHandle) != 0 ? TRUE : FALSE;
      if ((entry.flags & kHandle) != 0) one.name_handle.post_op_fh3_u.handle = handle_of(entry.handle);
    }
    dirlistplus3& reply = out.READDIRPLUS3res_u.resok.reply;
    reply.entries.count = static_cast<u_int>(listed_.size());
    reply.entries.items = listed_.data();
    reply.eof = (entries_[last].flags & kEnd) != 0 ? TRUE : FALSE;
    return out;
  }

  std::unique_ptr<fabric::LoopbackFabric> fabric_;
  memory::Pool pool_;
  rpc::Dispatcher dispatcher_;
  std::unique_ptr<transport::Server> server_;
  std::string_view text_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> pages_;  // index of the first entry of each page
  std::vector<entryplus3> listed_;
  std::size_t replies_ = 0;
};

class Observer final : public nfs::CopyObserver {
 public:
  void on_found(std::uint64_t) override {}
  void on_moved(std::uint64_t) override {}
  void on_file_done() override {}
  void on_problem(std::string_view, const error_code& why) override { require(static_cast<bool>(why)); }
};

/// A directory that contains the target of the copy, and a directory beside it that must not change.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "fuzz_get_tree.XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    top_ = name;
    fs::create_directory(top_ / "beside");
    std::ofstream(top_ / "beside/file") << kPrecious;
    fs::last_write_time(top_ / "beside", kThen);
    fs::last_write_time(top_ / "beside/file", kThen);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string prepare() const {
    fs::create_directory(top_ / "into");
    fs::create_directory(top_ / "into/d");
    std::ofstream(top_ / "into/f") << "here before";
    fs::create_symlink("../beside", top_ / "into/l");
    return (top_ / "into").string();
  }
  void check() const {
    std::size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(top_)) entries += entry.path().filename() != "into";
    require(entries == 1);
    require(std::distance(fs::directory_iterator(top_ / "beside"), fs::directory_iterator()) == 1);
    for (const char* name : {"beside", "beside/file"}) require(fs::last_write_time(top_ / name) == kThen);
    std::ifstream file(top_ / "beside/file");
    require(std::string(std::istreambuf_iterator<char>(file), {}) == kPrecious);
    check_modes((top_ / "into").string());
    fs::remove_all(top_ / "into");
  }

 private:
  /// Uses fts(3), because paths in a tree that contains itself may be longer than PATH_MAX.
  static void check_modes(std::string root) {
    const std::array<char*, 2> roots{root.data(), nullptr};
    FTS* const walk = ::fts_open(roots.data(), FTS_PHYSICAL, nullptr);
    require(walk != nullptr);
    while (const FTSENT* entry = ::fts_read(walk)) {
      require(entry->fts_info != FTS_ERR && entry->fts_info != FTS_NS);
      require(S_ISLNK(entry->fts_statp->st_mode) || (entry->fts_statp->st_mode & 06000) == 0);
    }
    require(::fts_close(walk) == 0);
  }

  static constexpr fs::file_time_type kThen{std::chrono::seconds(1)};
  fs::path top_;
};

asio::awaitable<void> copy(fabric::LoopbackNetwork& network, fabric::Endpoint server, const std::string& into,
                           std::uint8_t flags) {
  nfs::ClientOptions options;
  options.uid = options.gid = 0;
  const auto client = co_await nfs::Client::connect_over(network.make_fabric("client"), server, options);
  require(client.has_value());
  Observer observer;
  nfs::CopyOptions copying;
  copying.files = 4;
  copying.walkers = 1 + (flags & 1);
  copying.resume = (flags & 2) != 0;
  nfs::Copier copier(**client, observer, {4096, 4096}, copying);
  auto target = nfs::LocalDirectory::open(into);
  require(target.has_value());
  nfs::Node root;
  root.handle = nfs::FileHandle(handle_of(0).octets());
  root.attributes.type = nfs::FileType::directory;
  root.attributes.mode = 0755;
  static_cast<void>(co_await copier.download_tree(root, std::move(*target), (flags & 4) != 0 ? "d" : ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string into = folder.prepare();
  Input in(data, size);
  const std::uint8_t flags = in.u8();
  asio::io_context context;
  fabric::LoopbackNetwork network(context);
  {
    HostileServer server(network, in, fuzz::text_of(data, size));
    while (!server.endpoint) require(context.run_one() != 0);
    bool ended = false;
    asio::co_spawn(context, copy(network, *server.endpoint, into, flags), [&](std::exception_ptr thrown) {
      require(thrown == nullptr);
      ended = true;
    });
    context.restart();
    while (!ended) require(context.run_one() != 0);
    server.close(context);
  }
  context.restart();
  context.poll();
  folder.check();
  return 0;
}
