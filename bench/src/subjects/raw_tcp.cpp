// SPDX-License-Identifier: BSD-3-Clause
// Operation: each request is kSmallMessage bytes that begin with {bytes that follow, bytes wanted back,
// repetitions, depth}; the server answers each with a reply of kSmallMessage + the bytes wanted. With a depth
// above one, the data form a stream: one request asks for many replies, or has many bodies and gets one reply.
// Bulk bytes are page-aligned, and received in turn into as many buffers as the depth of the case, but at most
// kBuffers. With `spin`, both sides poll for a small message; they block only when none has arrived for kSpin, which
// happens between rounds.
#include "raw_tcp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>

#include "child.hpp"
#include "loopback.hpp"
#include "rpcrdma/base/fd.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

constexpr std::uint32_t kBulk = 1u << 20;
constexpr std::uint32_t kBuffers = 8;
constexpr std::chrono::milliseconds kSpin{2};

struct Request {
  std::uint32_t body = 0;    // bytes of each body: the bulk data that follows a request
  std::uint32_t answer = 0;  // bytes of the bulk data that follows each reply
  std::uint32_t repeat = 1;  // if `body` is not 0, the number of bodies; if `answer` is not 0, the number of replies
  std::uint32_t depth = 1;   // the depth of the case; bulk data uses as many buffers in turn, but at most kBuffers
};

/// A small message and bulk data, which one system call can send or receive together.
struct Memory {
  Memory()
      : bulk(static_cast<char*>(::mmap(nullptr, std::size_t{kBuffers} * kBulk, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (bulk == MAP_FAILED) throw std::bad_alloc();
    std::memset(bulk, 'r', std::size_t{kBuffers} * kBulk);
  }
  ~Memory() { ::munmap(bulk, std::size_t{kBuffers} * kBulk); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Returns the memory of one transfer: the first `small_bytes` bytes of the small message, and then the first `bytes`
  /// bytes of a buffer for bulk data. The transfers with consecutive values of `number` use the buffers in turn.
  std::array<iovec, 2> vectors(std::size_t small_bytes, std::uint32_t number, std::uint32_t bytes) {
    return {{{small.data(), small_bytes}, {bulk + std::size_t{number % kBuffers} * kBulk, bytes}}};
  }

  char* bulk;
  std::array<char, kSmallMessage> small{};
};

/// Transfers all of `vectors` with `step`, which is sendmsg or recvmsg.
template <class Step>
void move_all(std::array<iovec, 2> vectors, Step&& step) {
  std::size_t first = 0;
  while (first < vectors.size()) {
    msghdr message{};
    message.msg_iov = vectors.data() + first;
    message.msg_iovlen = vectors.size() - first;
    const ssize_t n = step(message);
    if (n <= 0) throw std::runtime_error("the peer has ended");
    auto left = static_cast<std::size_t>(n);
    while (first < vectors.size() && left >= vectors[first].iov_len) left -= vectors[first++].iov_len;
    if (first == vectors.size()) return;
    vectors[first].iov_base = static_cast<char*>(vectors[first].iov_base) + left;
    vectors[first].iov_len -= left;
  }
}

void send_all(int fd, const std::array<iovec, 2>& vectors) {
  move_all(vectors, [fd](const msghdr& message) { return ::sendmsg(fd, &message, MSG_NOSIGNAL); });
}

/// Blocks for a small message. For bulk data, waits in poll() and then receives all that has arrived, because a
/// blocking recvmsg() wakes up for each segment.
void receive_all(int fd, const std::array<iovec, 2>& vectors) {
  if (vectors[1].iov_len == 0) return move_all(vectors, [fd](msghdr& message) { return ::recvmsg(fd, &message, 0); });
  move_all(vectors, [fd](msghdr& message) {
    for (;;) {
      const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT);
      if (n >= 0 || errno != EAGAIN) return n;
      pollfd readable{fd, POLLIN, 0};
      ::poll(&readable, 1, -1);
    }
  });
}

ssize_t receive_spinning(int fd, msghdr& message) {
  const auto end = Clock::now() + kSpin;
  do {
    const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT);
    if (n >= 0 || errno != EAGAIN) return n;
  } while (Clock::now() < end);
  return ::recvmsg(fd, &message, 0);
}

void receive_small(int fd, Memory& memory, bool spin) {
  if (!spin) return receive_all(fd, memory.vectors(kSmallMessage, 0, 0));
  move_all(memory.vectors(kSmallMessage, 0, 0), [fd](msghdr& message) { return receive_spinning(fd, message); });
}

void no_delay(int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void serve_one(int fd, Memory& memory, bool spin) {
  for (;;) {
    receive_small(fd, memory, spin);
    Request request;
    std::memcpy(&request, memory.small.data(), sizeof request);
    for (std::uint32_t i = 0; i < request.repeat; ++i) {
      if (request.body != 0) receive_all(fd, memory.vectors(0, i % request.depth, request.body));
      if (request.answer != 0) send_all(fd, memory.vectors(kSmallMessage, 0, request.answer));
    }
    if (request.answer == 0) send_all(fd, memory.vectors(kSmallMessage, 0, 0));
  }
}

void serve_stream(bool spin, const Child::Ready& ready) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener.get(), 8) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("cannot listen");
  }
  ready(ntohs(address.sin_port));
  Memory memory;
  for (;;) {
    const Fd connection(::accept(listener.get(), nullptr, nullptr));
    no_delay(connection.get());
    try {
      serve_one(connection.get(), memory, spin);
    } catch (const std::runtime_error&) {  // the client has disconnected: accept the next one
    }
  }
}

