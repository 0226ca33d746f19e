// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "random.hpp"

namespace rpcrdma::sim {
namespace {

using fabric::LoopbackOperation;

// make_fault() lets each fault happen before this step. Most runs without faults end before this step too, so a later
// fault would seldom happen.
constexpr std::uint32_t kLastStep = 900;

constexpr LoopbackOperation kOperations[] = {LoopbackOperation::any,
                                             LoopbackOperation::register_memory,
                                             LoopbackOperation::make_queue_pair,
                                             LoopbackOperation::connect,
                                             LoopbackOperation::accept,
                                             LoopbackOperation::make_window,
                                             LoopbackOperation::post_receive,
                                             LoopbackOperation::post_send,
                                             LoopbackOperation::post_write,
                                             LoopbackOperation::post_read,
                                             LoopbackOperation::bind,
                                             LoopbackOperation::invalidate,
                                             LoopbackOperation::completion};

constexpr const char* kOperationNames[] = {"operation", "registration", "listen",     "queue pair", "connect",
                                           "accept",    "window",       "receive",    "send",       "write",
                                           "read",      "bind",         "invalidate", "completion"};
static_assert(std::size(kOperationNames) == fabric::kLoopbackOperations);

fabric::Capabilities device(Random& random) {
  fabric::Capabilities out = fabric::LoopbackNetwork::default_capabilities();
  out.max_gather = random.pick({2u, 4u, 16u});
  out.max_read_depth = random.pick({1u, 2u, 64u});
  if (random.chance(25)) out.remote_invalidation = false;
  if (random.chance(25)) out.exact_window_bounds = out.late_invalidation = false;
  return out;
}

transport::ConnectionOptions connection(Random& random) {
  transport::ConnectionOptions out;
  out.credits = random.pick({1u, 2u, 3u, 8u, 32u});
  out.reverse_credits = random.between(1, 3);
  out.send_size = random.pick({1024u, 4096u, 8192u});
  out.receive_size = random.pick({1024u, 4096u, 8192u});
  out.private_data = random.chance(80);
  if (random.chance(30)) out.version = transport::VersionChoice::automatic;
  return out;
}

Setup make_setup(Random& random, bool liveness) {
  Setup out;
  out.network.seed = random.next();
  out.network.max_delay = random.pick({0u, 0u, 1u, 2u, 5u});
  out.network.reorder = random.chance(50);
  out.server_device = device(random);
  out.client_device = device(random);
  out.server = connection(random);
  out.client = connection(random);
  out.max_bulk = random.pick({600u, 5000u, 5000u, 20000u});
  out.server_pool = random.pick({std::size_t{1} << 20, std::size_t{4} << 20, std::size_t{16} << 20});
  out.bulk_budget = random.pick({std::size_t{256} << 10, std::size_t{1} << 20});
  out.file_clients = random.below(3);
  out.call_clients = out.file_clients == 0 ? random.between(1, 2) : random.below(3);
  out.workers = random.between(1, 2);
  out.operations = random.between(3, 14);
  out.call_timeout_ms = liveness ? 1'800'000 : random.pick({300u, 3000u, 30000u, 60000u});
  out.silence_ms = random.pick({200u, 2000u, 10000u});
  out.grace_ms = random.pick({50u, 1000u});
  return out;
}

FaultKind kind_of(Random& random, bool liveness) {
  constexpr FaultKind kOfWorld[] = {FaultKind::delay,        FaultKind::drop,        FaultKind::drop,
                                    FaultKind::drop,         FaultKind::stall,       FaultKind::half_place,
                                    FaultKind::crash_server, FaultKind::stop_server, FaultKind::lose_server,
                                    FaultKind::crash_client, FaultKind::lose_client};
  constexpr FaultKind kOfOperations[] = {FaultKind::fail_server, FaultKind::fail_client, FaultKind::cancel};
  return liveness || random.chance(60) ? random.pick(kOfWorld) : random.pick(kOfOperations);
}

Fault make_fault(Random& random, bool liveness) {
  Fault out;
  out.at = random.below(random.chance(50) ? kLastStep : kLastStep / 6);
  out.kind = kind_of(random, liveness);
  switch (out.kind) {
    case FaultKind::delay: out.a = random.below(8); break;
    case FaultKind::drop: out.a = random.chance(50) ? random.below(3) : random.below(40); break;
    case FaultKind::stall:
    case FaultKind::half_place: out.b = random.pick({1u, 100u, 1200u, 5000u, 20000u}); break;
    case FaultKind::fail_server:
    case FaultKind::fail_client:
      out.a = static_cast<std::uint32_t>(random.pick(kOperations));
      out.b = random.chance(70) ? random.between(1, 4) : random.between(1, 40);
      out.c = random.below(8);
      break;
    case FaultKind::crash_server:
    case FaultKind::stop_server:
    case FaultKind::lose_server:
      out.a = random.pick({1u, 2u, 5u, 32u});
      out.b = random.pick({0u, 10u, 300u, 4000u});
      break;
    case FaultKind::crash_client:
    case FaultKind::lose_client:
    case FaultKind::cancel: out.c = random.below(8); break;
  }
  return out;
}

}  // namespace

std::string Fault::text() const {
  const auto what = [this]() -> std::string {
    switch (kind) {
      case FaultKind::delay: return fmt::format("delay frames by up to {} turns", a);
      case FaultKind::drop: return fmt::format("end a connection after {} frames", a);
      case FaultKind::stall: return fmt::format("stop all frames for {} ms", b);
      case FaultKind::half_place: return fmt::format("stop tagged data half placed for {} ms", b);
      case FaultKind::fail_server: return fmt::format("server: fail {} {} from now on", kOperationNames[a], b);
      case FaultKind::fail_client: return fmt::format("client {}: fail {} {} from now on", c, kOperationNames[a], b);
      case FaultKind::crash_server: return fmt::format("server: crash; back after {} ms with {} credits", b, a);
      case FaultKind::stop_server: return fmt::format("server: close within {} ms; back with {} credits", b, a);
      case FaultKind::lose_server:
        return fmt::format("server: lose the device; back after {} ms with {} credits", b, a);
      case FaultKind::crash_client: return fmt::format("client of calls {}: crash", c);
      case FaultKind::lose_client: return fmt::format("file client {}: lose the device", c);
      case FaultKind::cancel: return fmt::format("cancel call {}", c);
    }
    return {};
  };
  return fmt::format("step {}: {}", at, what());
}

bool Plan::fails_operations() const noexcept {
  return std::ranges::any_of(faults, [](const Fault& fault) {
    return fault.kind == FaultKind::fail_server || fault.kind == FaultKind::fail_client;
  });
}

std::string text_of(const Setup& s) {
  const auto side = [](const transport::ConnectionOptions& o, const fabric::Capabilities& d) {
    return fmt::format("credits {}+{}, inline {}/{}{}{}, gather {}, read depth {}{}{}", o.credits, o.reverse_credits,
                       o.send_size, o.receive_size, o.private_data ? "" : ", no private data",
                       o.version == transport::VersionChoice::one ? "" : ", version auto", d.max_gather,
                       d.max_read_depth, d.remote_invalidation ? "" : ", no remote invalidation",
                       d.exact_window_bounds ? "" : ", rxe windows");
  };
  return fmt::format(
      "server ({}; pool {}, budget {}), clients ({}; timeout {} ms, silence {} ms, grace {} ms), delay {}{}, "
      "{} file clients of {} workers, {} clients of calls, {} operations, items up to {}",
      side(s.server, s.server_device), s.server_pool, s.bulk_budget, side(s.client, s.client_device), s.call_timeout_ms,
      s.silence_ms, s.grace_ms, s.network.max_delay, s.network.reorder ? ", reorder" : "", s.file_clients, s.workers,
      s.call_clients, s.operations, s.max_bulk);
}

Plan make_plan(std::uint64_t seed, bool liveness) {
  Plan out;
  out.seed = seed;
  out.liveness = liveness;
  Random random(seed * 2 + (liveness ? 1 : 0));
  out.setup = make_setup(random, liveness);
  for (std::uint32_t left = random.pick({0u, 1u, 1u, 2u, 3u, 5u, 8u}); left > 0; --left)
    out.faults.push_back(make_fault(random, liveness));
  std::ranges::stable_sort(out.faults, {}, &Fault::at);
  for (std::uint32_t number = 0; Fault & fault : out.faults) fault.number = ++number;
  return out;
}

}  // namespace rpcrdma::sim
