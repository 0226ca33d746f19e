// SPDX-License-Identifier: BSD-3-Clause
// Operation: each request is kSmallMessage octets that begin with {octets that follow, octets wanted back,
// repetitions}; the server answers each with a reply of kSmallMessage + the octets wanted. A depth above
// one is a stream: one request asks for many repetitions, or many bodies follow each other unanswered.
#include "raw_tcp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "child.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

struct Request {
  std::uint32_t body = 0;    // octets behind the request
  std::uint32_t answer = 0;  // octets behind the reply
  std::uint32_t repeat = 1;  // replies to one request, or bodies behind one request
};

void send_all(int fd, const void* data, std::size_t size) {
  for (const char* at = static_cast<const char*>(data); size != 0;) {
    const ssize_t n = ::send(fd, at, size, MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("send failed");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

void receive_all(int fd, void* data, std::size_t size) {
  for (char* at = static_cast<char*>(data); size != 0;) {
    const ssize_t n = ::recv(fd, at, size, 0);
    if (n <= 0) throw std::runtime_error("peer closed");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

void no_delay(int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void serve_one(int fd) {
  std::vector<char> bulk(kSmallMessage + (1 << 20), 'r');
  std::array<char, kSmallMessage> small{};
  for (;;) {
    receive_all(fd, small.data(), small.size());
    Request request;
    std::memcpy(&request, small.data(), sizeof request);
    for (std::uint32_t i = 0; i < request.repeat; ++i) {
      if (request.body != 0) receive_all(fd, bulk.data(), request.body);
      if (request.answer != 0) send_all(fd, bulk.data(), kSmallMessage + request.answer);
    }
    if (request.answer == 0) send_all(fd, small.data(), small.size());
  }
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void serve_stream(const std::function<void(std::uint16_t)>& ready) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 8) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("cannot listen");
  }
  ready(ntohs(address.sin_port));
  const int fd = ::accept(listener, nullptr, nullptr);
  no_delay(fd);
  serve_one(fd);
}

class RawTcp final : public Subject {
 public:
  RawTcp()
      : child_(serve_stream),
        fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        bulk_(kSmallMessage + (1 << 20), 'w') {
    const sockaddr_in address = loopback(child_.port());
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
    no_delay(fd_);
  }
  ~RawTcp() override { ::close(fd_); }
  RawTcp(const RawTcp&) = delete;
  RawTcp& operator=(const RawTcp&) = delete;

  std::string_view name() const override { return "raw_tcp"; }

  std::optional<double> run(Case which, std::chrono::milliseconds budget) override {
    switch (which) {
      case Case::null_rtt: return median_round_trip(budget, [this] { exchange({}); });
      case Case::read_1m_qd1: return sequential_rate(which, budget, [this] { exchange({0, 1 << 20}); });
      case Case::write_1m_qd1: return sequential_rate(which, budget, [this] { exchange({1 << 20, 0}); });
      case Case::read_1m_qd8: return stream(which, budget, {0, 1 << 20, kStream});
      case Case::write_1m_qd8: return stream(which, budget, {1 << 20, 0, kStream});
      case Case::read_4k_qd32: return stream(which, budget, {0, 4096, kStream * 16});
      case Case::null_rate_qd32: return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kStream = 64;  // operations in one stretch of a stream

  void exchange(const Request& request) {
    std::memcpy(bulk_.data(), &request, sizeof request);
    send_all(fd_, bulk_.data(), kSmallMessage + request.body);
    for (std::uint32_t i = 1; i < request.repeat && request.body != 0; ++i) send_all(fd_, bulk_.data(), request.body);
    const std::uint32_t replies = request.answer != 0 ? request.repeat : 1;
    for (std::uint32_t i = 0; i < replies; ++i) receive_all(fd_, bulk_.data(), kSmallMessage + request.answer);
  }
  double stream(Case which, std::chrono::milliseconds budget, const Request& request) {
    return sequential_rate(which, budget, [&] { exchange(request); }) * request.repeat;
  }

  Child child_;
  int fd_;
  std::vector<char> bulk_;
};

}  // namespace

std::unique_ptr<Subject> make_raw_tcp() { return std::make_unique<RawTcp>(); }

}  // namespace rpcrdma::bench
