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
  if (idle_calls_.empty()) {
    calls_.push_back(std::make_unique<CallImpl>(*this));
    idle_calls_.reserve(calls_.size());
    return *calls_.back();
  }
  CallImpl* call = idle_calls_.back();
  idle_calls_.pop_back();
  return *call;
}

void Service::give_back(CallImpl& call) noexcept {
  idle_calls_.push_back(&call);
  if (on_call_over) on_call_over();
}

PullJob& Service::take_job() {
  if (idle_jobs_.empty()) {
    jobs_.push_back(std::make_unique<PullJob>());
    idle_jobs_.reserve(jobs_.size());
    return *jobs_.back();
  }
  PullJob* job = idle_jobs_.back();
  idle_jobs_.pop_back();
  return *job;
}

}  // namespace rpcrdma::transport
