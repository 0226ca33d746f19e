// SPDX-License-Identifier: BSD-3-Clause
#include "bed.hpp"

namespace rpcrdma::test {
namespace {

std::unique_ptr<fabric::Fabric> make_fabric(boost::asio::io_context& context, bool crc) {
  fabric::IwarpOptions options;
  options.crc = crc;
  return std::move(*fabric::open_iwarp(context, options, {}));
}

}  // namespace

SteadyBed::SteadyBed(bool crc)
    : client_fabric_(make_fabric(context_, crc)),
      server_fabric_(make_fabric(context_, crc)),
      source_(std::move(*server_pool_.allocate(kLargest))),
      sink_(std::move(*server_pool_.allocate(kLargest))) {
  for (std::uint32_t i = 0; i < kMostDepth; ++i) buffers_.push_back(std::move(*client_pool_.allocate(kLargest)));
  serve();
  server_ = transport::Server::make({{server_fabric_.get(), &server_pool_, &dispatcher_}}, {}, {});
  fabric::Endpoint endpoint;
  server_->listen({boost::asio::ip::make_address("127.0.0.1"), 0}, [&endpoint](Result<fabric::Endpoint> bound) {
    ASSERT_TRUE(bound);
    endpoint = *bound;
  });
  EXPECT_TRUE(run_until(context_, [&endpoint] { return endpoint.port() != 0; }));
  connection_ = transport::Client::make(*client_fabric_, client_pool_, endpoint, {}, {});
  client_ = std::make_unique<rpc::Client>(connection_->requester(), context_.get_executor());
}

SteadyBed::~SteadyBed() {
  client_.reset();
  connection_.reset();
  bool closed = false;
  server_->close(std::chrono::steady_clock::now() + std::chrono::seconds(5), [&closed] { closed = true; });
  EXPECT_TRUE(run_until(context_, [&closed] { return closed; }));
  run_ready(context_);
}

void SteadyBed::serve() {
  dispatcher_.on<Read>([this](rpc::ServerCall<Read> call) {
    EXPECT_EQ(call.args().count, source_part_.size);
    Bulk result{};
    result.data.set_parts({&source_part_, 1});
    call.reply(result);
  });
  dispatcher_.on<Write>([this](rpc::ServerCall<Write> call) {
    const std::uint32_t length = call.args().data.length;
    rpc::async_reserve(std::move(call), length, [this](error_code failed, rpc::ServerCall<Write> reserved) {
      EXPECT_FALSE(failed) << failed.message();
      const bulk_data& data = reserved.args().data;
      sink_part_ = sink_.first(data.length);
      rpc::async_fetch(std::move(reserved), data, {&sink_part_, 1},
                       [](error_code lost, rpc::ServerCall<Write> fetched) {
                         EXPECT_FALSE(lost) << lost.message();
                         fetched.reply({});
                       });
    });
  });
}

Cost SteadyBed::now() const {
  return {tally::here().allocations, copied_octets(),
          client_fabric_->counters().copied + server_fabric_->counters().copied};
}

}  // namespace rpcrdma::test
