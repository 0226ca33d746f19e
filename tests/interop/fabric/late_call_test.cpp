// SPDX-License-Identifier: BSD-3-Clause
// On an iWARP device rdma_connect() runs on a thread of its own. This program's rdma_connect() calls the library's, and
// can return late, as if the thread got no processor.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "interop/fabric/verbs_bed.hpp"
#include "rpcrdma/fabric/deferred_delete.hpp"

namespace {

constinit std::atomic<bool> returns_late = false;
/// The context of the rdma_cm_id when the late call returned. Until then a value that is not null.
constinit std::atomic<void*> context_at_return = &context_at_return;

}  // namespace

extern "C" __attribute__((visibility("default"))) int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  using Function = int (*)(rdma_cm_id*, rdma_conn_param*);
  static const auto connect = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "rdma_connect"));
  if (!returns_late) return connect(id, parameters);
  int state = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  const int result = connect(id, parameters);
  while (result == 0 && returns_late) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  context_at_return = id->context;
  context_at_return.notify_all();
  ::pthread_setcancelstate(state, nullptr);
  return result;
}

namespace rpcrdma::test {
namespace {

struct Hold {
  Hold() { returns_late = true; }
  ~Hold() { returns_late = false; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
};

std::vector<BedFactory> beds_with_a_thread() { return on_iwarp() ? verbs_beds() : std::vector<BedFactory>(); }

}  // namespace

class LateCallTest : public FabricTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LateCallTest);

TEST_P(LateCallTest, TheQueuePairIsDestroyedBeforeItReturns) {
  listen();
  context_at_return = &context_at_return;
  client_.on_start = [this] { fabric::delete_later(client_.fabric().context(), std::move(client_.qp)); };
  {
    const Hold hold;
    start(client_);
    ASSERT_TRUE(until([&] { return client_.disconnected || (client_.established() && !accepted_.empty()); }));
    ASSERT_FALSE(client_.disconnected) << client_.disconnected->message();
    // The id belongs to the thread now. Its events must not reach the queue pair any more.
    end_of(server());
  }
  context_at_return.wait(&context_at_return);
  EXPECT_EQ(context_at_return, nullptr);
}
INSTANTIATE_TEST_SUITE_P(Verbs, LateCallTest, testing::ValuesIn(beds_with_a_thread()));

}  // namespace rpcrdma::test
