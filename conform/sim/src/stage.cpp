// SPDX-License-Identifier: BSD-3-Clause
#include "stage.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rpcrdma::sim {
namespace {

class SharedFabric final : public fabric::Fabric {
 public:
  explicit SharedFabric(std::shared_ptr<fabric::LoopbackFabric> under) : under_(std::move(under)) {}

  boost::asio::io_context& context() noexcept override { return under_->context(); }
  const fabric::Capabilities& capabilities() const noexcept override { return under_->capabilities(); }
  const fabric::Counters& counters() const noexcept override { return under_->counters(); }
  void on_end(UniqueFunction<void(error_code)> handler) override { under_->on_end(std::move(handler)); }
  Result<std::unique_ptr<fabric::MemoryRegion>> register_memory(std::span<std::byte> memory) override {
    return under_->register_memory(memory);
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_connector(const fabric::Endpoint& peer,
                                                            fabric::QueuePairOptions options,
                                                            fabric::QueuePairEvents& events) override {
    return under_->make_connector(peer, std::move(options), events);
  }
  void start(fabric::QueuePair& queue_pair) override { under_->start(queue_pair); }
  Result<std::unique_ptr<fabric::Listener>> listen(const fabric::Endpoint& local, RequestHandler handler) override {
    return under_->listen(local, std::move(handler));
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_acceptor(std::unique_ptr<fabric::ConnectionRequest> request,
                                                           fabric::QueuePairOptions options,
                                                           fabric::QueuePairEvents& events) override {
    return under_->make_acceptor(std::move(request), std::move(options), events);
  }
  void reject(std::unique_ptr<fabric::ConnectionRequest> request, Octets private_data) override {
    under_->reject(std::move(request), private_data);
  }

 private:
  const std::shared_ptr<fabric::LoopbackFabric> under_;
};

}  // namespace

std::unique_ptr<fabric::Fabric> share(std::shared_ptr<fabric::LoopbackFabric> fabric) {
  return std::make_unique<SharedFabric>(std::move(fabric));
}

void Drain::round(int left) {
  boost::asio::post(context_, [this, left] {
    if (left == 0)
      over_ = true;
    else
      round(left - 1);
  });
}

boost::asio::awaitable<void> Waits::wait(std::chrono::milliseconds time) {
  if (ended_ || time.count() == 0) co_return;
  boost::asio::steady_timer timer(context_, time);
  const auto at = waiting_.insert(waiting_.end(), &timer);
  co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  waiting_.erase(at);
}

void Waits::end() noexcept {
  ended_ = true;
  for (boost::asio::steady_timer* timer : waiting_) timer->cancel();
}

}  // namespace rpcrdma::sim
