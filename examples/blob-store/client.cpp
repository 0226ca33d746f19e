// SPDX-License-Identifier: BSD-3-Clause
// Puts a file into the store, gets one, or watches for changes. Maps the file and registers the mapping, so that the
// server reads from it or writes to it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/client.hpp>

#include <boost/asio/use_future.hpp>
#include <deque>
#include <future>
#include <iostream>

#include "blobs.rpcrdma.hpp"

namespace asio = boost::asio;
using rpcrdma::BufferRef;

namespace {

constexpr std::size_t kInFlight = 8;

void check(blob_status status) {
  static constexpr const char* kTexts[] = {"ok", "no such blob", "bad range", "the store is full"};
  if (status != BLOB_OK) throw std::runtime_error(kTexts[status < 4 ? status : 2]);
}
[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// A file mapped into memory.
class Mapping {
 public:
  /// Maps an existing file. The mapping is private, because a private mapping is writable even if the file is opened
  /// only for reading, and the registration of memory requires that the memory is writable.
  explicit Mapping(const char* path) {
    const int file = ::open(path, O_RDONLY);
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0) fail(path);
    map(file, static_cast<std::size_t>(status.st_size), MAP_PRIVATE, path);
  }
  /// Creates the file, of `size` bytes, for writing.
  Mapping(const char* path, std::size_t size) {
    const int file = ::open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(size)) != 0) fail(path);
    map(file, size, MAP_SHARED, path);
  }
  ~Mapping() { ::munmap(bytes_.data(), bytes_.size()); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  void map(int file, std::size_t size, int kind, const char* path) {
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kind, file, 0);
    if (at == MAP_FAILED) fail(path);
    ::close(file);
    bytes_ = {static_cast<std::byte*>(at), size};
  }
  std::span<std::byte> bytes_;
};

/// Makes a call for each piece of `memory` by `start(part, offset)`, with at most kInFlight calls in flight. Returns
/// when no call uses the memory any more.
template <class Start>
void in_pieces(BufferRef memory, Start start) {
  std::vector<BufferRef> parts;
  parts.reserve(memory.size / MAX_PIECE + 1);  // so that push_back() moves no element, as calls refer to them
  struct Window : std::deque<decltype(start(parts[0], 0u))> {
    ~Window() {
      for (auto& call : *this) call.wait();
    }
    void finish() {
      auto first = std::move(this->front());
      this->pop_front();
      check(first.get()->status);
    }
  } window;
  for (std::uint32_t offset = 0; offset < memory.size; offset += MAX_PIECE) {
    if (window.size() == kInFlight) window.finish();
    parts.push_back(memory.slice(offset, std::min<std::uint32_t>(MAX_PIECE, memory.size - offset)));
    window.push_back(start(parts.back(), offset));
  }
  while (!window.empty()) window.finish();
}

void put(rpcrdma::Client& client, char* name, const char* path) {
  const Mapping file(path);
  const auto memory = client.adopt(file.bytes(), asio::use_future).get();
  auto upload = client.call<blobs::Upload>({memory.ref().size}, asio::use_future).get();
  check(upload->status);
  in_pieces(memory.ref(), [&](const BufferRef& part, std::uint32_t offset) {
    write_args args{upload->upload, offset, {}};
    args.data.set_parts({&part, 1});
    return client.call<blobs::Write>(args, asio::use_future);
  });
  check(client.call<blobs::Publish>({upload->upload, name}, asio::use_future).get()->status);
}

void get(rpcrdma::Client& client, char* name, const char* path) {
  auto found = client.call<blobs::Find>({name}, asio::use_future).get();
  check(found->status);
  const Mapping file(path, found->size);
  const auto memory = client.adopt(file.bytes(), asio::use_future).get();
  in_pieces(memory.ref(), [&](const BufferRef& part, std::uint32_t offset) {
    return client.call<blobs::Read>({found->blob, offset, part.size}, rpcrdma::CallOptions().into({&part, 1}),
                                    asio::use_future);
  });
}

void watch(rpcrdma::Client& client) {
  client.on<blob_events::Changed>([](rpcrdma::ServerCall<blob_events::Changed> call) {
    std::cout << "changed " << call.args().name << ' ' << call.args().size << std::endl;
    call.reply({});
  });
  // Watches on each new connection, because the server forgets a client whose connection is lost.
  client.on_connected([&client] { client.call<blobs::Watch>({}, [](auto, auto) {}); });
  client.call<blobs::Watch>({}, asio::use_future).get();
  std::cout << "watching" << std::endl;
  ::pause();
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string_view command = count > 2 ? arguments[2] : "";
  if (!((command == "watch" && count == 3) || ((command == "put" || command == "get") && count == 5))) {
    std::cerr << "usage: blob-client ADDRESS put NAME FILE | get NAME FILE | watch\n";
    return 2;
  }
  rpcrdma::Client client(arguments[1]);
  if (command == "put") put(client, arguments[3], arguments[4]);
  if (command == "get") get(client, arguments[3], arguments[4]);
  if (command == "watch") watch(client);
} catch (const std::exception& failed) {
  std::cerr << "blob-client: " << failed.what() << '\n';
  return 1;
}
