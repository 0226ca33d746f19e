// SPDX-License-Identifier: BSD-3-Clause
#include "forms_service.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <thread>
#include <vector>

namespace rpcrdma::tirpc {
namespace {

int listening_socket(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 16) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port = ntohs(address.sin_port);
  return fd;
}

/// Encodes a blob, then fails. XDR_FREE succeeds, and frees nothing.
bool_t xdr_half(XDR* xdrs, blob* value) { return xdrs->x_op == XDR_FREE || (xdr_blob(xdrs, value) && false); }

void fail_half_way(SVCXPRT* transport) {
  std::string data = pattern(1'000'000);
  blob out{{static_cast<u_int>(data.size()), data.data()}};
  if (!svc_sendreply(transport, reinterpret_cast<xdrproc_t>(xdr_half), reinterpret_cast<caddr_t>(&out)))
    svcerr_systemerr(transport);
}

void serve_eligible(svc_req* request, SVCXPRT* transport) {
  u_int size = 0;
  if (request->rq_proc == kFailHalfWay) return fail_half_way(transport);
  if (request->rq_proc != FORMS_PRODUCE) return svcerr_noproc(transport);
  if (!svc_getargs(transport, reinterpret_cast<xdrproc_t>(xdr_u_int), reinterpret_cast<caddr_t>(&size)))
    return svcerr_decode(transport);
  std::string data = pattern(size);
  blob out{{size, data.data()}};
  svc_sendreply(transport, reinterpret_cast<xdrproc_t>(xdr_eligible_blob), reinterpret_cast<caddr_t>(&out));
}

[[noreturn]] void serve(Loop loop, const rpcrdma_svc_options& given, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::uint16_t ports[2]{};
  SVCXPRT* const tcp = ::svc_vc_create(listening_socket(ports[0]), 0, 0);
  rpcrdma_svc_options options = given;
  if (options.listen == nullptr) options.listen = "127.0.0.1:0";
  SVCXPRT* const rdma = ::rpcrdma_svc_create(&options);
  for (SVCXPRT* transport : {tcp, rdma}) {
    if (transport == nullptr || !svc_reg(transport, FORMS_PROG, FORMS_V1, forms_prog_1, nullptr) ||
        !svc_reg(transport, FORMS_PROG, FORMS_V3, forms_prog_3, nullptr)) {
      std::abort();
    }
  }
  if (!svc_reg(rdma, kEligible, 1, serve_eligible, nullptr)) std::abort();
  ports[1] = rdma->xp_port;
  if (::write(report, ports, sizeof ports) != sizeof ports) std::abort();
  if (loop == Loop::of_libtirpc)
    svc_run();
  else
    rpcrdma_svc_run();
  std::_Exit(0);
}

}  // namespace

FormsServer::FormsServer(Loop loop, const rpcrdma_svc_options& options) {
  int pipe[2];
  if (::pipe(pipe) != 0) std::abort();
  child_ = ::fork();
  if (child_ == 0) {
    ::close(pipe[0]);
    serve(loop, options, pipe[1]);
  }
  ::close(pipe[1]);
  std::uint16_t ports[2]{};
  EXPECT_EQ(::read(pipe[0], ports, sizeof ports), static_cast<ssize_t>(sizeof ports));
  ::close(pipe[0]);
  ports_ = {ports[0], ports[1]};
}

FormsServer::~FormsServer() { kill(); }

void FormsServer::kill() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
}

void FormsServer::suspend() {
  ::kill(child_, SIGSTOP);
  siginfo_t stopped{};
  ::waitid(P_PID, static_cast<id_t>(child_), &stopped, WSTOPPED);
}

void FormsServer::resume() { ::kill(child_, SIGCONT); }

ClientPtr tcp_client(const FormsServer& server, rpcprog_t program, rpcvers_t version) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.tcp_port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  netbuf where{sizeof address, sizeof address, &address};
  ClientPtr client(::clnt_vc_create(fd, &where, program, version, 0, 0));
  if (client) clnt_control(client.get(), CLSET_FD_CLOSE, nullptr);
  return client;
}

