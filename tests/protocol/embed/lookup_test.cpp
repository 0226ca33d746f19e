// SPDX-License-Identifier: BSD-3-Clause
// Resolves the text of a server's address to an IP address and a port, by host name and rpcbind. Also reverse calls:
// after a look-up, and long ones.
#include <rpc/rpc.h>  // before rpcb_prot.h, which does not compile alone
#include <rpc/rpcb_prot.h>

#include <future>

#include "bed.hpp"
#include "rpcrdma/rpc/rpcbind.hpp"
#include "rpcrdma/rpc/rpcbind_lookup.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

rpc::ReplyBound dump_bound(const rpc::Void&) { return {4096, {}}; }
RPCRDMA_PROCEDURE(RpcbDump, (RPCBPROG, RPCBVERS, 4, "DUMP", 0, 0, true, rpc::AuthRequirement::none), rpc::Void,
                  rpc::xdr_nothing, rpcblist_ptr, xdr_rpcblist_ptr, dump_bound);

/// An rpcbind that lists another program, then the program of the tests.
class Rpcbind {
 public:
  Rpcbind(std::string netid, std::string address) : netid_(std::move(netid)), address_(std::move(address)) {
    entry_.rpcb_map = {hello::kProgram, hello::kVersion, netid_.data(), address_.data(), owner_};
    other_ = entry_;
    other_.rpcb_map.r_prog += 1;
    other_.rpcb_next = &entry_;
    server_.on<RpcbDump>([this]() -> rpcblist_ptr { return &other_; });
    server_.start();
  }
  ClientOptions options() const { return {.rpcbind_port = server_.listeners().front().endpoint.port()}; }

 private:
  std::string netid_, address_;
  char owner_[2] = "0";
  rpcblist entry_{}, other_{};
  Server server_{{.listen = {"tcp@127.0.0.1"}}};
};

std::string universal(const Bed& bed, const char* fabric) {
  const Address address = parse_address(bed.at(fabric));
  return rpc::universal_address({asio::ip::make_address("0.0.0.0"), *address.port});
}

TEST(Lookup, FindsThePortThroughRpcbind) {
  Bed bed;
  for (const auto& [carrier, netid] : {std::pair{"iwarp", "rdma"}, std::pair{"tcp", "tcp"}}) {
    const Rpcbind rpcbind(netid, universal(bed, carrier));
    Client client(std::string(carrier) + "@127.0.0.1", rpcbind.options());
    EXPECT_EQ(*client.call<hello::Add>(0, asio::use_future).get(), 0u) << carrier;
  }
}

TEST(Lookup, SaysThatRpcbindDoesNotKnowTheProgram) {
  Bed bed;
  const Rpcbind rpcbind("tcp", universal(bed, "tcp"));
  Client client("iwarp@127.0.0.1", rpcbind.options());
  EXPECT_EQ(error_of(client.call<hello::Null>({}, asio::use_future)), rpc::RpcError::not_registered);
  const Rpcbind broken("rdma", "127.0.0.1.300.1");
  Client misled("iwarp@127.0.0.1", broken.options());
  EXPECT_EQ(error_of(misled.call<hello::Null>({}, asio::use_future)), rpc::RpcError::not_registered);
}

TEST(Lookup, SaysThatThereIsNoRpcbind) {
  std::uint16_t closed = 0;
  {
    Bed bed;
    closed = *parse_address(bed.at("tcp")).port;
  }
  Client client("iwarp@127.0.0.1", {.rpcbind_port = closed});
  EXPECT_EQ(error_of(client.call<hello::Null>({}, asio::use_future)), rpc::RpcError::no_rpcbind);
  EXPECT_EQ(error_of(client.call<hello::Null>({}, asio::use_future)), rpc::RpcError::no_rpcbind)
      << "each call asks rpcbind again";
  Client early("iwarp@127.0.0.1", {.rpcbind_port = closed});
  EXPECT_EQ(error_of(early.allocate(1, asio::use_future)), BaseError::invalid_argument)
      << "the client does not know yet which program to look up";
}

TEST(Lookup, KeepsToTheDeadlineOfTheCall) {
  // This rpcbind accepts connections, but does not answer.
  asio::io_context context;
  asio::ip::tcp::acceptor silent(context, {asio::ip::make_address("127.0.0.1"), 0});
  Client client("iwarp@127.0.0.1",
                {.lookup_timeout = std::chrono::hours(1), .rpcbind_port = silent.local_endpoint().port()});
  auto late = client.call<hello::Null>({}, CallOptions().within(std::chrono::milliseconds(20)), asio::use_future);
  EXPECT_EQ(error_of(std::move(late)), BaseError::deadline_exceeded);
}

