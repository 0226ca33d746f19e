// SPDX-License-Identifier: BSD-3-Clause
#include "reverse_load.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <optional>
#include <string_view>

#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/rpc/reverse_handlers.hpp"
#include "service.hpp"
#include "support/pattern.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

constexpr std::uint32_t kCredits = 16;
constexpr std::uint32_t kReverseCredits = 12;
// The most calls in progress in each direction. They exceed the credits, so that some calls wait for a credit.
constexpr std::uint32_t kWindow = 40;
constexpr std::uint32_t kSmallest = 4500, kLargest = 9000;
constexpr std::uint64_t kSeed = 5;

/// Progress of the numbered calls of one direction.
struct Progress {
  explicit Progress(std::uint32_t calls) : completions(calls) {}
  /// Sets `number` to that of the next call; returns false if there is none at present.
  bool take(std::uint32_t& number) {
    if (again.empty() && next == completions.size()) return false;
    if (again.empty()) {
      number = next++;
    } else {
      number = again.front();
      again.pop_front();
    }
    ++running;
    return true;
  }
  void arrived() { most_served = std::max(most_served, ++served); }
  void answered() {
    --served;
    ++replies;
  }
  bool over() const { return succeeded == completions.size() && running == 0; }

  std::vector<std::uint8_t> completions;  // how often each call has succeeded
  std::deque<std::uint32_t> again;        // calls to make again
  std::uint32_t next = 0;
  std::uint32_t running = 0;
  std::uint32_t succeeded = 0;
  std::uint32_t lost = 0;
  std::uint32_t served = 0;       // calls that the responder has received and not yet answered
  std::uint32_t most_served = 0;  // largest value of `served`
  std::uint32_t replies = 0;      // replies that the responder has begun to send and not yet sent completely
};

class Run {
 public:
  Run(boost::asio::io_context& context, const ReverseLoad& load);
  ~Run();
  void run();

 private:
  void serve_forward();
  void serve_reverse();
  void announce();
  void call_forward();
  void call_reverse();
  void fetch(std::uint32_t number);
  void store(std::uint32_t number);
  void forward_over(std::uint32_t number, error_code status);
  void reverse_over(std::uint32_t number, error_code status, const rpc::Decoded<CountResult>& result);
  void check_credits();
  void close();
  static std::uint32_t size_of(std::uint32_t number) { return kSmallest + number * 7919 % (kLargest - kSmallest); }
  BufferRef data(memory::RegisteredBuffer& all, std::uint32_t number) const {
    return all.ref().slice(number % 64, size_of(number));
  }
  bool is_data(BufferRef seen, std::uint32_t number) const {
    return seen.size == size_of(number) &&
           std::memcmp(seen.data, server_data_.octets().data() + number % 64, seen.size) == 0;
  }
  bool wait(const std::function<bool()>& condition) { return run_until(context_, condition); }
  template <class... Arguments>
  void complain(const Arguments&... arguments) {
    if (complaints_++ < 5) ADD_FAILURE() << (testing::Message() << ... << arguments);
  }

  boost::asio::io_context& context_;
  const ReverseLoad& load_;
  Progress forward_{load_.calls};
  Progress reverse_{load_.calls};
  int complaints_ = 0;
  std::size_t announced_ = 0;
  memory::Pool client_pool_{*load_.client};
  memory::Pool server_pool_{*load_.server};
  memory::RegisteredBuffer client_data_ = std::move(*client_pool_.allocate(kLargest + 64));
  memory::RegisteredBuffer server_data_ = std::move(*server_pool_.allocate(kLargest + 64));
  std::vector<memory::RegisteredBuffer> buffers_;  // buffers that no call uses
  rpc::Dispatcher dispatcher_;
  std::unique_ptr<transport::Server> server_;
  std::unique_ptr<transport::Client> connection_;
  std::optional<rpc::Client> client_;
  std::optional<rpc::ReverseHandlers> handlers_;
  rpc::ReverseClient back_;
};

