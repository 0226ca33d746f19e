// SPDX-License-Identifier: BSD-3-Clause
#include "served.hpp"

#include <sys/stat.h>

namespace rpcrdma::nfsd {
namespace {

std::filesystem::path temporary_directory() {
  std::string text = (std::filesystem::temp_directory_path() / "nfsd-proto-XXXXXX").string();
  if (::mkdtemp(text.data()) == nullptr) throw std::runtime_error("mkdtemp");
  return text;
}

}  // namespace

Served::Served() : disk_(temporary_directory()), state_(temporary_directory()) {
  client_options_.credential = rpc::Credential::sys(1234, 4321);
}

Served::~Served() {
  client_.reset();
  connection_.reset();
  if (server_ != nullptr) {
    bool closed = false;
    server_->close(std::chrono::steady_clock::now() + std::chrono::seconds(5), [&] { closed = true; });
    EXPECT_TRUE(test::run_until(context_, [&] { return closed; }));
  }
  io_.join();
  test::run_ready(context_);
  server_.reset();
  if (worker_ != nullptr) {
    EXPECT_EQ(worker_->pool().counters().lent, 0u) << "all buffers are back";
  }
  worker_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(disk_, ignored);
  std::filesystem::remove_all(state_, ignored);
}

ExportSpec Served::spec_of(const std::string& name, const std::string& options) {
  ::umask(0);  // as the server does
  std::filesystem::create_directories(disk_ / name.substr(1));
  const std::string text = (in_memory() ? "memory" : (disk_ / name.substr(1)).string()) + ":" + name + options;
  const auto parsed = parse_export(text);
  EXPECT_TRUE(parsed) << parsed.error().text;
  return parsed ? *parsed : ExportSpec();
}

void Served::add_export(const std::string& name, const std::string& options) {
  const auto added = exports_.add(spec_of(name, options), state_, Log{});
  ASSERT_TRUE(added) << added.error().text;
}

void Served::start() {
  add_export("/data", ",no_root_squash");
  auto server_fabric = network_.make_fabric("server");
  server_fabric_ = server_fabric.get();
  worker_ = std::make_unique<FabricWorker>(std::move(server_fabric), shared_, Log{});
  server_ = transport::Server::make({worker_->worker()}, server_options_, Log{});
  bool heard = false;
  server_->listen({boost::asio::ip::make_address("127.0.0.1"), 0}, [&](Result<fabric::Endpoint> bound) {
    ASSERT_TRUE(bound);
    endpoint_ = *bound;
    heard = true;
  });
  ASSERT_TRUE(test::run_until(context_, [&] { return heard; }));
  client_fabric_ = network_.make_fabric("client");
  client_pool_ = std::make_unique<memory::Pool>(*client_fabric_);
  reconnect();
}

void Served::reconnect() {
  client_.reset();
  connection_ = transport::Client::make(*client_fabric_, *client_pool_, endpoint_, {}, Log{});
  client_ = std::make_unique<rpc::Client>(connection_->requester(), context_.get_executor(), client_options_);
}

Reply<mountres3> Served::mount(std::string_view path) {
  dirpath args{};
  args.set(path);
  return call<mount3::Mnt>(args);
}

nfs_fh3 Served::root(std::string_view path) {
  const auto reply = mount(path);
  EXPECT_EQ(reply->fhs_status, MNT3_OK);
  return reply->mountres3_u.mountinfo.fhandle;
}

nfs_fh3 Served::create(const nfs_fh3& directory, std::string_view name, std::string_view content) {
  CREATE3args args{};
  args.where = in(directory, name);
  args.how.mode = GUARDED;
  const auto reply = call<nfs3::Create>(args);
  EXPECT_EQ(reply->status, NFS3_OK) << name;
  const CREATE3resok& ok = reply->CREATE3res_u.resok;
  EXPECT_TRUE(ok.obj.handle_follows && ok.obj_attributes.attributes_follow);
  const nfs_fh3 handle = ok.obj.post_op_fh3_u.handle;
  if (!content.empty()) {
    EXPECT_EQ(write(handle, 0, content, content.size() > 1000).status, NFS3_OK);
  }
  return handle;
}

nfs_fh3 Served::mkdir(const nfs_fh3& directory, std::string_view name) {
  MKDIR3args args{};
  args.where = in(directory, name);
  const auto reply = call<nfs3::Mkdir>(args);
  EXPECT_EQ(reply->status, NFS3_OK) << name;
  return reply->MKDIR3res_u.resok.obj.post_op_fh3_u.handle;
}

LOOKUP3res Served::lookup(const nfs_fh3& directory, std::string_view name) {
  return *call<nfs3::Lookup>({in(directory, name)}).value;
}

fattr3 Served::stat(const nfs_fh3& object) {
  const auto reply = call<nfs3::Getattr>({object});
  EXPECT_EQ(reply->status, NFS3_OK);
  return reply->GETATTR3res_u.resok.obj_attributes;
}

WRITE3res Served::write(const nfs_fh3& file, std::uint64_t offset, std::string_view data, bool registered,
                        stable_how stable) {
  WRITE3args args{};
  args.file = file;
  args.offset = offset;
  args.count = static_cast<count3>(data.size());
  args.stable = stable;
  memory::RegisteredBuffer buffer;
  BufferRef part;
  if (registered) {
    auto made = client_pool_->allocate(args.count);
    EXPECT_TRUE(made);
    buffer = std::move(*made);
    std::memcpy(buffer.octets().data(), data.data(), data.size());
    part = buffer.ref();
    args.data.set_parts({&part, 1});
  } else {
    args.data.set_octets(std::as_bytes(std::span(data)));
  }
  return *call<nfs3::Write>(args).value;
}

std::string Served::read(const nfs_fh3& file, std::uint64_t offset, std::uint32_t count, bool& eof) {
  auto buffer = client_pool_->allocate(count);
  EXPECT_TRUE(buffer);
  const BufferRef part = buffer->ref();
  rpc::CallOptions options;
  options.into({&part, 1});
  const auto reply = call<nfs3::Read>({file, offset, count}, options);
  EXPECT_EQ(reply->status, NFS3_OK);
  if (reply->status != NFS3_OK) return {};
  const READ3resok& ok = reply->READ3res_u.resok;
  EXPECT_TRUE(ok.file_attributes.attributes_follow);
  EXPECT_EQ(ok.count, ok.data.length);
  eof = ok.eof != FALSE;
  return {reinterpret_cast<const char*>(part.data), ok.count};
}

}  // namespace rpcrdma::nfsd
