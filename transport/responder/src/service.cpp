// SPDX-License-Identifier: BSD-3-Clause
#include "service.hpp"

#include <algorithm>

#include "call_impl.hpp"
#include "pull_job.hpp"

namespace rpcrdma::transport {

namespace {

std::size_t long_calls(const ServiceSetup& setup) noexcept {
  return std::max<std::size_t>(setup.bulk_budget / 4, setup.max_chunk);
}

}  // namespace

Service::Service(const ServiceSetup& setup)
    : setup_(setup), budget_(setup.bulk_budget), long_call_budget_(long_calls(setup)) {}

Service::~Service() = default;

CallImpl& Service::take_call() {
  CallImpl* const call = calls_.try_take();
  return call != nullptr ? *call : calls_.add(std::make_unique<CallImpl>(*this));
}

void Service::give_back(CallImpl& call) noexcept {
  calls_.give_back(call);
  if (on_call_over) on_call_over();
}

PullJob& Service::take_job() {
  PullJob* const job = jobs_.try_take();
  return job != nullptr ? *job : jobs_.add(std::make_unique<PullJob>());
}

void Service::give_back(PullJob& job) noexcept { jobs_.give_back(job); }

}  // namespace rpcrdma::transport
