// SPDX-License-Identifier: BSD-3-Clause
#include "tally.hpp"

namespace rpcrdma::tally {
namespace {

constinit Counts own;
constinit std::atomic<Counts*> place{&own};

}  // namespace

Counts& here() noexcept { return *place.load(std::memory_order_relaxed); }
void count_in(Counts& other) noexcept { place.store(&other, std::memory_order_relaxed); }

}  // namespace rpcrdma::tally
