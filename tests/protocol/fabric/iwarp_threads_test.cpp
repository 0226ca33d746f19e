// SPDX-License-Identifier: BSD-3-Clause
// A connection is accepted on a thread other than its listener's: the request moves to that thread together with its
// socket.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

std::unique_ptr<fabric::Fabric> open(boost::asio::io_context& context) {
  return std::move(*fabric::open_iwarp(context, {}, Log{}));
}

/// A fabric on a thread of its own. It accepts each request that take() receives, and echoes the first message of the
/// connection.
class Worker {
 public:
  Worker() : thread_([this] { context_.run(); }) {}
  ~Worker() {
    on_thread([this] {
      nodes_.clear();
      echoes_.clear();
      fabric_.reset();
    });
    guard_.reset();
    thread_.join();
  }

  void take(std::unique_ptr<fabric::ConnectionRequest> request) {
    boost::asio::post(context_, [this, moved = std::move(request)]() mutable {
      if (!fabric_) fabric_ = open(context_);
      auto& node = *nodes_.emplace_back(std::make_unique<Node>(*fabric_));
      auto& memory = *echoes_.emplace_back(std::make_unique<Memory>(*fabric_, 100));
      auto qp = fabric_->make_acceptor(std::move(moved), {}, node);
      ASSERT_TRUE(qp) << qp.error().message();
      node.qp = std::move(*qp);
      ASSERT_FALSE(node.qp->post_receive(memory.all(), node.op(1)));
      node.on_done = [this, &node, &memory] {
        if (node.log.size() != 1 || node.result(1).status) return;
        EXPECT_EQ(std::this_thread::get_id(), thread_.get_id());
        EXPECT_FALSE(node.send(memory.part(0, node.result(1).length), 2));
        node.qp->submit();
      };
      fabric_->start(*node.qp);
    });
  }

 private:
  template <class F>
  void on_thread(F action) {
    std::promise<void> done;
    boost::asio::post(context_, [&] {
      action();
      done.set_value();
    });
    done.get_future().wait();
  }

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ =
      boost::asio::make_work_guard(context_);
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<std::unique_ptr<Memory>> echoes_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::thread thread_;
};

TEST(IwarpThreads, RequestsMoveToOtherThreads) {
  boost::asio::io_context context;
  const auto server = open(context);
  const auto client = open(context);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(std::make_unique<Worker>());
  std::size_t next = 0;
  auto listener = server->listen({boost::asio::ip::address_v4::loopback(), 0},
                                 [&](std::unique_ptr<fabric::ConnectionRequest> request) {
                                   workers[next++ % workers.size()]->take(std::move(request));
                                 });
  ASSERT_TRUE(listener);
  constexpr std::uint32_t kCount = 20;
  Memory out(*client, kCount * 100);
  Memory in(*client, kCount * 100);
  fill_pattern(out.octets, 1);
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    Node& node = *nodes.emplace_back(std::make_unique<Node>(*client));
    auto qp = client->make_connector((*listener)->local(), {}, node);
    ASSERT_TRUE(qp);
    node.qp = std::move(*qp);
    ASSERT_FALSE(node.qp->post_receive(in.part(i * 100, 100), node.op(1)));
    client->start(*node.qp);
  }
  const auto all = [&](auto what) { return std::all_of(nodes.begin(), nodes.end(), what); };
  ASSERT_TRUE(run_until(context, [&] { return all([](const auto& node) { return node->established(); }); }));
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_FALSE(nodes[i]->send(out.part(i * 100, 100), 2));
    nodes[i]->qp->submit();
  }
  ASSERT_TRUE(run_until(context, [&] { return all([](const auto& node) { return node->count(1) == 1; }); }));
  EXPECT_TRUE(has_pattern(in.octets, 1));
  EXPECT_EQ(next, kCount);
}

}  // namespace
}  // namespace rpcrdma::test