TEST(Lookup, UsesTheAddressThatAnswers) {
  Bed bed;
  const std::string port = std::to_string(*parse_address(bed.at("iwarp")).port);
  Client client("iwarp@localhost:" + port);
  EXPECT_EQ(*client.call<hello::Add>(0, asio::use_future).get(), 0u);
  EXPECT_EQ(client.statistics().server.address().to_string(), "127.0.0.1");
}

/// A client that has looked up the server's host name serves reverse calls on its connection.
TEST(Lookup, IsFollowedByReverseCalls) {
  Bed bed;
  std::promise<u_int> told;
  Client client("iwarp@localhost:" + std::to_string(*parse_address(bed.at("iwarp")).port));
  client.on<hello::Changed>([&](u_int value) { told.set_value(value); });
  client.call<hello::Watch>({}, asio::use_future).get();
  const std::lock_guard lock(bed.mutex);
  bed.watchers.front().call<hello::Changed>(17, asio::use_future).get();
  EXPECT_EQ(told.get_future().get(), 17u);
}

// [xchar-3.3-c] long reverse calls and replies, with version two
TEST(ReverseCalls, MayBeLongWithVersionTwo) {
  Bed bed(2, transport::VersionChoice::automatic);
  Client client(bed.at("iwarp"), {.version = transport::VersionChoice::automatic});
  const std::vector<std::byte> data(20000, std::byte{5});
  client.on<hello::Greet>([](const greet_args& args, Scratch& scratch) {
    const std::string size = std::to_string(args.name.view().size());
    return greet_result{scratch.format("{} bytes", size), scratch.copy("")};
  });
  client.on<hello::Fetch>([&data](ServerCall<hello::Fetch> call) {
    fetch_result result{};
    result.data.set_octets(Octets(data).first(call.args().count));
    call.reply(result);
  });
  // The server sends long reverse calls only after the client has announced that it accepts them. The client announces
  // this after the reply to its first call. The announcement reaches the server before the second call.
  for (int i = 0; i < 2; ++i) client.call<hello::Watch>({}, asio::use_future).get();
  const std::lock_guard lock(bed.mutex);
  const rpc::ReverseClient& back = bed.watchers.front();
  greet_args args{};
  const std::string name(30000, 'n');
  args.name.set(name);
  EXPECT_EQ(back.call<hello::Greet>(args, asio::use_future).get()->text.view(), "30000 bytes");
  const auto fetched = back.call<hello::Fetch>({20000, 0}, asio::use_future).get();
  EXPECT_TRUE(std::ranges::equal(fetched->data.octet_span(), data));
  EXPECT_EQ(client.statistics().characteristics.own.backward_request_support, transport::BackwardSupport::general);
}

TEST(Lookup, KeepsToADeadlineThatHasPassed) {
  asio::io_context context;
  asio::ip::tcp::acceptor silent(context, {asio::ip::make_address("127.0.0.1"), 0});
  Client client("iwarp@127.0.0.1",
                {.lookup_timeout = std::chrono::hours(1), .rpcbind_port = silent.local_endpoint().port()});
  const CallOptions options = CallOptions().within(std::chrono::milliseconds(20));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(error_of(client.call<hello::Null>({}, options, asio::use_future)), BaseError::deadline_exceeded);
}

TEST(Lookup, ReadsUniversalAddresses) {
  EXPECT_EQ(rpc::port_of_universal_address("127.0.0.1.78.81"), 20049);
  EXPECT_EQ(rpc::port_of_universal_address("::1.78.82"), 20050);
  for (const char* wrong : {"", ".", "1", "1.2", ".1.2", "1.2.3.4.256.1", "1.2.3.4.1.256", "1.2.3.4.-1.2", "1.2.3.4.1.",
                            "1.2.3.4..1", "1.2.3.4.1 .2", "::1.99999999999.1"})
    EXPECT_FALSE(rpc::port_of_universal_address(wrong)) << wrong;
}

TEST(Address, IsReadFromText) {
  const auto check = [](std::string_view text, std::string_view host, std::optional<std::uint16_t> port, bool tcp) {
    const Address address = parse_address(text);
    EXPECT_EQ(address.host, host) << text;
    EXPECT_EQ(address.port, port) << text;
    EXPECT_EQ(address.carrier.tcp, tcp) << text;
  };
  check("host", "host", {}, false);
  check("host:20050", "host", 20050, false);
  check("tcp@host:1", "host", 1, true);
  check("auto@::1", "::1", {}, false);
  check("verbs@[fe80::1%eth0]:7", "fe80::1%eth0", 7, false);
  check("[::1]", "::1", {}, false);
  for (const char* wrong :
       {"", "@", "iwarp@", "udp@host", "host:", "host:x", "host:65536", "[::1", "[::1]7", ":1", "[]:1"})
    EXPECT_THROW(parse_address(wrong), std::invalid_argument) << wrong;
}

}  // namespace
}  // namespace rpcrdma::test