class RawTcp final : public Subject {
 public:
  explicit RawTcp(bool spin) : spin_(spin), child_([spin](Board&, const auto& ready) { serve_stream(spin, ready); }) {}

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    if (spin_ && which.operation != Operation::null) return std::nullopt;
    switch (which.operation) {
      case Operation::null: return which.depth == 1 ? exchanges(which, budget, {}) : std::nullopt;
      case Operation::read: return exchanges(which, budget, {0, which.bytes});
      case Operation::write: return exchanges(which, budget, {which.bytes, 0});
      case Operation::setup: return setup_rate(which, budget, [this] { set_up(); });
      default: return std::nullopt;
    }
  }

  Usage usage() override { return child_.usage(); }

 private:
  /// The maximum number of bulk bytes in the one-way stream that one request starts.
  static constexpr std::uint32_t kStream = 64u << 20;

  std::optional<Outcome> exchanges(const Case& which, std::chrono::milliseconds budget, Request request) {
    if (!socket_) connect();
    if (which.depth == 1) return one_by_one(which, budget, [&] { exchange(request); });
    request.depth = which.depth;
    request.repeat = std::min(kStream / which.bytes, 1024u);
    const Outcome stretches = sequential_rate(which, budget, [&] { exchange(request); });
    return Outcome{stretches.value * request.repeat, stretches.operations * request.repeat};
  }

  void exchange(const Request& request) {
    std::memcpy(memory_.small.data(), &request, sizeof request);
    send_all(socket_.get(), memory_.vectors(kSmallMessage, 0, request.body));
    for (std::uint32_t i = 1; i < request.repeat && request.body != 0; ++i)
      send_all(socket_.get(), memory_.vectors(0, i % request.depth, request.body));
    if (request.body == 0 && request.answer == 0) return receive_small(socket_.get(), memory_, spin_);
    const std::uint32_t replies = request.answer != 0 ? request.repeat : 1;
    for (std::uint32_t i = 0; i < replies; ++i)
      receive_all(socket_.get(), memory_.vectors(kSmallMessage, i % request.depth, request.answer));
  }

  void connect() {
    socket_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(child_.port());
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
    no_delay(socket_.get());
  }
  void set_up() {
    socket_ = {};  // closes an earlier connection, because the server serves only one connection at a time
    connect();
    exchange({});
    socket_ = {};
  }

  bool spin_;
  Child child_;
  Fd socket_;
  Memory memory_;
};

}  // namespace

std::unique_ptr<Subject> make_raw_tcp() { return std::make_unique<RawTcp>(false); }
std::unique_ptr<Subject> make_raw_tcp_spin() { return std::make_unique<RawTcp>(true); }

}  // namespace rpcrdma::bench
