// SPDX-License-Identifier: BSD-3-Clause
// Keeps values in registered memory. RDMA transfers data directly between this memory and the memory of clients; a
// piece that fits into a message may be copied instead.
#include <rpcrdma/server.hpp>

#include <boost/asio/use_awaitable.hpp>
#include <iostream>
#include <map>
#include <stdexcept>

#include "blobs.rpcrdma.hpp"

namespace asio = boost::asio;
using rpcrdma::BufferRef;
using rpcrdma::ServerCall;

namespace {

constexpr std::uint32_t kMaxSize = 64u << 20;
constexpr std::size_t kMaxBlobs = 16;
constexpr std::size_t kMaxUploads = 4;

struct Blob {
  std::vector<std::byte> bytes;
  rpcrdma::memory::RegisteredBuffer memory;  // registers `bytes`
  bool covers(std::uint32_t offset, std::uint32_t count) const {
    return count <= MAX_PIECE && offset <= bytes.size() && count <= bytes.size() - offset;
  }
  BufferRef part(std::uint32_t offset, std::uint32_t count) const { return memory.ref().slice(offset, count); }
};
using BlobPtr = std::shared_ptr<Blob>;

/// Used only on the one thread of the server. Each call in progress keeps a reference to the blob that it uses.
class Store {
 public:
  void upload(ServerCall<blobs::Upload> call) {
    const std::uint32_t size = call.args().size;
    if (size == 0 || size > kMaxSize) return call.reply({BLOB_BAD_RANGE, 0});
    auto blob = std::make_shared<Blob>();
    blob->bytes.resize(size);
    auto memory = rpcrdma::memory::adopt(call.pool().fabric(), blob->bytes);
    if (!memory) return call.reply({BLOB_FULL, 0});
    blob->memory = std::move(*memory);
    if (uploads_.size() == kMaxUploads)
      uploads_.erase(uploads_.begin());  // drops the oldest upload: its client has probably ended
    uploads_[++last_id_] = std::move(blob);
    call.reply({BLOB_OK, last_id_});
  }

  asio::awaitable<void> write(ServerCall<blobs::Write> call) {
    const write_args& args = call.args();
    const BlobPtr blob = find(uploads_, args.upload);
    if (!blob) co_return call.reply({BLOB_MISSING});
    if (!blob->covers(args.offset, args.data.length)) co_return call.reply({BLOB_BAD_RANGE});
    const BufferRef to = blob->part(args.offset, args.data.length);
    co_await call.async_fetch(args.data, {&to, 1}, asio::use_awaitable);  // into the blob, usually by RDMA Read
    call.reply({BLOB_OK});
  }

  void publish(ServerCall<blobs::Publish> call) {
    const std::string name = call.args().name;
    const std::uint32_t id = call.args().upload;
    const BlobPtr blob = find(uploads_, id);
    if (!blob) return call.reply({BLOB_MISSING});
    if (blobs_.size() == kMaxBlobs && !names_.contains(name)) return call.reply({BLOB_FULL});
    uploads_.erase(id);
    if (const auto old = names_.find(name); old != names_.end()) blobs_.erase(old->second);
    names_[name] = id;
    blobs_[id] = blob;
    call.reply({BLOB_OK});
    notify(name, static_cast<std::uint32_t>(blob->bytes.size()));
  }

  void find(ServerCall<blobs::Find> call) {
    const auto at = names_.find(call.args().name);
    if (at == names_.end()) return call.reply({BLOB_MISSING, 0, 0});
    call.reply({BLOB_OK, at->second, static_cast<std::uint32_t>(blobs_[at->second]->bytes.size())});
  }

  void read(ServerCall<blobs::Read> call) {
    const read_args& args = call.args();
    const BlobPtr blob = find(blobs_, args.blob);
    read_result result{blob ? BLOB_OK : BLOB_MISSING, {}};
    if (blob && !blob->covers(args.offset, args.count)) result.status = BLOB_BAD_RANGE;
    if (result.status != BLOB_OK) return call.reply(result);
    auto from = std::make_unique<BufferRef>(blob->part(args.offset, args.count));
    result.data.set_parts({from.get(), 1});
    call.reply(result, [blob, from = std::move(from)](auto) {
      // The RDMA Write reads directly from the memory of the blob. This handler does nothing, but it owns `blob` and
      // `from` until the library no longer needs that memory.
    });
  }

  void watch(ServerCall<blobs::Watch> call) {
    std::erase_if(watchers_, [](const auto& watcher) { return !watcher.second.alive(); });
    watchers_[call.peer()] = call.reverse_client();
    call.reply({});
  }

 private:
  static BlobPtr find(const std::map<std::uint32_t, BlobPtr>& in, std::uint32_t id) {
    const auto at = in.find(id);
    return at == in.end() ? nullptr : at->second;
  }
  void notify(std::string name, std::uint32_t size) {
    for (const auto& [peer, watcher] : watchers_)
      watcher.call<blob_events::Changed>({name.data(), size}, [](auto, auto) {});
  }

  std::uint32_t last_id_ = 0;
  std::map<std::uint32_t, BlobPtr> uploads_;
  std::map<std::uint32_t, BlobPtr> blobs_;
  std::map<std::string, std::uint32_t> names_;
  std::map<rpcrdma::fabric::Endpoint, rpcrdma::rpc::ReverseClient> watchers_;
};

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) throw std::invalid_argument("usage: blob-server ADDRESS");
  rpcrdma::Server server({.listen = {arguments[1]}});
  // The store is destroyed before the server, because the server owns the fabric with which the blobs are registered.
  // The handlers below may refer to the store, because they run only during server.run().
  Store store;
  server.on<blobs::Upload>([&](auto call) { store.upload(std::move(call)); });
  server.on<blobs::Write>([&](auto call) { return store.write(std::move(call)); });
  server.on<blobs::Publish>([&](auto call) { store.publish(std::move(call)); });
  server.on<blobs::Find>([&](auto call) { store.find(std::move(call)); });
  server.on<blobs::Read>([&](auto call) { store.read(std::move(call)); });
  server.on<blobs::Watch>([&](auto call) { store.watch(std::move(call)); });
  return server.run();
} catch (const std::exception& failed) {
  std::cerr << "blob-server: " << failed.what() << '\n';
  return 1;
}