Run::Run(boost::asio::io_context& context, const ReverseLoad& load) : context_(context), load_(load) {
  fill_pattern(client_data_.octets(), kSeed);
  fill_pattern(server_data_.octets(), kSeed);
  serve_forward();
  transport::ServerOptions server_options;
  server_options.connection.credits = kCredits;
  server_options.connection.reverse_credits = kReverseCredits + 3;  // more than the client grants
  server_ = transport::Server::make({{load.server, &server_pool_, &dispatcher_}}, server_options, load.log);
  fabric::Endpoint endpoint;
  server_->listen(load.local, [&endpoint](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
  EXPECT_TRUE(wait([&endpoint] { return endpoint.port() != 0; }));
  transport::ClientOptions options;
  options.first_backoff = options.last_backoff = std::chrono::milliseconds(1);
  options.connection.credits = kCredits + 5;  // more than the server grants
  options.connection.reverse_credits = kReverseCredits;
  connection_ = transport::Client::make(*load.client, client_pool_, endpoint, options, load.log);
  client_.emplace(connection_->requester(), context.get_executor(), rpc::ClientOptions{{}, std::chrono::minutes(10)});
  serve_reverse();
}

Run::~Run() {
  back_ = {};
  client_.reset();
  connection_.reset();
  handlers_.reset();
  server_.reset();
  wait([this] { return server_pool_.counters().lent <= 1 && client_pool_.counters().lent <= 1 + buffers_.size(); });
}

void Run::serve_forward() {
  dispatcher_.on<Two>([this](rpc::ServerCall<Two> call) {
    forward_.arrived();
    TwoResult result{};
    const BufferRef part = data(server_data_, call.args().second);
    result.first.set_parts({&part, 1});
    forward_.answered();
    call.reply(result, [this](error_code) { --forward_.replies; });
  });
  dispatcher_.on<Join>([this](rpc::ServerCall<Join> call) {
    forward_.arrived();
    auto memory = std::make_shared<memory::RegisteredBuffer>(*call.pool().allocate(kLargest));
    const std::uint32_t number = call.args().between;
    const BufferRef part = memory->ref().slice(0, size_of(number));
    const bulk_data& argument = call.args().first;
    async_fetch(std::move(call), argument, {&part, 1}, [=, this](error_code status, rpc::ServerCall<Join> fetched) {
      if (!status && !is_data(part, number)) complain("argument ", number, " differs");
      forward_.answered();
      fetched.reply({part.size, number}, [this, memory](error_code) { --forward_.replies; });
    });
  });
  dispatcher_.on<Count>([this](rpc::ServerCall<Count> call) {
    back_ = call.reverse_client({.timeout = std::chrono::minutes(10)});
    call.reply({});
    ++announced_;
    call_reverse();
  });
}

void Run::serve_reverse() {
  handlers_.emplace(*connection_, rpc::ReverseHandlersOptions{.announce = [this] { announce(); }});
  handlers_->on<Count>([this](rpc::ServerCall<Count> call) {
    reverse_.arrived();
    // The client replies in a later handler of the io_context, so that several reverse calls are in progress at once.
    boost::asio::post(context_, [this, call = std::move(call)]() mutable {
      const CountResult result{call.args().add * 2 + 1};
      reverse_.answered();
      call.reply(result, [this](error_code) { --reverse_.replies; });
    });
  });
}

void Run::announce() {
  client_->async_call<Count>({}, [this](error_code status, const rpc::Decoded<CountResult>&) {
    if (status) complain("announcement: ", status.message());
  });
}

void Run::call_forward() {
  std::uint32_t number = 0;
  while (forward_.running < kWindow && forward_.take(number)) {
    if (number % 2 == 0)
      fetch(number);
    else
      store(number);
  }
}

void Run::fetch(std::uint32_t number) {
  if (buffers_.empty()) buffers_.push_back(std::move(*client_pool_.allocate(kLargest)));
  auto buffer = std::make_shared<memory::RegisteredBuffer>(std::move(buffers_.back()));
  buffers_.pop_back();
  const BufferRef into = buffer->ref().slice(0, size_of(number));
  std::memset(into.data, 0, into.size);
  client_->async_call<Two>({into.size, number, FALSE}, rpc::CallOptions().into({&into, 1}),
                           [=, this](error_code status, const rpc::Decoded<TwoResult>& result) {
                             if (!status && (result->first.length != into.size || !is_data(into, number)))
                               complain("result ", number, " differs");
                             buffers_.push_back(std::move(*buffer));
                             forward_over(number, status);
                           });
}

void Run::store(std::uint32_t number) {
  const BufferRef part = data(client_data_, number);
  JoinArgs args{};
  args.first.set_parts({&part, 1});
  args.between = number;
  client_->async_call<Join>(args, [=, this](error_code status, const rpc::Decoded<JoinResult>& result) {
    if (!status && (result->length != part.size || result->sum != number)) complain("reply ", number, " is wrong");
    forward_over(number, status);
  });
}

void Run::forward_over(std::uint32_t number, error_code status) {
  --forward_.running;
  if (status) complain("forward call ", number, ": ", status.message());
  if (forward_.completions[number]++ != 0) complain("forward call ", number, " has completed twice");
  ++forward_.succeeded;
  check_credits();
  if (load_.disturb) load_.disturb();
  call_forward();
}

void Run::call_reverse() {
  static const std::string kBallast(300, 'r');
  std::uint32_t number = 0;
  while (back_ && back_.alive() && reverse_.running < kWindow && reverse_.take(number)) {
    CountArgs args{};
    args.add = number;
    args.ballast.set(std::string_view(kBallast).substr(0, number % 300));
    back_.call<Count>(args, [=, this](error_code status, const rpc::Decoded<CountResult>& result) {
      reverse_over(number, status, result);
    });
  }
}

void Run::reverse_over(std::uint32_t number, error_code status, const rpc::Decoded<CountResult>& result) {
  --reverse_.running;
  if (status) {
    ++reverse_.lost;
    reverse_.again.push_back(number);
    if (status != transport::TransportError::connection_lost || !load_.may_be_lost)
      complain("reverse call ", number, ": ", status.message());
  } else {
    if (result->total != number * 2 + 1) complain("reverse reply ", number, " is wrong");
    if (reverse_.completions[number]++ != 0) complain("reverse call ", number, " has completed twice");
    ++reverse_.succeeded;
  }
  check_credits();
  if (load_.disturb) load_.disturb();
  call_reverse();
}

/// [8166-3.3.1-a] [8167-4.1-a] each requester counts no more calls in flight than it was granted
void Run::check_credits() {
  const transport::Requester::Counters there = connection_->requester().counters();
  const transport::Requester::Counters back = back_.counters();
  // While there is no connection, `granted` is 0.
  if (there.granted != 0 && there.in_flight > there.granted)
    complain("forward: ", there.in_flight, " in flight, granted ", there.granted);
  if (back.granted != 0 && back.in_flight > back.granted)
    complain("reverse: ", back.in_flight, " in flight, granted ", back.granted);
  if (there.granted > kCredits || back.granted > kReverseCredits) complain("granted too much");
}

void Run::run() {
  client_->async_call<Count>({}, [](error_code, const rpc::Decoded<CountResult>&) {});  // connects
  ASSERT_TRUE(wait([this] { return back_ && announced_ >= 2; }));
  call_forward();
  call_reverse();
  const bool ended = run_until(
      context_, [this] { return (forward_.over() && reverse_.over()) || complaints_ > 100; }, std::chrono::minutes(60));
  ASSERT_TRUE(ended) << forward_.succeeded << " and " << reverse_.succeeded << " of " << load_.calls;
  for (std::uint32_t i = 0; i < load_.calls; ++i) {
    if (forward_.completions[i] != 1) complain("forward call ", i, " has not completed once");
    if (reverse_.completions[i] != 1) complain("reverse call ", i, " has not completed once");
  }
  const transport::Requester::Counters there = connection_->requester().counters();
  std::cout << load_.calls << " calls in each direction: most in service at once " << forward_.most_served << " and "
            << reverse_.most_served << ", " << there.reconnects << " reconnects, " << there.resent
            << " forward calls sent again, " << reverse_.lost << " reverse calls lost and repeated" << std::endl;
  // A responder must not serve more calls at once than it has granted. If a connection is lost, the responder may still
  // serve calls of this connection beside calls of the next connection. The test therefore checks the numbers only if
  // no connection may be lost.
  if (!load_.may_be_lost) {
    EXPECT_LE(forward_.most_served, kCredits);
    EXPECT_LE(reverse_.most_served, kReverseCredits);
    EXPECT_EQ(there.reconnects, 0u);
  }
  if (load_.most_losses) {
    EXPECT_LE(there.reconnects, load_.most_losses());
  }
  // [8167-4.1-b] both directions have used more than one credit
  EXPECT_GT(forward_.most_served, 1u);
  EXPECT_GT(reverse_.most_served, 1u);
  close();
}

void Run::close() {
  EXPECT_TRUE(wait([this] {
    return forward_.served + forward_.replies + reverse_.served + reverse_.replies + handlers_->calls() == 0;
  }));
  const transport::Requester::Counters there = connection_->requester().counters();
  EXPECT_EQ(there.in_flight + there.waiting, 0u);
  EXPECT_EQ(back_.counters().in_flight + back_.counters().waiting, 0u);
  EXPECT_EQ(server_->counters().bulk_in_use, 0u);
  bool closed = false;
  connection_->close([&closed] { closed = true; });
  EXPECT_TRUE(wait([&closed] { return closed; }));
  EXPECT_TRUE(wait([this] { return server_->counters().connections == 0; }));
  EXPECT_FALSE(back_.alive());
  back_ = {};
  client_.reset();
  connection_.reset();
  // The only buffer still lent by the server's pool is that of this test.
  EXPECT_TRUE(wait([this] { return server_pool_.counters().lent == 1; }));
  EXPECT_TRUE(wait([this] { return client_pool_.counters().lent == 1 + buffers_.size(); }));
}

}  // namespace

void run_in_both_directions(boost::asio::io_context& context, const ReverseLoad& load) { Run(context, load).run(); }

std::uint32_t calls_in_each_direction(std::uint32_t small) {
  const char* const scale = std::getenv("RPCRDMA_E2E_SCALE");
  return scale != nullptr && std::string_view(scale) == "full" ? 100'000 : small;
}

}  // namespace rpcrdma::test
