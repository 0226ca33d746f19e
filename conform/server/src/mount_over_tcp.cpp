// SPDX-License-Identifier: BSD-3-Clause
// One call of MOUNT over TCP, with the record marks of RFC 5531 section 11. Blocks; each step has the timeout of the
// options.
#include "mount_over_tcp.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "rpcrdma/conform/codec/rpc.hpp"

namespace rpcrdma::conform {
namespace {

namespace asio = boost::asio;

constexpr std::uint32_t kLastFragment = 0x80000000, kLongestReply = 65536;

/// Reserved ports, as servers may refuse calls from other ports.
constexpr unsigned short kFirstPort = 600, kLastPort = 1023;

class Stream {
 public:
  explicit Stream(const ServerOptions& options) : patience_(options.patience), socket_(context_) {
    const asio::ip::tcp::endpoint server(options.server.address(), *options.mount_port);
    socket_.open(server.protocol());
    bind_reserved(server.protocol());
    finish([&](auto done) { socket_.async_connect(server, done); });
  }

  void send(View message) {
    const Bytes record = Out().u32(kLastFragment | static_cast<std::uint32_t>(message.size())).raw(message).bytes();
    finish([&](auto done) {
      asio::async_write(socket_, asio::buffer(record), [done](auto failed, std::size_t) { done(failed); });
    });
  }

  Bytes receive() {
    Bytes out;
    for (bool last = false; !last;) {
      const std::uint32_t mark = In(bytes(4)).u32();
      last = (mark & kLastFragment) != 0;
      const std::uint32_t size = mark & ~kLastFragment;
      if (size == 0 && !last) throw CaseFailed("MOUNT over TCP: an empty fragment");
      if (size > kLongestReply - out.size()) throw CaseFailed("MOUNT over TCP: a reply that is too long");
      const Bytes fragment = bytes(size);
      out.insert(out.end(), fragment.begin(), fragment.end());
    }
    return out;
  }

 private:
  /// Binds to a reserved port. Without the privilege to do so, leaves the socket unbound.
  void bind_reserved(const asio::ip::tcp& protocol) {
    boost::system::error_code failed;
    for (unsigned short port = kLastPort; port >= kFirstPort; --port) {
      socket_.bind({protocol, port}, failed);
      if (failed != asio::error::address_in_use) return;
    }
  }
  Bytes bytes(std::size_t size) {
    Bytes out(size);
    finish([&](auto done) {
      asio::async_read(socket_, asio::buffer(out), [done](auto failed, std::size_t) { done(failed); });
    });
    return out;
  }
  /// Runs one operation until it ends or its time limit passes.
  template <class Start>
  void finish(Start start) {
    boost::system::error_code result;
    start([&result](const boost::system::error_code& failed) { result = failed; });
    context_.restart();
    context_.run_for(patience_);
    if (!context_.stopped()) {
      socket_.close();
      context_.run();
      result = asio::error::timed_out;
    }
    if (result) throw boost::system::system_error(result);
  }

  const std::chrono::milliseconds patience_;
  asio::io_context context_;
  asio::ip::tcp::socket socket_;
};

}  // namespace

nfs::Mount mount_over_tcp(const ServerOptions& options) {
  RpcCall call;
  call.xid = 1;
  call.program = nfs::kMountProgram;
  call.version = nfs::kMountVersion;
  call.procedure = nfs::kMountMnt;
  call.credential = auth_sys(options.uid, options.gid);
  call.arguments = Out().text(options.export_path).bytes();
  try {
    Stream stream(options);
    stream.send(encode(call));
    const RpcReply reply = decode_reply(stream.receive());
    if (reply.status != kAccepted || reply.accept != kSuccess) throw CaseFailed("MOUNT over TCP: " + describe(reply));
    return nfs::decode_mount(reply.results);
  } catch (const boost::system::system_error& failed) {
    throw CaseFailed("MOUNT over TCP: " + failed.code().message());
  }
}

}  // namespace rpcrdma::conform
