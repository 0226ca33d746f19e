// SPDX-License-Identifier: BSD-3-Clause
// While its peer is silent, a connector on an iWARP device sends empty RDMA Writes ("nudges"). This program is the
// peer, on a TCP socket.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string_view>

#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kMpaHeader = 20;
constexpr std::size_t kCrc = 4;
constexpr unsigned kWrite = 0;
constexpr unsigned kSend = 3;
constexpr std::size_t kEmptyWrite = 14;

/// A minimal responder of one connection. It counts the FPDUs that it receives, by kind.
class Responder {
 public:
  explicit Responder(asio::io_context& context)
      : acceptor_(context, {asio::ip::make_address(verbs_address()), 0}), socket_(context) {
    acceptor_.async_accept(socket_, [this](boost::system::error_code error) {
      if (!error) read_request();
    });
  }
  fabric::Endpoint endpoint() const {
    return {acceptor_.local_endpoint().address(), acceptor_.local_endpoint().port()};
  }

  /// Sends a Send message of four bytes. The CRC field is zero, because this connection does not use CRCs.
  void send() {
    static constexpr std::string_view kFpdu("\x00\x16\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0hiho\0\0\0\0", 28);
    asio::write(socket_, asio::buffer(kFpdu));
  }

  std::size_t sends = 0;
  std::size_t nudges = 0;
  std::size_t others = 0;

 private:
  using Octets = std::vector<unsigned char>;
  template <class Done>
  void read(std::size_t count, Done done) {
    octets_.resize(count);
    asio::async_read(socket_, asio::buffer(octets_), [done](boost::system::error_code error, std::size_t) {
      if (!error) done();
    });
  }
  std::size_t number(std::size_t at) const { return octets_[at] * std::size_t{256} + octets_[at + 1]; }

  void read_request() {
    read(kMpaHeader, [this] { read(number(kMpaHeader - 2), [this] { reply(); }); });
  }
  void reply() {
    // An MPA Reply Frame of revision 2 that requests neither markers nor CRCs. Its IRD and its ORD are 16.
    static constexpr std::string_view kReply("MPA ID Rep Frame\x10\x02\x00\x04\x00\x10\x00\x10", 24);
    asio::write(socket_, asio::buffer(kReply));
    read_fpdu();
  }
  void read_fpdu() {
    read(2, [this] {
      const std::size_t length = number(0);
      const std::size_t pad = (4 - (2 + length) % 4) % 4;
      read(length + pad + kCrc, [this, length] {
        const unsigned opcode = octets_[1] & 15u;
        if (opcode == kWrite && length == kEmptyWrite)
          ++nudges;
        else if (opcode == kSend)
          ++sends;
        else
          ++others;
        read_fpdu();
      });
    });
  }

  tcp::acceptor acceptor_;
  tcp::socket socket_;
  Octets octets_;
};

std::vector<BedFactory> nudging_beds() { return on_iwarp() ? verbs_beds() : std::vector<BedFactory>(); }

}  // namespace

class NudgeTest : public FabricTest {
 protected:
  /// `nudges` is the number of nudges so far. Waits until a client that still sends nudges would have sent two more.
  /// The interval between nudges is 20 ms at first, and doubles each time.
  void wait_for_two_more(std::size_t nudges) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20) * (1u << (nudges + 2));
    until([end] { return std::chrono::steady_clock::now() >= end; });
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NudgeTest);

TEST_P(NudgeTest, UntilSomethingIsHeard) {
  Responder peer(bed_->context);
  auto qp = bed_->client().make_connector(peer.endpoint(), {}, client_);
  ASSERT_TRUE(qp) << qp.error().message();
  client_.qp = std::move(*qp);
  Memory memory(bed_->client(), 64);
  ASSERT_FALSE(client_.qp->post_receive(memory.all(), client_.op(1)));
  bed_->client().start(*client_.qp);
  ASSERT_TRUE(until([&] { return client_.established(); }));
  ASSERT_FALSE(client_.send(memory.part(32, 32), 2));
  client_.qp->submit();
  EXPECT_TRUE(until([&] { return peer.sends == 1 && peer.nudges >= 3; }));
  peer.send();
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  EXPECT_EQ(client_.result(1).length, 4u);
  // The client sends no nudge after it has received a message. One that it sent before may still arrive.
  const std::size_t nudges = peer.nudges;
  wait_for_two_more(nudges);
  EXPECT_LE(peer.nudges, nudges + 1);
  EXPECT_EQ(peer.others, 0u);
  EXPECT_FALSE(client_.disconnected);
}

INSTANTIATE_TEST_SUITE_P(Verbs, NudgeTest, testing::ValuesIn(nudging_beds()));

}  // namespace rpcrdma::test
