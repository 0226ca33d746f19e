// SPDX-License-Identifier: BSD-3-Clause

#include <boost/system/system_error.hpp>
#include <cerrno>

#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/tirpc.h"
#include "service.hpp"

namespace rpcrdma::tirpc {
namespace {

constexpr const char* kDefaultListen = "0.0.0.0:0";

SVCXPRT* creation_failed(const char* address, const char* why, int number) {
  print_error("rpcrdma_svc_create: cannot listen at {}: {}\n", address, why);
  errno = number;
  return nullptr;
}

SVCXPRT* create_service(const rpcrdma_svc_options& options) {
  const char* const address = options.listen != nullptr ? options.listen : kDefaultListen;
  const std::optional<Target> local = parse_target(address);
  if (!local) return creation_failed(address, "expected [FABRIC@]ADDRESS[:PORT]", EINVAL);
  if (!version_of(options.rdma_version)) return creation_failed(address, "rdma_version is not 1, 2 or auto", EINVAL);
  const auto poll = polling_of(options.poll);
  if (!poll) return creation_failed(address, "poll is not auto, off or microseconds, 1 to 1000000", EINVAL);
  try {
    return (new Service(*local, options))->xprt();
  } catch (const boost::system::system_error& error) {
    const bool of_system = error.code().category() == boost::system::system_category();
    return creation_failed(address, error.code().message().c_str(), of_system ? error.code().value() : ENODEV);
  } catch (const std::exception& error) {
    return creation_failed(address, error.what(), ENOMEM);
  }
}

}  // namespace
}  // namespace rpcrdma::tirpc

SVCXPRT* rpcrdma_svc_create(const rpcrdma_svc_options* options) {
  return rpcrdma::tirpc::create_service(options != nullptr ? *options : rpcrdma_svc_options{});
}

bool_t rpcrdma_svc_reg(SVCXPRT* xprt, rpcprog_t prog, rpcvers_t vers, void (*dispatch)(svc_req*, SVCXPRT*)) {
  if (!svc_reg(xprt, prog, vers, dispatch, nullptr)) {
    rpcrdma::print_error("rpcrdma_svc_reg: program {} version {} has another dispatch function\n", prog, vers);
    return FALSE;
  }
  const auto announced = rpcrdma::tirpc::Service::of(xprt).announce(prog, vers);
  if (!announced) rpcrdma::print_error("rpcrdma_svc_reg: {}\n", announced.error());
  return announced ? TRUE : FALSE;
}

SVCXPRT* rpcrdma_svc_add(void (*dispatch)(svc_req*, SVCXPRT*), rpcprog_t prog, rpcvers_t vers,
                         const rpcrdma_svc_options* options) {
  using rpcrdma::tirpc::Service;
  const char* const listen = options != nullptr && options->listen != nullptr ? options->listen : "";
  SVCXPRT* xprt = Service::find(listen);
  const bool is_new = xprt == nullptr;
  if (is_new) xprt = rpcrdma_svc_create(options);
  if (xprt == nullptr) return nullptr;
  if (rpcrdma_svc_reg(xprt, prog, vers, dispatch)) {
    Service::of(xprt).share(listen);
    return xprt;
  }
  if (is_new) svc_destroy(xprt);
  return nullptr;
}
