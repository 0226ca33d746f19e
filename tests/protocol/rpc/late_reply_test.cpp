// SPDX-License-Identifier: BSD-3-Clause
// Replies that a thread other than that of the event loop makes, over the userspace iWARP fabric.
#include <thread>
#include <vector>

#include "bed.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "service.hpp"

namespace rpcrdma::test {
namespace {

class LateReply : public testing::Test {
 protected:
  LateReply() {
    dispatcher_.on<Nothing>([this](rpc::ServerCall<Nothing> call) { held_.push_back(std::move(call)); });
    fabric::Endpoint endpoint;
    server_->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                    [&](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
    EXPECT_TRUE(both_until([&] { return endpoint.port() != 0; }));
    connection_ = transport::Client::make(*client_fabric_, client_pool_, endpoint, {}, {});
    client_.emplace(connection_->requester(), client_context_.get_executor());
  }
  ~LateReply() override {
    held_.clear();
    run_ready(context_);
  }

  void call() {
    client_->async_call<Nothing>({}, [this](error_code status, const rpc::Decoded<rpc::Void>&) {
      EXPECT_FALSE(status) << status.message();
      ++answered_;
    });
  }
  /// Answers all calls that the server holds, in another thread.
  void answer() {
    std::thread([this] {
      for (auto& call : held_) call.reply({}, [this](error_code) { ++sent_; });
    }).join();
    held_.clear();
  }
  bool both_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!done() && std::chrono::steady_clock::now() < end) {
      run_ready(client_context_);
      run_ready(context_);
    }
    return done();
  }

  boost::asio::io_context context_, client_context_;
  std::unique_ptr<fabric::Fabric> fabric_ = std::move(*fabric::open_iwarp(context_, {}, {}));
  std::unique_ptr<fabric::Fabric> client_fabric_ = std::move(*fabric::open_iwarp(client_context_, {}, {}));
  memory::Pool pool_{*fabric_}, client_pool_{*client_fabric_};
  rpc::Dispatcher dispatcher_;
  std::vector<rpc::ServerCall<Nothing>> held_;
  std::unique_ptr<transport::Server> server_ = transport::Server::make({{fabric_.get(), &pool_, &dispatcher_}}, {}, {});
  std::unique_ptr<transport::Client> connection_;
  std::optional<rpc::Client> client_;
  int answered_ = 0, sent_ = 0;
};

// The handler that encodes the reply to the only call in progress also sends it, and reports the end of its Send.
TEST_F(LateReply, OfTheOnlyCallIsSentByOneHandler) {
  call();
  ASSERT_TRUE(both_until([&] { return held_.size() == 1; }));
  answer();
  context_.restart();
  ASSERT_EQ(context_.poll_one(), 1u);
  EXPECT_EQ(sent_, 1);
  ASSERT_TRUE(both_until([&] { return answered_ == 1; }));
}

// If other calls are in progress, replies wait for each other.
TEST_F(LateReply, OfSeveralCallsAreSentTogether) {
  call();  // learns the credit grant, which permits several calls at a time
  ASSERT_TRUE(both_until([&] { return held_.size() == 1; }));
  answer();
  ASSERT_TRUE(both_until([&] { return answered_ == 1; }));
  for (int n = 0; n < 5; ++n) call();
  ASSERT_TRUE(both_until([&] { return held_.size() == 5; }));
  run_ready(context_);
  const auto before = fabric_->counters().socket_writes;
  answer();
  context_.restart();
  ASSERT_EQ(context_.poll_one(), 1u);
  EXPECT_EQ(sent_, 1) << "a reply was sent alone";
  ASSERT_TRUE(both_until([&] { return answered_ == 6; }));
  EXPECT_EQ(fabric_->counters().socket_writes - before, 1u);
}

}  // namespace
}  // namespace rpcrdma::test
