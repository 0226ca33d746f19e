// SPDX-License-Identifier: BSD-3-Clause
// Silent peers, on an iWARP device. Connecting to a silent peer blocks in the kernel, and so does destroying the
// attempt (on siw for 10 s or two minutes). This must not block other work of the io_context.
#include <sys/socket.h>
#include <unistd.h>

#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {

namespace {

using fabric::FabricError;
using Clock = std::chrono::steady_clock;

/// A TCP listener at the device's address that never reads, and never answers connections beyond its backlog.
class SilentListener {
 public:
  explicit SilentListener(int backlog) : listener_(make_socket()) {
    EXPECT_EQ(::bind(listener_, endpoint_.data(), static_cast<socklen_t>(endpoint_.size())), 0);
    EXPECT_EQ(::listen(listener_, backlog), 0);
    auto length = static_cast<socklen_t>(endpoint_.capacity());
    EXPECT_EQ(::getsockname(listener_, endpoint_.data(), &length), 0);
  }
  ~SilentListener() {
    for (const int each : fillers_) ::close(each);
    ::close(listener_);
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  /// Fills the backlog: from now on the kernel drops connection requests.
  void fill() {
    constexpr int kMoreThanFit = 3;
    for (int i = 0; i < kMoreThanFit; ++i) {
      const int filler = fillers_.emplace_back(make_socket());
      ::connect(filler, endpoint_.data(), static_cast<socklen_t>(endpoint_.size()));
    }
  }
  const fabric::Endpoint& endpoint() const { return endpoint_; }

 private:
  int make_socket() const { return ::socket(endpoint_.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK, 0); }

  fabric::Endpoint endpoint_{boost::asio::ip::make_address(verbs_address()), 0};
  int listener_;
  std::vector<int> fillers_;
};

std::vector<BedFactory> iwarp_beds() { return on_iwarp() ? verbs_beds() : std::vector<BedFactory>(); }

}  // namespace

class SilentPeers : public FabricTest {
 protected:
  /// The time limit of a test: enough on a slow machine, and less than the kernel takes to end an attempt to connect.
  static constexpr std::chrono::seconds kInTime{6};
  static constexpr std::chrono::milliseconds kTimeout{500};

  void exchange() {
    const int tag = ++exchanges_;
    ASSERT_FALSE(server().qp->post_receive(to_->all(), server().op(tag)));
    ASSERT_FALSE(client_.send(from_->all(), tag));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(tag) == 1 && server().count(tag) == 1; }));
  }

  void connect_beside(const fabric::Endpoint& silent) {
    connect();
    from_.emplace(bed_->client(), 64);
    to_.emplace(bed_->server(), 64);
    const auto begin = Clock::now();
    Node node(bed_->client());
    fabric::QueuePairOptions options;
    options.handshake_timeout = kTimeout;
    auto qp = bed_->client().make_connector(silent, options, node);
    ASSERT_TRUE(qp) << qp.error().message();
    node.qp = std::move(*qp);
    Memory note(bed_->client(), 64);
    ASSERT_FALSE(node.qp->post_receive(note.all(), node.op(1)));
    bed_->client().start(*node.qp);
    while (!node.disconnected) {
      ASSERT_NO_FATAL_FAILURE(exchange());
      ASSERT_LT(Clock::now() - begin, kInTime);
    }
    EXPECT_EQ(*node.disconnected, FabricError::handshake_timeout) << node.disconnected->message();
    EXPECT_EQ(node.count(1), 1u);
    EXPECT_GT(exchanges_, 1);
    node.qp.reset();
    ASSERT_NO_FATAL_FAILURE(exchange());
    EXPECT_LT(Clock::now() - begin, kInTime);
  }

 private:
  std::optional<Memory> from_;
  std::optional<Memory> to_;
  int exchanges_ = 0;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SilentPeers);

TEST_P(SilentPeers, OneThatDoesNotAnswerTheHandshake) {
  const SilentListener listener(8);
  connect_beside(listener.endpoint());
}

TEST_P(SilentPeers, OneThatDropsWhatItIsSent) {
  SilentListener listener(0);
  listener.fill();
  connect_beside(listener.endpoint());
}

// The user aborts or destroys the queue pair before the attempt to connect has ended.
TEST_P(SilentPeers, OneThatIsGivenUpAtOnce) {
  connect();
  SilentListener listener(0);
  listener.fill();
  const auto begin = Clock::now();
  for (int i = 0; i < 10; ++i) {
    Node node(bed_->client());
    auto qp = bed_->client().make_connector(listener.endpoint(), {}, node);
    ASSERT_TRUE(qp) << qp.error().message();
    node.qp = std::move(*qp);
    bed_->client().start(*node.qp);
    if (i % 2 == 0) {
      node.qp->abort();
      EXPECT_EQ(end_of(node), FabricError::flushed);
    }
  }
  EXPECT_LT(Clock::now() - begin, kInTime);
  client_.qp->disconnect();
  EXPECT_FALSE(end_of(client_));
}

INSTANTIATE_TEST_SUITE_P(Verbs, SilentPeers, testing::ValuesIn(iwarp_beds()));

}  // namespace rpcrdma::test
