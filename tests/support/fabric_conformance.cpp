// SPDX-License-Identifier: BSD-3-Clause
#include "support/fabric_conformance.hpp"

#include <algorithm>

namespace rpcrdma::test {

Memory::Memory(fabric::Fabric& fabric, std::size_t size, std::byte value) : octets(size, value) {
  auto registered = fabric.register_memory(octets);
  EXPECT_TRUE(registered) << registered.error().message();
  region = std::move(*registered);
}

void Node::on_established(const fabric::ConnectionInfo& connection) noexcept {
  callback();
  EXPECT_FALSE(info) << "established twice";
  EXPECT_FALSE(disconnected);
  info = connection;
  if (on_start) on_start();
}

void Node::on_rejected(const fabric::ConnectionInfo& peer) noexcept {
  callback();
  EXPECT_FALSE(info || rejected || disconnected);
  rejected = peer;
}

void Node::on_disconnected(error_code why) noexcept {
  callback();
  EXPECT_FALSE(disconnected) << "disconnected twice";
  disconnected = why;
  if (on_end) on_end();
}

void Node::completed(int tag, const fabric::Completion& completion) {
  callback();
  if (disconnected) ++after_end;
  log.push_back({tag, completion});
  if (on_done) on_done();
}

fabric::WorkContext* Node::op(int tag) { return &ops_.emplace_back(*this, tag); }

std::vector<int> Node::tags() const {
  std::vector<int> out;
  for (const Done& done : log) out.push_back(done.tag);
  return out;
}

std::size_t Node::count(int tag) const {
  return static_cast<std::size_t>(std::count_if(log.begin(), log.end(), [&](const Done& d) { return d.tag == tag; }));
}

const fabric::Completion& Node::result(int tag) const {
  static const fabric::Completion missing{BaseError::invalid_argument, 0, {}};
  const auto found = std::find_if(log.begin(), log.end(), [&](const Done& done) { return done.tag == tag; });
  return found == log.end() ? missing : found->completion;
}

namespace {

/// Sets a handshake_timeout that is long enough for a busy machine, unless the test has set one.
fabric::QueuePairOptions patient(fabric::QueuePairOptions options) {
  if (options.handshake_timeout == fabric::QueuePairOptions{}.handshake_timeout)
    options.handshake_timeout = std::chrono::minutes(5);
  return options;
}

}  // namespace

FabricTest::FabricTest() : bed_(GetParam().make()), client_(bed_->client()) {}

void FabricTest::listen(fabric::QueuePairOptions options) {
  auto listener = bed_->server().listen(bed_->address(), [this, options = patient(std::move(options))](
                                                             std::unique_ptr<fabric::ConnectionRequest> request) {
    auto& node = *accepted_.emplace_back(std::make_unique<Node>(bed_->server()));
    auto qp = bed_->server().make_acceptor(std::move(request), options, node);
    ASSERT_TRUE(qp) << qp.error().message();
    node.qp = std::move(*qp);
    bed_->server().start(*node.qp);
  });
  ASSERT_TRUE(listener) << listener.error().message();
  listener_ = std::move(*listener);
}

void FabricTest::start(Node& node, fabric::QueuePairOptions options) {
  auto qp = bed_->client().make_connector(listener_->local(), patient(std::move(options)), node);
  ASSERT_TRUE(qp) << qp.error().message();
  node.qp = std::move(*qp);
  node.inside_call = true;
  bed_->client().start(*node.qp);
  node.inside_call = false;
}

void FabricTest::connect(fabric::QueuePairOptions client, fabric::QueuePairOptions server_options) {
  listen(std::move(server_options));
  ASSERT_NE(listener_, nullptr);
  start(client_, std::move(client));
  ASSERT_TRUE(until([&] { return client_.established() && !accepted_.empty() && server().established(); }))
      << (client_.disconnected ? client_.disconnected->message() : "no answer");
}

error_code FabricTest::end_of(Node& node) {
  EXPECT_TRUE(until([&] { return node.disconnected.has_value(); }));
  return node.disconnected.value_or(error_code{});
}

void WindowTest::expect_write_refused(const Segment& to, std::uint64_t skip, std::uint32_t size) {
  Memory source(bed_->server(), size, std::byte{0x11});
  ASSERT_FALSE(server().write(source.all(), to, 90, skip));
  server().qp->submit();
  expect_refusal();
}

void WindowTest::expect_read_refused(const Segment& from, std::uint64_t skip, std::uint32_t size) {
  Memory sink(bed_->server(), size, std::byte{0x22});
  ASSERT_FALSE(server().read(sink.all(), from, 91, skip));
  server().qp->submit();
  expect_refusal();
  EXPECT_TRUE(server().result(91).status.failed());
  EXPECT_TRUE(all_are(sink.octets, std::byte{0x22}));
}

void WindowTest::expect_refusal() {
  EXPECT_EQ(end_of(client_), fabric::FabricError::protocol_violation);
  EXPECT_EQ(end_of(server()), fabric::FabricError::remote_access);
}

void WindowTest::invalidate(const Exposed& exposed) {
  ASSERT_FALSE(client_.qp->invalidate(*exposed.window, client_.op(80)));
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(80) == 1; }));
  EXPECT_FALSE(client_.result(80).status);
  EXPECT_FALSE(exposed.window->bound());
}

}  // namespace rpcrdma::test
