// SPDX-License-Identifier: BSD-3-Clause
#include "tirpc_tcp.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <rpc/rpc.h>
#include <sys/socket.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bench.h"
#include "child.hpp"
#include "rpcrdma/tirpc.h"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

constexpr u_int kBuffer = (1 << 20) + 8192;
constexpr timeval kTimeout{30, 0};

// The casts are needed because libtirpc declares xdr_void() without parameters.
const xdrproc_t nothing = reinterpret_cast<xdrproc_t>(reinterpret_cast<void*>(&xdr_void));

void dispatch(svc_req* request, SVCXPRT* transport) {
  static std::vector<char> bulk(1 << 20, 'r');
  switch (request->rq_proc) {
    case BENCH_NULL: svc_sendreply(transport, nothing, nullptr); return;
    case BENCH_READ: {
      bench_read_args args{};
      if (!svc_getargs(transport, reinterpret_cast<xdrproc_t>(xdr_bench_read_args), reinterpret_cast<char*>(&args)) ||
          args.count > bulk.size()) {
        svcerr_decode(transport);
        return;
      }
      bench_read_res res{};
      res.data.data_val = bulk.data();
      res.data.data_len = args.count;
      svc_sendreply(transport, reinterpret_cast<xdrproc_t>(xdr_bench_read_res), reinterpret_cast<char*>(&res));
      return;
    }
    case BENCH_WRITE: {
      static std::vector<char> sink(1 << 20);
      bench_write_args args{};
      args.data.data_val = sink.data();  // xdr_bytes decodes into it
      args.data.data_len = static_cast<u_int>(sink.size());
      if (!svc_getargs(transport, reinterpret_cast<xdrproc_t>(xdr_bench_write_args), reinterpret_cast<char*>(&args))) {
        svcerr_decode(transport);
        return;
      }
      svc_sendreply(transport, nothing, nullptr);
      return;
    }
    default: svcerr_noproc(transport);
  }
}

void serve_by_door(const Setting& setting, const Child::Ready& ready) {
  const std::string poll = setting.poll_text();
  rpcrdma_svc_options options{};
  options.rdma_version = transport::name_of(setting.server).data();
  options.poll = poll.c_str();
  options.listen = "127.0.0.1:0";
  SVCXPRT* transport = rpcrdma_svc_create(&options);
  if (transport == nullptr || !svc_reg(transport, BENCH_PROGRAM, BENCH_V1, dispatch, nullptr)) {
    throw std::runtime_error("cannot serve");
  }
  ready(transport->xp_port);
  rpcrdma_svc_run();
}

void serve_program(const Child::Ready& ready) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);  // accepted sockets inherit this option
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 8) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("cannot listen");
  }
  SVCXPRT* transport = svc_vc_create(fd, kBuffer, kBuffer);
  if (transport == nullptr || !svc_reg(transport, BENCH_PROGRAM, BENCH_V1, dispatch, nullptr)) {
    throw std::runtime_error("cannot serve");
  }
  ready(ntohs(address.sin_port));
  svc_run();
}

class TirpcProgram final : public Subject {
 public:
  /// If `door` is not null, client and server use rpcrdma/tirpc.h with these settings, and `stable_opaques` is an
  /// option of the client. If `door` is null, they use libtirpc over TCP.
  explicit TirpcProgram(const Setting* door, bool stable_opaques = false)
      : door_(door != nullptr),
        stable_opaques_(stable_opaques),
        version_(transport::name_of(door_ ? door->client : transport::VersionChoice::one).data()),
        poll_(door_ ? door->poll_text() : std::string()),
        child_([&](Board&, const auto& ready) { return door_ ? serve_by_door(*door, ready) : serve_program(ready); }) {}
  ~TirpcProgram() override { disconnect(); }
  TirpcProgram(const TirpcProgram&) = delete;
  TirpcProgram& operator=(const TirpcProgram&) = delete;

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    if (which.operation == Operation::setup) return setup_rate(which, budget, [this] { set_up(); });
    if (client_ == nullptr) connect();
    switch (which.operation) {
      case Operation::null: return one_by_one(which, budget, [this] { null(); });
      case Operation::read: return one_by_one(which, budget, [&] { read(which.bytes); });
      case Operation::write: return one_by_one(which, budget, [&] { write(which.bytes); });
      default: return std::nullopt;
    }
  }

  Usage usage() override { return child_.usage(); }

 private:
  void connect() {
    if (door_)
      connect_by_door();
    else
      connect_by_tcp();
    if (client_ == nullptr) throw std::runtime_error(clnt_spcreateerror("cannot make a libtirpc client"));
  }
  void connect_by_door() {
    const std::string server = "127.0.0.1:" + std::to_string(child_.port());
    rpcrdma_clnt_options options{};
    options.stable_opaques = stable_opaques_ ? 1 : 0;
    options.rdma_version = version_;
    options.poll = poll_.c_str();
    client_ = rpcrdma_clnt_create(server.c_str(), BENCH_PROGRAM, BENCH_V1, &options);
  }
  void connect_by_tcp() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(child_.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
    netbuf server{sizeof address, sizeof address, &address};
    client_ = clnt_vc_create(fd, &server, BENCH_PROGRAM, BENCH_V1, kBuffer, kBuffer);
    if (client_ != nullptr) clnt_control(client_, CLSET_FD_CLOSE, nullptr);
  }
  void disconnect() {
    if (client_ != nullptr) clnt_destroy(client_);
    client_ = nullptr;
  }
  void set_up() {
    disconnect();
    connect();
    null();
    disconnect();
  }

  void call(rpcproc_t procedure, xdrproc_t encode, void* args, xdrproc_t decode, void* res) {
    if (clnt_call(client_, procedure, encode, static_cast<char*>(args), decode, static_cast<char*>(res), kTimeout) !=
        RPC_SUCCESS) {
      throw std::runtime_error("libtirpc call failed");
    }
  }
  void null() { call(BENCH_NULL, nothing, nullptr, nothing, nullptr); }
  void read(std::uint32_t count) {
    bench_read_args args{count};
    bench_read_res res{};
    res.data.data_val = data_.data();
    res.data.data_len = static_cast<u_int>(data_.size());
    call(BENCH_READ, reinterpret_cast<xdrproc_t>(xdr_bench_read_args), &args,
         reinterpret_cast<xdrproc_t>(xdr_bench_read_res), &res);
  }
  void write(std::uint32_t count) {
    bench_write_args args{};
    args.data.data_val = data_.data();
    args.data.data_len = count;
    call(BENCH_WRITE, reinterpret_cast<xdrproc_t>(xdr_bench_write_args), &args, nothing, nullptr);
  }

  bool door_;
  bool stable_opaques_;
  const char* version_;
  const std::string poll_;
  Child child_;
  std::vector<char> data_ = std::vector<char>(1 << 20, 'w');
  CLIENT* client_ = nullptr;
};

}  // namespace

std::unique_ptr<Subject> make_tirpc_tcp() { return std::make_unique<TirpcProgram>(nullptr); }
std::unique_ptr<Subject> make_tirpc_door(const Setting& setting, bool stable_opaques) {
  return std::make_unique<TirpcProgram>(&setting, stable_opaques);
}

}  // namespace rpcrdma::bench
