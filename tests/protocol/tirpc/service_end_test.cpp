// SPDX-License-Identifier: BSD-3-Clause
// svc_destroy() while calls arrive.
#include <gtest/gtest.h>
#include <malloc.h>
#include <rpc/rpc.h>

#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/requester/async_call.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/tirpc.h"

namespace rpcrdma::tirpc {
namespace {

// A client sends a call with a Read chunk, and does not answer the RDMA Read Request of the server.
TEST(ServiceEnd, WhileAReadChunkIsPulled) {
  ::mallopt(M_PERTURB, 0xa5);  // overwrites freed memory, so that later reads of it fail
  rpcrdma_svc_options options{};
  options.listen = "iwarp@127.0.0.1:0";
  SVCXPRT* const service = ::rpcrdma_svc_create(&options);
  ASSERT_NE(service, nullptr);

  boost::asio::io_context context;
  const auto fabric = std::move(*fabric::open_iwarp(context, {}, {}));
  memory::Pool pool(*fabric);
  auto client =
      transport::Client::make(*fabric, pool, {boost::asio::ip::address_v4::loopback(), service->xp_port}, {}, {});
  const auto memory = pool.allocate(100000).value();
  transport::CallSpec call;
  call.encode = [&memory](PayloadBuilder& out, std::uint32_t xid) {
    for (const std::uint32_t word : {xid, 0u, memory.ref().size}) out.u32(word);
    const BufferRef item = memory.ref();
    out.item({&item, 1});
  };
  error_code status;
  transport::async_call(client->requester(), context, std::move(call),
                        [&status](error_code result, const transport::OwnedReply&) { status = result; });
  const auto poll_service = [service] { ::svc_getreq_common(service->xp_fd); };
  while (client->requester().traffic().sends == 0) {
    poll_service();
    context.poll();
  }
  // The call is on its way. From now on the event loop of the client does not run.
  for (int i = 0; i < 100; ++i) poll_service();
  svc_destroy(service);

  client.reset();
  context.restart();
  context.poll();
  EXPECT_EQ(status, BaseError::cancelled);
}

}  // namespace
}  // namespace rpcrdma::tirpc
