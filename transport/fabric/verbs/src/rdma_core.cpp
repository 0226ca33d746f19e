// SPDX-License-Identifier: BSD-3-Clause
// The functions of rdma-core's libraries that we call, under their own names, each of which passes its call on to the
// library: a program thus starts where there is no rdma-core. The data path does not come by here: what posts work and
// polls are inline functions of the headers, which go through the device's context.
#include "rdma_core.hpp"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <mutex>

#include "rpcrdma/fabric/error.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): the names are those of macros, too, which parentheses keep from expanding
// clang-format off
#define RPCRDMA_IBVERBS(pass) \
  pass(void, ibv_ack_async_event, (ibv_async_event* event), (event)) \
  pass(void, ibv_ack_cq_events, (ibv_cq* queue, unsigned int count), (queue, count)) \
  pass(ibv_pd*, ibv_alloc_pd, (ibv_context* context), (context)) \
  pass(ibv_comp_channel*, ibv_create_comp_channel, (ibv_context* context), (context)) \
  pass(ibv_cq*, ibv_create_cq, (ibv_context* context, int size, void* own, ibv_comp_channel* channel, int vector), (context, size, own, channel, vector)) \
  pass(int, ibv_dealloc_pd, (ibv_pd* domain), (domain)) \
  pass(int, ibv_dereg_mr, (ibv_mr* region), (region)) \
  pass(int, ibv_destroy_comp_channel, (ibv_comp_channel* channel), (channel)) \
  pass(int, ibv_destroy_cq, (ibv_cq* queue), (queue)) \
  pass(const char*, ibv_event_type_str, (ibv_event_type event), (event)) \
  pass(int, ibv_get_async_event, (ibv_context* context, ibv_async_event* event), (context, event)) \
  pass(int, ibv_get_cq_event, (ibv_comp_channel* channel, ibv_cq** queue, void** own), (channel, queue, own)) \
  pass(const char*, ibv_get_device_name, (ibv_device* device), (device)) \
  pass(int, ibv_modify_qp, (ibv_qp* pair, ibv_qp_attr* attributes, int mask), (pair, attributes, mask)) \
  pass(int, ibv_query_device, (ibv_context* context, ibv_device_attr* attributes), (context, attributes)) \
  pass(int, ibv_query_port, (ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes), (context, port, attributes)) \
  pass(int, ibv_query_qp, (ibv_qp* pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* initial), (pair, attributes, mask, initial)) \
  pass(ibv_mr*, ibv_reg_mr, (ibv_pd* domain, void* begin, size_t size, int access), (domain, begin, size, access)) \
  pass(ibv_mr*, ibv_reg_mr_iova2, (ibv_pd* domain, void* begin, size_t size, uint64_t at, unsigned int access), (domain, begin, size, at, access)) \
  pass(const char*, ibv_wc_status_str, (ibv_wc_status status), (status))

#define RPCRDMA_RDMACM(pass) \
  pass(int, rdma_accept, (rdma_cm_id* id, rdma_conn_param* parameters), (id, parameters)) \
  pass(int, rdma_ack_cm_event, (rdma_cm_event* event), (event)) \
  pass(int, rdma_bind_addr, (rdma_cm_id* id, sockaddr* address), (id, address)) \
  pass(int, rdma_connect, (rdma_cm_id* id, rdma_conn_param* parameters), (id, parameters)) \
  pass(rdma_event_channel*, rdma_create_event_channel, (), ()) \
  pass(int, rdma_create_id, (rdma_event_channel* channel, rdma_cm_id** id, void* own, rdma_port_space space), (channel, id, own, space)) \
  pass(int, rdma_create_qp, (rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* initial), (id, domain, initial)) \
  pass(void, rdma_destroy_event_channel, (rdma_event_channel* channel), (channel)) \
  pass(int, rdma_destroy_id, (rdma_cm_id* id), (id)) \
  pass(void, rdma_destroy_qp, (rdma_cm_id* id), (id)) \
  pass(int, rdma_disconnect, (rdma_cm_id* id), (id)) \
  pass(const char*, rdma_event_str, (rdma_cm_event_type event), (event)) \
  pass(int, rdma_get_cm_event, (rdma_event_channel* channel, rdma_cm_event** event), (channel, event)) \
  pass(__be16, rdma_get_dst_port, (rdma_cm_id* id), (id)) \
  pass(__be16, rdma_get_src_port, (rdma_cm_id* id), (id)) \
  pass(int, rdma_listen, (rdma_cm_id* id, int backlog), (id, backlog)) \
  pass(int, rdma_migrate_id, (rdma_cm_id* id, rdma_event_channel* channel), (id, channel)) \
  pass(int, rdma_notify, (rdma_cm_id* id, ibv_event_type event), (id, event)) \
  pass(int, rdma_reject, (rdma_cm_id* id, const void* data, std::uint8_t size), (id, data, size)) \
  pass(int, rdma_resolve_addr, (rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeout_ms), (id, from, to, timeout_ms)) \
  pass(int, rdma_resolve_route, (rdma_cm_id* id, int timeout_ms), (id, timeout_ms)) \
  pass(int, rdma_set_option, (rdma_cm_id* id, int level, int name, void* value, size_t size), (id, level, name, value, size))
// clang-format on

namespace rpcrdma::fabric::verbs {
namespace {

namespace loaded {
#define RPCRDMA_POINTER(result, name, parameters, arguments) result(*name) parameters = nullptr;
RPCRDMA_IBVERBS(RPCRDMA_POINTER)
RPCRDMA_RDMACM(RPCRDMA_POINTER)
#undef RPCRDMA_POINTER
}  // namespace loaded

bool open_library(const char* name) noexcept {
  return ::dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) != nullptr;
}

// As a linked program would find it: what is preloaded comes first.
template <class Function>
bool find(Function*& function, const char* name) noexcept {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

bool load_ibverbs() noexcept {
  if (!open_library("libibverbs.so.1")) return false;
  bool all = true;
#define RPCRDMA_FIND(result, name, parameters, arguments) all = find(loaded::name, #name) && all;
  RPCRDMA_IBVERBS(RPCRDMA_FIND)
  return all;
}

bool load_rdmacm() noexcept {
  if (!open_library("librdmacm.so.1")) return false;
  bool all = true;
  RPCRDMA_RDMACM(RPCRDMA_FIND)
#undef RPCRDMA_FIND
  return all;
}

}  // namespace

error_code load_rdma_core() noexcept {
  static const error_code failed = [] {
    if (!load_ibverbs()) return make_error_code(FabricError::no_libibverbs);
    return load_rdmacm() ? error_code() : make_error_code(FabricError::no_librdmacm);
  }();
  return failed;
}

}  // namespace rpcrdma::fabric::verbs

// Hidden: a program or library that we are part of may use rdma-core beside us.
#define RPCRDMA_PASS_ON(result, name, parameters, arguments)                 \
  extern "C" __attribute__((visibility("hidden"))) result(name) parameters { \
    return (rpcrdma::fabric::verbs::loaded::name)arguments;                  \
  }
RPCRDMA_IBVERBS(RPCRDMA_PASS_ON)
RPCRDMA_RDMACM(RPCRDMA_PASS_ON)
#undef RPCRDMA_PASS_ON
#undef RPCRDMA_IBVERBS
#undef RPCRDMA_RDMACM
// NOLINTEND(bugprone-macro-parentheses)
