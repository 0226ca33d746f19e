// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each scenario has a server in a process of its own. One client after the other connects and makes its
// calls. The result is the growth of a counter of the server. It does not depend on the load or the speed of the
// machine.
#include "receive_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "link.hpp"
#include "service.hpp"

namespace rpcrdma::bench {
namespace {

using transport::VersionChoice;

/// The limit of the pool in bytes: more than the largest receives of 1,000 connections take. With the default limit the
/// receives would not grow.
constexpr std::size_t kAmplePool = std::size_t{64} << 30;
constexpr std::uint32_t kLarge = 65536;
constexpr std::uint32_t kWrite = 32768;
/// The maximum number of calls to make until receives have grown, and the maximum number of waits until they have
/// shrunk.
constexpr int kMaxWrites = 4000;
constexpr int kMaxWaits = 3000;
/// The number of receives that the server posts on each connection of version two in addition to those for calls. They
/// are for replies to reverse calls and for optional messages.
constexpr std::uint32_t kOtherReceives = 6;

enum class Use : std::uint8_t {
  small,       ///< each connection carries one small call
  hundredth,   ///< as `small`; one connection in a hundred also carries WRITEs of 32 KiB until its receives have grown
  large,       ///< as `small`; each connection also carries WRITEs of 32 KiB until its receives have grown
  idle_again,  ///< as `large`; then the connections are idle until their receives have shrunk again
};

struct Scenario {
  std::string_view name;
  VersionChoice version;
  std::uint32_t threshold;
  Use use;
};

constexpr std::array kScenarios{
    Scenario{"version one", VersionChoice::one, 4096, Use::small},
    Scenario{"version one, Receives of 64 KiB", VersionChoice::one, kLarge, Use::small},
    Scenario{"version two", VersionChoice::two, 4096, Use::small},
    Scenario{"version two, one of a hundred has grown", VersionChoice::two, 4096, Use::hundredth},
    Scenario{"version two, all have grown", VersionChoice::two, 4096, Use::large},
    Scenario{"version two, idle again", VersionChoice::two, 4096, Use::idle_again},
};

Setting with_scenario(const Setting& setting, const Scenario& scenario) {
  Setting out = setting.with(scenario.version, scenario.version);
  out.threshold = scenario.threshold;
  out.pool_octets = kAmplePool;
  // The clients make their calls one after the other, so the earlier connections are idle while the later ones are in
  // use. The receives of idle connections must not shrink, except in the last scenario, which measures the shrinking.
  out.idle_shrink = scenario.use == Use::idle_again ? std::chrono::milliseconds(200) : std::chrono::hours(1);
  return out;
}

/// Makes `count` calls of P at once.
template <class P>
void make_calls(Loop& loop, Link& link, const typename P::Args& args, std::uint32_t count) {
  std::uint32_t left = count;
  error_code failed;
  for (std::uint32_t i = 0; i < count; ++i) {
    link.rpc.async_call<P>(args, [&](error_code status, const auto&) {
      if (status) failed = status;
      --left;
    });
  }
  loop.context.restart();
  while (left != 0) loop.runner.run_one();
  if (failed) throw std::runtime_error(failed.message());
}

std::uint32_t size_at_server(Link& link) {
  return link.transport->exchange().characteristics().peer.receive_buffer_size;
}

/// Makes WRITEs until the server's receives have grown.
void grow(Loop& loop, Link& link, BufferRef data) {
  service::Write::Args args{};
  args.data.set_parts({&data, 1});
  for (int i = 0; i < kMaxWrites && size_at_server(link) < kWrite; i += kCredits)
    make_calls<service::Write>(loop, link, args, kCredits);
  if (size_at_server(link) < kWrite) throw std::runtime_error("the server's receives have not grown");
}

std::uint64_t octets(Loop& loop, Link& control, const Child& server) {
  call<service::Publish>(loop, control);
  return server.board().receive_bytes;
}

std::uint64_t registered_after(const Setting& setting, const Scenario& scenario, std::uint32_t count) {
  const Setting own = with_scenario(setting, scenario);
  const Child server([&](Board& board, const Child::Ready& ready) { serve_rpcrdma(own, board, ready); });
  Loop loop(own);
  auto memory = loop.pool.allocate(kWrite);
  if (!memory) throw std::runtime_error(memory.error().message());
  Link control(loop, server.port());
  // The server posts the receives for all credits of a connection only at the first call. The receives of the control
  // connection must not count as growth, so they are posted before the first measurement.
  call<service::Null>(loop, control);
  const std::uint64_t before = octets(loop, control, server);
  std::vector<std::unique_ptr<Link>> links;
  for (std::uint32_t i = 0; i < count; ++i) {
    links.push_back(std::make_unique<Link>(loop, server.port()));
    call<service::Null>(loop, *links.back());
    const bool grows = scenario.use == Use::hundredth ? i % 100 == 0 : scenario.use != Use::small;
    if (grows) grow(loop, *links.back(), memory->ref());
  }
  if (scenario.use == Use::idle_again) {
    const auto large = [](const auto& link) { return size_at_server(*link) > 4096; };
    loop.context.restart();
    while (std::ranges::any_of(links, large)) loop.runner.run_one();
    // The server has announced small receives, but a large receive stays posted until a message consumes it. Therefore
    // the clients send empty requests. The loop waits until small receives have replaced the large ones.
    const std::uint64_t small = before + std::uint64_t{count} * (kCredits + kOtherReceives) * 4096;
    for (int i = 0; i < kMaxWaits && octets(loop, control, server) > small; ++i)
      loop.context.run_for(std::chrono::milliseconds(20));
  }
  return octets(loop, control, server) - before;
}

}  // namespace

void print_receive_memory(const Setting& setting, std::uint32_t connections) {
  fmt::print("| {} connections of | each, KiB | together, MiB |\n|---|---|---|\n", connections);
  for (const Scenario& scenario : kScenarios) {
    const auto kib = static_cast<double>(registered_after(setting, scenario, connections)) / 1024;
    fmt::print("| {} | {:.0f} | {:.1f} |\n", scenario.name, kib / connections, kib / 1024);
    std::fflush(stdout);
  }
}

}  // namespace rpcrdma::bench
