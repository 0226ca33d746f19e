// SPDX-License-Identifier: BSD-3-Clause
#include "characteristics_load.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <optional>

#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/reverse_service.hpp"
#include "rpcrdma/responder/server.hpp"
#include "support/log_lines.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {
namespace {

using transport::CharacteristicChange;
using transport::VersionChoice;

/// The load calls cut() each time it has submitted this number of calls.
constexpr std::uint32_t kCallsBetweenCuts = 400;

CharacteristicChange random_change(std::mt19937& random) {
  constexpr std::array<std::uint32_t, 5> kSizes{4096, 5120, 8192, 12288, 16384};
  CharacteristicChange out;
  if (random() % 4 != 0) out.receive_buffer_size = kSizes[random() % kSizes.size()];
  if (random() % 4 == 0) out.requester_remote_invalidation = random() % 2 == 0;
  if (random() % 8 == 0) out.backward_request_support = transport::BackwardSupport::general;
  return out;
}

/// One client and one server.
class LoadedLife {
 public:
  LoadedLife(boost::asio::io_context& context, const CharacteristicsLoad& load)
      : context_(context), load_(load), client_pool_(*load.client), server_pool_(*load.server) {
    transport::ServerOptions server_options;
    transport::ClientOptions client_options;
    server_options.connection.version = client_options.connection.version = VersionChoice::automatic;
    client_options.first_backoff = std::chrono::milliseconds(1);
    client_options.version_memory = std::chrono::seconds(0);
    server_ = transport::Server::make({{load.server, &server_pool_, &handler_}}, server_options, Log(lines_));
    fabric::Endpoint endpoint;
    server_->listen(load.local, [&](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
    EXPECT_TRUE(run_until(context_, [&] { return endpoint.port() != 0; }));
    if (load.way_to) endpoint = load.way_to(endpoint);
    client_ = transport::Client::make(*load.client, client_pool_, endpoint, client_options, Log(client_lines_));
    service_ = transport::ReverseService::make(*client_, client_handler_, 2, {}, {}, 1u << 20);
    handler_.intercept = [this](transport::IncomingCall& call) {
      if (auto to_client = call.reverse(); to_client && to_client != reverse_) {
        reverse_ = std::move(to_client);
        reverse_->allow();
      }
      if (random_() % 64 == 0) changes_.ask(*call.exchange());
      if (random_() % 32 == 0) call_back();
      return false;
    };
  }
  void run() {
    const std::uint32_t count = number_from("RPCRDMA_TEST_CALLS", load_.calls);
    std::uint32_t cuts = 0;
    for (std::uint32_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
      calls_.push_back(
          std::make_unique<ShapedCall>(client_pool_, client_->requester(), random_shape_of_calls(random_, i + 1)));
      client_->requester().submit(*calls_.back());
      if (random_() % 64 == 0) changes_.ask(client_->exchange());
      if (i % kCallsBetweenCuts == kCallsBetweenCuts - 1 && ++cuts != 0) load_.cut();
      if (calls_.size() == 24) end_first();
    }
    while (!calls_.empty() && !testing::Test::HasFailure()) end_first();
    EXPECT_TRUE(run_until(context_, [&] { return changes_.answered() == changes_.asked(); }));
    while (!callbacks_.empty() && !testing::Test::HasFailure()) end_callback();
    judge(count, cuts);
    end();
  }

 private:
  void call_back() {
    if (callbacks_.size() >= 8) return;
    Shape shape;
    shape.call_body = static_cast<std::uint32_t>(random_() % 2000) & ~3u;
    if (random_() % 3 == 0) shape.items.push_back(static_cast<std::uint32_t>(random_() % 9000));
    if (random_() % 3 == 0) shape.results.push_back(1 + static_cast<std::uint32_t>(random_() % 9000));
    callbacks_.push_back({reverse_, std::make_unique<ShapedCall>(server_pool_, *reverse_, shape)});
    reverse_->submit(*callbacks_.back().call);
    ++called_back_;
  }
  void end_first() {
    ShapedCall& call = *calls_.front();
    ASSERT_TRUE(run_until(context_, [&] { return call.times_done != 0; }));
    EXPECT_EQ(call.times_done, 1);
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.complaint, "");
    calls_.pop_front();
    while (!callbacks_.empty() && callbacks_.front().call->times_done != 0 && !testing::Test::HasFailure())
      end_callback();
  }
  /// A reverse call may fail only if its connection is lost, or if the client has not yet announced that it accepts
  /// chunks.
  void end_callback() {
    ShapedCall& call = *callbacks_.front().call;
    ASSERT_TRUE(run_until(context_, [&] { return call.times_done != 0; }));
    using enum transport::TransportError;
    const bool lost = call.status == connection_lost || call.status == call_too_long || call.status == reply_too_long;
    EXPECT_TRUE(!call.status || lost) << call.status.message();
    EXPECT_EQ(call.complaint, "");
    callbacks_lost_ += call.status ? 1 : 0;
    callbacks_.pop_front();
  }
  void judge(std::uint32_t count, std::uint32_t cuts) {
    const std::uint64_t reconnects = client_->requester().counters().reconnects;
    const auto counters = server_->counters();
    const std::uint64_t others = load_.other_losses ? load_.other_losses() : 0;
    std::printf(
        "%u calls, %llu reverse calls (%llu lost), %llu changes asked for, %llu raised, %llu lowered, %u cuts, "
        "%llu reconnects, %llu by the device\n",
        count, static_cast<unsigned long long>(called_back_), static_cast<unsigned long long>(callbacks_lost_),
        static_cast<unsigned long long>(changes_.asked()), static_cast<unsigned long long>(counters.receives_raised),
        static_cast<unsigned long long>(counters.receives_lowered), cuts, static_cast<unsigned long long>(reconnects),
        static_cast<unsigned long long>(others));
    EXPECT_GT(counters.receives_raised, 0u);
    EXPECT_GT(counters.receives_lowered, 0u);
    EXPECT_GT(called_back_, callbacks_lost_);
    EXPECT_EQ(handler_.complaint, "");
    EXPECT_EQ(client_handler_.complaint, "");
    const std::string too_small = "asked to be smaller";
    const std::size_t of_server = lines_->with(too_small).size(), of_client = client_lines_->with(too_small).size();
    // A side writes one such line when it ends a connection because a reply does not fit the peer's smaller receives.
    // If there are kMost lines or more, LogLimit may have suppressed others, and the lines do not bound the reconnects.
    if (std::max(of_server, of_client) < LogLimit::kMost) {
      EXPECT_LE(reconnects, cuts + others + of_server + of_client) << lines_->all() << "\nthe client:\n"
                                                                   << client_lines_->all();
    }
  }
  void end() {
    reverse_.reset();
    EXPECT_TRUE(run_until(context_, [&] { return service_->calls() == 0 && server_->counters().bulk_in_use == 0; }));
    client_.reset();
    server_.reset();
    run_ready(context_);
    EXPECT_EQ(client_pool_.counters().lent, 0u);
    EXPECT_EQ(server_pool_.counters().lent, 0u);
  }

  struct Callback {
    std::shared_ptr<transport::ReverseRequester> requester;
    std::unique_ptr<ShapedCall> call;
  };
  std::mt19937 random_{5};
  RandomChanges changes_{random_};
  boost::asio::io_context& context_;
  const CharacteristicsLoad& load_;
  memory::Pool client_pool_, server_pool_;
  ShapedHandler handler_, client_handler_;
  const std::shared_ptr<LogLines> lines_ = std::make_shared<LogLines>(), client_lines_ = std::make_shared<LogLines>();
  std::unique_ptr<transport::ReverseService> service_;
  std::unique_ptr<transport::Server> server_;
  std::unique_ptr<transport::Client> client_;
  std::shared_ptr<transport::ReverseRequester> reverse_;
  std::deque<std::unique_ptr<ShapedCall>> calls_;
  std::deque<Callback> callbacks_;
  std::uint64_t called_back_ = 0, callbacks_lost_ = 0;
};

}  // namespace

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

Shape random_shape_of_calls(std::mt19937& random, std::uint32_t seed) {
  Shape out;
  out.seed = seed;
  out.max_reply = 0;
  const auto size = [&random] { return static_cast<std::uint32_t>(random() % (1024u << random() % 5)); };
  if (random() % 2 == 0) out.call_body = size() & ~3u;
  if (random() % 2 == 0) out.reply_body = size() & ~3u;
  if (random() % 3 == 0) out.items.push_back(size());
  if (random() % 3 == 0) out.results.push_back(1 + size());
  return out;
}

void RandomChanges::ask(transport::CharacteristicsExchange& exchange) {
  ++asked_;
  const auto token = [this](error_code, transport::ChangeOutcome) { ++answered_; };
  if (random_() % 4 == 0)
    exchange.async_change(random_change(random_), token);
  else
    exchange.async_request(random_change(random_), token);
}

void run_characteristics_load(boost::asio::io_context& context, const CharacteristicsLoad& load) {
  LoadedLife(context, load).run();
}

}  // namespace rpcrdma::test
