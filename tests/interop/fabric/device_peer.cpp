// SPDX-License-Identifier: BSD-3-Clause
#include "interop/fabric/device_peer.hpp"

#include <cerrno>
#include <system_error>

namespace rpcrdma::test {
namespace {

constexpr int kTimeoutMs = 10000;

void check(int result, const char* what) {
  if (result != 0) throw std::system_error(result > 0 ? result : errno, std::generic_category(), what);
}

}  // namespace

DevicePeer::DevicePeer(const fabric::Endpoint& server) {
  // The id has no event channel, so that rdma_resolve_addr(), rdma_resolve_route() and rdma_connect() block until the
  // operation has succeeded or failed.
  check(rdma_create_id(nullptr, &id_, nullptr, RDMA_PS_TCP), "rdma_create_id");
  fabric::Endpoint there = server;
  check(rdma_resolve_addr(id_, nullptr, there.data(), kTimeoutMs), "rdma_resolve_addr");
  check(rdma_resolve_route(id_, kTimeoutMs), "rdma_resolve_route");
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  check(rdma_create_qp(id_, nullptr, &attributes), "rdma_create_qp");
}

DevicePeer::~DevicePeer() {
  if (id_ == nullptr) return;
  if (id_->qp != nullptr) rdma_destroy_qp(id_);
  for (const Source& source : sources_) ibv_dereg_mr(source.registration);
  rdma_destroy_id(id_);
}

void DevicePeer::connect() {
  rdma_conn_param parameters{};
  parameters.retry_count = 7;
  check(rdma_connect(id_, &parameters), "rdma_connect");
}

void DevicePeer::post(ibv_wr_opcode opcode, std::size_t count, std::byte fill, const Segment& to) {
  ibv_sge piece{};
  ibv_send_wr request{};
  if (count != 0) {
    Source& source = sources_.emplace_back();
    source.bytes.assign(count, fill);
    source.registration = ibv_reg_mr(id_->pd, source.bytes.data(), count, 0);
    check(source.registration == nullptr ? -1 : 0, "ibv_reg_mr");
    piece = {.addr = reinterpret_cast<std::uintptr_t>(source.bytes.data()),
             .length = static_cast<std::uint32_t>(count),
             .lkey = source.registration->lkey};
    request.sg_list = &piece;
    request.num_sge = 1;
  }
  request.opcode = opcode;
  request.wr.rdma = {.remote_addr = to.offset, .rkey = to.handle};
  ibv_send_wr* refused = nullptr;
  check(ibv_post_send(id_->qp, &request, &refused), "ibv_post_send");
}

}  // namespace rpcrdma::test
