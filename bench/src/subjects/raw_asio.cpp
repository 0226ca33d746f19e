// SPDX-License-Identifier: BSD-3-Clause
// Operation: the client writes a message of kSmallMessage bytes; the server reads it, and writes it back.
// Ownership: socket and bytes belong to an End, which outlives its event loop's run.
// Error handling: any error ends the loop; the client then finds its round trip incomplete, and throws.
#include "raw_asio.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <stdexcept>

#include "child.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

struct End {
  explicit End(boost::asio::io_context& context) : socket(context) {}
  tcp::socket socket;
  std::array<char, kSmallMessage> message{};
};

void echo(End& end) {
  boost::asio::async_read(end.socket, boost::asio::buffer(end.message), [&end](error_code failed, std::size_t) {
    if (failed) return;
    boost::asio::async_write(end.socket, boost::asio::buffer(end.message), [&end](error_code unsent, std::size_t) {
      if (!unsent) echo(end);
    });
  });
}

void serve_echo(Board&, const Child::Ready& ready) {
  boost::asio::io_context context(1);
  tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  ready(acceptor.local_endpoint().port());
  End end(context);
  acceptor.accept(end.socket);
  end.socket.set_option(tcp::no_delay(true));
  echo(end);
  context.run();
}

class RawAsio final : public Subject {
 public:
  RawAsio() : child_(serve_echo) {}

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    if (which.operation != Operation::null || which.depth != 1) return std::nullopt;
    if (!end_.socket.is_open()) {
      end_.socket.connect({boost::asio::ip::address_v4::loopback(), child_.port()});
      end_.socket.set_option(tcp::no_delay(true));
    }
    return one_by_one(which, budget, [this] { exchange(); });
  }

  Usage usage() override { return child_.usage(); }

 private:
  void exchange() {
    bool back = false;
    boost::asio::async_write(end_.socket, boost::asio::buffer(end_.message), [&](error_code unsent, std::size_t) {
      if (unsent) return;
      boost::asio::async_read(end_.socket, boost::asio::buffer(end_.message),
                              [&](error_code failed, std::size_t) { back = !failed; });
    });
    context_.restart();
    context_.run();
    if (!back) throw std::runtime_error("the echo has ended");
  }

  Child child_;
  boost::asio::io_context context_{1};
  End end_{context_};
};

}  // namespace

std::unique_ptr<Subject> make_raw_asio() { return std::make_unique<RawAsio>(); }

}  // namespace rpcrdma::bench
