// SPDX-License-Identifier: BSD-3-Clause
// Two nodes exchange much data in both directions at once. The sizes of transfers are random, and every byte is
// compared.
#include <random>

#include "iwarp_test.hpp"

namespace rpcrdma::test {
namespace {

struct BulkWay {
  const char* name;
  bool crc;
  bool markers;
  std::uint32_t ulpdu;
  std::uint32_t window;  // bytes
  std::uint32_t rounds;  // in each, both sides transfer the whole window by Writes and by Reads
};

class Bulk : public testing::TestWithParam<BulkWay> {
 protected:
  void SetUp() override;
  template <class Predicate>
  bool until(Predicate done) {
    return run_until(context_, done, std::chrono::seconds(100));
  }
  void round(std::uint64_t seed);
  std::uint32_t piece_of(std::uint32_t size) { return static_cast<std::uint32_t>(random_() % (size / 16) + 1); }
  void write_all(Node& from, Memory& source, const Segment& to);
  void read_all(Node& to, Memory& sink, const Segment& from);

  boost::asio::io_context context_;
  std::unique_ptr<fabric::Fabric> fabrics_[2];
  std::unique_ptr<Node> nodes_[2];
  std::unique_ptr<fabric::Listener> listener_;
  std::mt19937 random_{1};
  std::size_t posted_[2] = {0, 0};
};

void Bulk::SetUp() {
  fabric::IwarpOptions options;
  options.crc = GetParam().crc;
  options.request_markers = GetParam().markers;
  options.max_ulpdu = GetParam().ulpdu;
  fabric::QueuePairOptions deep;
  deep.send_depth = 512;
  for (int i = 0; i < 2; ++i) {
    fabrics_[i] = fabric::open_iwarp(context_, options, Log{}).value();
    nodes_[i] = std::make_unique<Node>(*fabrics_[i]);
  }
  listener_ = fabrics_[0]
                  ->listen({boost::asio::ip::address_v4::loopback(), 0},
                           [this, deep](std::unique_ptr<fabric::ConnectionRequest> request) {
                             nodes_[0]->qp = fabrics_[0]->make_acceptor(std::move(request), deep, *nodes_[0]).value();
                             fabrics_[0]->start(*nodes_[0]->qp);
                           })
                  .value();
  nodes_[1]->qp = fabrics_[1]->make_connector(listener_->local(), deep, *nodes_[1]).value();
  fabrics_[1]->start(*nodes_[1]->qp);
  ASSERT_TRUE(until([&] { return nodes_[0]->established() && nodes_[1]->established(); }));
}

void Bulk::write_all(Node& from, Memory& source, const Segment& to) {
  for (std::uint32_t at = 0; at < to.length;) {
    const auto size = std::min(to.length - at, piece_of(to.length));
    ASSERT_FALSE(from.write(source.part(at, size), to, 1, at));
    ++posted_[&from == nodes_[1].get()];
    at += size;
  }
}

void Bulk::read_all(Node& to, Memory& sink, const Segment& from) {
  for (std::uint32_t at = 0; at < from.length;) {
    const auto size = std::min(from.length - at, piece_of(from.length));
    ASSERT_FALSE(to.read(sink.part(at, size), from, 1, at));
    ++posted_[&to == nodes_[1].get()];
    at += size;
  }
}

/// Each side writes to the other and reads from it, then sends a message.
void Bulk::round(std::uint64_t seed) {
  const std::uint32_t size = GetParam().window;
  struct Side {
    Side(Node& n, std::uint32_t octets)
        : source(n.fabric(), octets), written(n.fabric(), octets), sink(n.fabric(), octets), message(n.fabric(), 64) {}
    Memory source, written, sink, message;
    std::unique_ptr<Exposed> readable, writable;
  };
  Side sides[2] = {Side(*nodes_[0], size), Side(*nodes_[1], size)};
  for (std::size_t i = 0; i < 2; ++i) {
    fill_pattern(sides[i].source.octets, seed + i);
    sides[i].readable = std::make_unique<Exposed>(*nodes_[i], sides[i].source.all(), fabric::Access::remote_read);
    sides[i].writable = std::make_unique<Exposed>(*nodes_[i], sides[i].written.all(), fabric::Access::remote_write);
    ASSERT_FALSE(nodes_[i]->qp->post_receive(sides[i].message.all(), nodes_[i]->op(2)));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    write_all(*nodes_[i], sides[i].source, sides[1 - i].writable->segment);
    read_all(*nodes_[i], sides[i].sink, sides[1 - i].readable->segment);
    ASSERT_FALSE(nodes_[i]->send(sides[i].message.part(0, 1), 1));
    ++posted_[i];
    nodes_[i]->qp->submit();
  }
  ASSERT_TRUE(until([&] {
    return nodes_[0]->count(1) == posted_[0] && nodes_[1]->count(1) == posted_[1] && nodes_[0]->count(2) == seed &&
           nodes_[1]->count(2) == seed;
  }));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(has_pattern(sides[i].written.octets, seed + 1 - i));
    EXPECT_TRUE(has_pattern(sides[i].sink.octets, seed + 1 - i));
    for (const Node::Done& done : nodes_[i]->log) EXPECT_FALSE(done.completion.status);
  }
}

TEST_P(Bulk, BothWays) {
  for (std::uint64_t seed = 1; seed <= GetParam().rounds; ++seed) {
    round(seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_FALSE(nodes_[0]->disconnected);
  EXPECT_FALSE(nodes_[1]->disconnected);
}

INSTANTIATE_TEST_SUITE_P(All, Bulk,
                         testing::Values(BulkWay{"Plain1M", false, false, 0, 1u << 20, 6},
                                         BulkWay{"Plain100M", false, false, 0, 25u << 20, 1},
                                         BulkWay{"Crc1M", true, false, 0, 1u << 20, 6},
                                         BulkWay{"SmallSegments", true, false, 1454, 1u << 20, 3},
                                         BulkWay{"Markers", true, true, 1442, 1u << 20, 2},
                                         BulkWay{"MarkersAndLargeSegments", true, true, 0, 1u << 20, 2},
                                         BulkWay{"SmallestSegments", false, false, 128, 1u << 18, 1}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace rpcrdma::test
