// SPDX-License-Identifier: BSD-3-Clause
// Operation: a greeting is the null operation of this subject. The client runs on the subject's own event loop.
// Ownership: the client belongs to the subject; the server to the child.
// Error handling: the first failed call ends the run with an exception.
#include "embed_subject.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <stdexcept>

#include "child.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/client.hpp"
#include "rpcrdma/server.hpp"
#include "rpcrdma/xdr/text.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

rpc::ReplyBound greeting_bound(const text_data&) { return {24 + 4 + 256, {}}; }
RPCRDMA_PROCEDURE(Greet, (0x20004d33, 1, 1, "GREET", 0, 0, true, rpc::AuthRequirement::none), text_data, xdr_text_data,
                  text_data, xdr_text_data, greeting_bound);

void serve_hello(const Setting& setting, const Child::Ready& ready) {
  Server server({.listen = {"iwarp@127.0.0.1"}, .version = setting.server, .poll = setting.poll});
  server.on<Greet>([](const text_data& name, Scratch& scratch) {
    text_data greeting{};
    greeting.set(scratch.format("Hello, {}!", name.view()));
    return greeting;
  });
  server.start();
  ready(server.listeners().front().endpoint.port());
  for (;;) ::pause();
}

class Hello final : public Subject {
 public:
  explicit Hello(const Setting& setting)
      : child_([&](Board&, const auto& ready) { serve_hello(setting, ready); }),
        runner_(context_, setting.poll),
        client_(context_, "iwarp@127.0.0.1:" + std::to_string(child_.port()), {.version = setting.client}) {}

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    if (which.operation != Operation::null) return std::nullopt;
    samples_.clear();
    samples_.reserve(1 << 20);
    end_ = Clock::now() + budget;
    running_ = true;
    context_.restart();
    greet();
    while (running_) runner_.run_one();
    if (failed_) throw std::runtime_error(failed_.message());
    return typical(samples_);
  }
  Usage usage() override { return child_.usage(); }

 private:
  void greet() {
    text_data name{};
    name.set("world");
    started_ = Clock::now();
    client_.call<Greet>(name, [this](error_code failed, const rpc::Decoded<text_data>&) { greeted(failed); });
  }
  void greeted(error_code failed) {
    const auto now = Clock::now();
    failed_ = failed;
    samples_.push_back(microseconds(now - started_));
    running_ = !failed && now < end_;
    if (running_) greet();
  }

  Child child_;
  boost::asio::io_context context_{1};
  Runner runner_;
  Client client_;
  std::vector<double> samples_;
  Clock::time_point started_;
  Clock::time_point end_;
  error_code failed_;
  bool running_ = false;
};

}  // namespace

std::unique_ptr<Subject> make_hello(const Setting& setting) { return std::make_unique<Hello>(setting); }

}  // namespace rpcrdma::bench
