// SPDX-License-Identifier: BSD-3-Clause
#include "scripted_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

namespace rpcrdma::nfs {

namespace asio = boost::asio;

namespace {

const asio::ip::address kLoopback = asio::ip::make_address("127.0.0.1");

}  // namespace

nfs_fh3 handle_of(std::uint8_t number) {
  nfs_fh3 out{};
  const std::array bytes{std::byte{0xfe}, std::byte{number}};
  out.set(bytes);
  return out;
}

std::uint8_t number_of(const nfs_fh3& handle) { return std::to_integer<std::uint8_t>(handle.octets()[1]); }

FileHandle file_of(std::uint8_t number) { return FileHandle(handle_of(number).octets()); }

post_op_attr attributes_of_type(ftype3 type, std::uint64_t size, std::uint32_t mode) {
  post_op_attr out{};
  out.attributes_follow = TRUE;
  fattr3& attributes = out.post_op_attr_u.attributes;
  attributes.type = type;
  attributes.mode = type == NF3DIR ? 0755 : mode;
  attributes.nlink = 1;
  attributes.size = size;
  return out;
}

ScriptedServer::ScriptedServer(asio::io_context& context)
    : context_(context), network_(context), fabric_(network_.make_fabric("server")), pool_(*fabric_) {
  transport::ServerOptions options;
  server_ = transport::Server::make({{fabric_.get(), &pool_, &dispatcher_}}, options, Log());
}

ScriptedServer::~ScriptedServer() {
  bool closed = false;
  server_->close(std::chrono::steady_clock::now(), [&closed] { closed = true; });
  context_.restart();
  while (!closed) context_.run_one();
}

void ScriptedServer::on_write(std::function<WRITE3res(const WRITE3args&, std::string)> answer) {
  write_ = std::move(answer);
  dispatcher_.on<nfs3::Write>([this](rpc::ServerCall<nfs3::Write> call) { return write(std::move(call)); });
}

asio::awaitable<void> ScriptedServer::write(rpc::ServerCall<nfs3::Write> call) {
  const bulk_data& data = call.args().data;
  memory::RegisteredBuffer buffer = std::move(*call.pool().allocate(std::max(data.length, 1u)));
  const BufferRef into = buffer.first(data.length);
  error_code failed;
  co_await call.async_reserve(data.length, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return;
  co_await call.async_fetch(data, {&into, 1}, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return;
  std::string bytes(reinterpret_cast<const char*>(into.data), into.size);
  const WRITE3res result = write_(call.args(), std::move(bytes));
  call.reply(result);
}

void ScriptedServer::listen() {
  error_code failed;
  server_->listen({kLoopback, 0}, [&](Result<fabric::Endpoint> listening) {
    failed = listening ? error_code() : listening.error();
    if (listening) port_ = listening->port();
  });
  while (port_ == 0 && !failed) context_.run_one();
  ASSERT_FALSE(failed) << failed.message();
}

void ScriptedServer::run(const std::function<asio::awaitable<void>(Client&)>& body, ClientOptions options) {
  if (port_ == 0) listen();
  bool ended = false;
  std::exception_ptr thrown;
  const auto main = [&]() -> asio::awaitable<void> {
    const auto client = co_await Client::connect_over(network_.make_fabric("client"), {kLoopback, port_}, options);
    if (!client) throw std::runtime_error(client.error().message());
    co_await body(**client);
  };
  asio::co_spawn(context_, main(), [&](std::exception_ptr e) {
    thrown = e;
    ended = true;
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  context_.restart();
  while (!ended && std::chrono::steady_clock::now() < deadline) context_.run_one_until(deadline);
  if (thrown) std::rethrow_exception(thrown);
  ASSERT_TRUE(ended) << "the client's operation did not end";
}

Listing& Listing::add_bare(std::string name, std::uint64_t cookie) {
  names_.push_back(std::make_unique<std::string>(std::move(name)));
  entryplus3 entry{};
  entry.name.set(*names_.back());
  entry.cookie = cookie;
  entry.fileid = cookie;
  entries_.push_back(entry);
  return *this;
}

Listing& Listing::add(std::string name, std::uint64_t cookie, ftype3 type, std::uint8_t handle) {
  add_bare(std::move(name), cookie);
  entries_.back().name_attributes = attributes_of_type(type);
  entries_.back().name_handle.handle_follows = TRUE;
  entries_.back().name_handle.post_op_fh3_u.handle = handle_of(handle);
  return *this;
}

READDIRPLUS3res Listing::result(bool eof) {
  READDIRPLUS3res out{};
  out.status = NFS3_OK;
  dirlistplus3& reply = out.READDIRPLUS3res_u.resok.reply;
  reply.entries.count = static_cast<u_int>(entries_.size());
  reply.entries.items = entries_.data();
  reply.eof = eof ? TRUE : FALSE;
  return out;
}

}  // namespace rpcrdma::nfs