ClientPtr rdma_client(const FormsServer& server, rpcprog_t program, rpcvers_t version,
                      const rpcrdma_clnt_options* options) {
  return ClientPtr(::rpcrdma_clnt_create(server.rdma_address().c_str(), program, version, options));
}

extern "C" bool_t xdr_eligible_blob(XDR* xdrs, blob* value) {
  return xdr_rpcrdma_bytes(xdrs, &value->data.data_val, &value->data.data_len, ~0u);
}

std::string pattern(std::size_t size) {
  static const std::string longest = [] {
    std::string out((9 << 20) + 8, '\0');
    std::uint32_t state = 12345;
    for (char& byte : out) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<char>(state >> 24);
    }
    return out;
  }();
  return longest.substr(0, size);
}

std::uint64_t checksum(const char* bytes, std::size_t size) {
  std::uint64_t sum = 14695981039346656037u;
  for (std::size_t i = 0; i < size; ++i) sum = (sum ^ static_cast<unsigned char>(bytes[i])) * 1099511628211u;
  return sum;
}

}  // namespace rpcrdma::tirpc

// The procedures, with the signatures that rpcgen declares. A result must stay valid after its procedure has returned.
// If the result is null, the dispatch function sends no reply.
namespace {

std::string produced;
std::vector<int> gids;
std::string machine;
std::map<int, int> sums;

}  // namespace

extern "C" {

void* forms_null_1_svc(void*, svc_req*) {
  static char nothing;
  return &nothing;
}
void* forms_null_3_svc(void*, svc_req*) { return forms_null_1_svc(nullptr, nullptr); }

mixture* forms_echo_1_svc(mixture* in, svc_req*) {
  static mixture out;
  out = *in;  // copies pointers too; the memory of the argument is freed only after the reply has been encoded
  return &out;
}

blob* forms_produce_1_svc(u_int* size, svc_req*) {
  static blob out;
  produced = rpcrdma::tirpc::pattern(*size);
  out.data.data_len = *size;
  out.data.data_val = produced.data();
  return &out;
}

u_quad_t* forms_consume_1_svc(blob* in, svc_req*) {
  static u_quad_t out;
  out = rpcrdma::tirpc::checksum(in->data.data_val, in->data.data_len);
  return &out;
}

blob* forms_reverse_1_svc(blob* in, svc_req*) {
  static blob out;
  std::reverse(in->data.data_val, in->data.data_val + in->data.data_len);
  out = *in;
  return &out;
}

void* forms_add_1_svc(addition* in, svc_req*) {
  sums[in->key] += in->value;
  return nullptr;  // a batched call has no reply
}

int* forms_sum_1_svc(int* key, svc_req*) { return &sums[*key]; }

void* forms_deny_1_svc(void*, svc_req* request) {
  svcerr_weakauth(request->rq_xprt);
  return nullptr;
}

void* forms_fail_1_svc(void*, svc_req* request) {
  svcerr_systemerr(request->rq_xprt);
  return nullptr;
}

void* forms_silent_1_svc(void*, svc_req*) { return nullptr; }

identity* forms_who_1_svc(void*, svc_req* request) {
  static identity out;
  out = {};
  out.flavor = request->rq_cred.oa_flavor;
  machine.clear();
  gids.clear();
  if (out.flavor == AUTH_UNIX) {
    const auto* from = static_cast<authunix_parms*>(request->rq_clntcred);
    out.uid = static_cast<int>(from->aup_uid);
    out.gid = static_cast<int>(from->aup_gid);
    gids.assign(from->aup_gids, from->aup_gids + from->aup_len);
    machine = from->aup_machname;
  }
  out.gids.gids_len = static_cast<u_int>(gids.size());
  out.gids.gids_val = gids.data();
  out.machine = machine.data();
  const auto* caller = static_cast<const sockaddr_in*>(svc_getrpccaller(request->rq_xprt)->buf);
  out.loopback = caller->sin_family == AF_INET && caller->sin_addr.s_addr == htonl(INADDR_LOOPBACK) &&
                 svc_getcaller(request->rq_xprt)->sin6_family == AF_INET;
  return &out;
}

int* forms_slow_1_svc(int* milliseconds, svc_req*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(*milliseconds));
  return milliseconds;
}

}  // extern "C"
