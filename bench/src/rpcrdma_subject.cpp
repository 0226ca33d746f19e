// SPDX-License-Identifier: BSD-3-Clause
// Operation: as many lanes as the case is deep; each makes one call after another until the time is up.
// Ownership: lanes and their registered buffers belong to the subject and outlive their calls.
// Error handling: the first failed call ends the run with an exception.
#include "rpcrdma_subject.hpp"

#include <boost/asio/io_context.hpp>
#include <stdexcept>
#include <vector>

#include "child.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma_server.hpp"
#include "service.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

/// What the lanes of one run share.
struct Run {
  rpc::Client& rpc;
  std::uint32_t octets = 0;
  Clock::time_point end;
  std::uint64_t done = 0;
  std::uint32_t active = 0;                // lanes
  std::vector<double>* samples = nullptr;  // round trips, where they are wanted
  error_code failed;
};

template <class P>
class Lane {
 public:
  Lane(Run& run, BufferRef buffer) : run_(run), buffer_(buffer.slice(0, run.octets)) {
    if constexpr (std::is_same_v<P, service::Read>) {
      args_.count = run.octets;
      options_.into({&buffer_, 1});
    } else if constexpr (std::is_same_v<P, service::Write>) {
      args_.data.set_parts({&buffer_, 1});
    }
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void start() {
    ++run_.active;
    call();
  }

 private:
  void call() {
    started_ = Clock::now();
    run_.rpc.async_call<P>(args_, options_, [this](error_code failed, const auto&) { finished(failed); });
  }

  void finished(error_code failed) {
    const auto now = Clock::now();
    if (failed) run_.failed = failed;
    ++run_.done;
    if (run_.samples != nullptr) {
      run_.samples->push_back(std::chrono::duration<double, std::micro>(now - started_).count());
    }
    if (now < run_.end && !run_.failed) return call();
    --run_.active;
  }

  Run& run_;
  BufferRef buffer_;
  typename P::Args args_{};
  rpc::CallOptions options_;
  Clock::time_point started_;
};

class Rpcrdma final : public Subject {
 public:
  explicit Rpcrdma(const fabric::OpenOptions& options)
      : child_([&options](const auto& ready) { serve_rpcrdma(options, ready); }),
        context_(1),
        fabric_(opened(context_, options)),
        pool_(*fabric_),
        transport_(transport::Client::make(*fabric_, pool_, {kAddress, child_.port()}, transport_options(), Log())),
        rpc_(transport_->requester(), context_.get_executor()) {}

  std::string_view name() const override { return "rpcrdma"; }

  std::optional<double> run(Case which, std::chrono::milliseconds budget) override {
    switch (which) {
      case Case::null_rtt: return round_trip(budget);
      case Case::null_rate_qd32: return rate_of<service::Null>(which, budget);
      case Case::read_1m_qd1:
      case Case::read_1m_qd8:
      case Case::read_4k_qd32: return rate_of<service::Read>(which, budget);
      case Case::write_1m_qd1:
      case Case::write_1m_qd8: return rate_of<service::Write>(which, budget);
    }
    return std::nullopt;
  }

 private:
  static inline const boost::asio::ip::address kAddress = boost::asio::ip::make_address("127.0.0.1");

  static std::unique_ptr<fabric::Fabric> opened(boost::asio::io_context& context, const fabric::OpenOptions& options) {
    auto fabric = fabric::open(context, kAddress, options, Log());
    if (!fabric) throw std::runtime_error(fabric.error().message());
    return std::move(*fabric);
  }
  static transport::ClientOptions transport_options() {
    transport::ClientOptions options;
    options.connection.credits = 64;
    return options;
  }

  /// Makes calls, `info(which).depth` at a time, for `budget`; seconds taken.
  template <class P>
  double drive(Run& run, Case which, std::chrono::milliseconds budget) {
    run.octets = info(which).octets;
    std::vector<memory::RegisteredBuffer> buffers;
    std::vector<std::unique_ptr<Lane<P>>> lanes;
    for (std::uint32_t i = 0; i < info(which).depth; ++i) {
      auto buffer = pool_.allocate(std::max(run.octets, 4096u));
      if (!buffer) throw std::runtime_error(buffer.error().message());
      buffers.push_back(std::move(*buffer));
      lanes.push_back(std::make_unique<Lane<P>>(run, buffers.back().ref()));
    }
    const auto start = Clock::now();
    run.end = start + budget;
    for (const auto& lane : lanes) lane->start();
    context_.restart();
    // The connection stays open, so the context never runs dry: the lanes' end is what ends this.
    while (run.active != 0) runner_.run_some();
    if (run.failed) throw std::runtime_error(run.failed.message());
    return seconds_since(start);
  }

  double round_trip(std::chrono::milliseconds budget) {
    std::vector<double> samples;
    samples.reserve(1 << 18);
    Run run{rpc_, 0, {}, 0, 0, &samples, {}};
    drive<service::Null>(run, Case::null_rtt, budget);
    return median(samples);
  }
  template <class P>
  double rate_of(Case which, std::chrono::milliseconds budget) {
    Run run{rpc_, 0, {}, 0, 0, nullptr, {}};
    const double seconds = drive<P>(run, which, budget);
    return rate(which, run.done, seconds);
  }

  Child child_;
  boost::asio::io_context context_;
  Runner runner_{context_};
  std::unique_ptr<fabric::Fabric> fabric_;
  memory::Pool pool_;
  std::unique_ptr<transport::Client> transport_;
  rpc::Client rpc_;
};

}  // namespace

std::unique_ptr<Subject> make_rpcrdma(const fabric::OpenOptions& options) { return std::make_unique<Rpcrdma>(options); }

}  // namespace rpcrdma::bench
