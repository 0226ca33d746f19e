// SPDX-License-Identifier: BSD-3-Clause
// Operation: each fault is applied between two handlers. A fault that stops something lets it continue after the time
// of the fault, or when all faults are over.
#include <algorithm>
#include <utility>

#include "world.hpp"

namespace rpcrdma::sim {

using fabric::LoopbackOperation;
using fabric::LoopbackPause;

namespace {

constexpr std::uint32_t kMostClients = 12;

}  // namespace

void World::apply(const Fault& fault) {
  trace_.note("fault: {}", fault.text());
  switch (fault.kind) {
    case FaultKind::delay: return network_.set_max_delay(fault.a);
    case FaultKind::drop: return network_.drop_connection_after(fault.a);
    case FaultKind::stall: return stop_frames(LoopbackPause::before_arrival, fault.b);
    case FaultKind::half_place: return stop_frames(LoopbackPause::half_placed, fault.b);
    case FaultKind::fail_server:
      if (life_) life_->fabric()->fail_nth(static_cast<LoopbackOperation>(fault.a), fault.b);
      return;
    case FaultKind::fail_client:
      if (auto* fabric = client_fabric(fault.c)) fabric->fail_nth(static_cast<LoopbackOperation>(fault.a), fault.b);
      return;
    case FaultKind::crash_server: return crash_server(fault.b, fault.a);
    case FaultKind::stop_server:
      if (!life_ || life_->closing()) return;
      return life_->close(std::chrono::milliseconds(fault.b), replace_after(0, fault.a));
    case FaultKind::lose_server:
      if (!life_) return;
      life_->fabric()->lose_device();
      return later(fault.b, [this, credits = fault.a] { crash_server(0, credits); });
    case FaultKind::crash_client: return crash_client(fault.c);
    case FaultKind::lose_client: return lose_client(fault.c);
    case FaultKind::cancel:
      if (!call_clients_.empty()) call_clients_[fault.c % call_clients_.size()]->cancel(fault.c);
      return;
  }
}

void World::stop_frames(LoopbackPause where, std::uint32_t ms) {
  network_.pause(where);
  later(ms, [this] { network_.resume(); });
}

void World::later(std::uint32_t ms, UniqueFunction<void()> action) {
  auto& later = *later_.emplace_back(std::make_unique<Later>(Later{
      boost::asio::steady_timer(context_, std::chrono::milliseconds(stage_.faults_over ? 0 : ms)), std::move(action)}));
  later.timer.async_wait([this, &later](error_code) {
    const auto found = std::ranges::find(later_, &later, &std::unique_ptr<Later>::get);
    const std::unique_ptr<Later> self = std::move(*found);
    later_.erase(found);
    self->action();
  });
}

void World::start_server(std::uint32_t credits) {
  trace_.note("server starts with {} credits", credits);
  life_ = std::make_unique<ServerLife>(stage_, exports_, io_, secret_, credits);
}

void World::crash_server(std::uint32_t ms, std::uint32_t credits) {
  if (life_) life_->crash(replace_after(ms, credits));
}

UniqueFunction<void()> World::replace_after(std::uint32_t ms, std::uint32_t credits) {
  return [this, ms, credits] {
    later(0, [this, ms, credits] {
      end_life();
      later(ms, [this, credits] { start_server(credits); });
    });
  };
}

void World::end_life() {
  calls_ += life_->server()->counters().calls;
  life_->end();
  ended_lives_.push_back(std::move(life_));
}

void World::crash_client(std::uint32_t which) {
  if (call_clients_.empty()) return;
  const auto at = call_clients_.begin() + which % static_cast<std::ptrdiff_t>(call_clients_.size());
  (*at)->end();
  ended_clients_.push_back(std::move(*at));
  call_clients_.erase(at);
  if (!stage_.faults_over && clients_made_ < kMostClients)
    call_clients_.push_back(std::make_unique<CallClient>(stage_, ++clients_made_, plan_.setup.operations / 2));
}

void World::lose_client(std::uint32_t which) {
  if (file_clients_.empty()) return;
  const auto at = file_clients_.begin() + which % static_cast<std::ptrdiff_t>(file_clients_.size());
  (*at)->lose_device();
  lost_clients_.push_back(std::move(*at));
  file_clients_.erase(at);
}

fabric::LoopbackFabric* World::client_fabric(std::uint32_t which) {
  std::vector<fabric::LoopbackFabric*> all;
  for (const auto& client : call_clients_) all.push_back(client->fabric().get());
  for (const auto& client : file_clients_) all.push_back(client->fabric().get());
  return all.empty() ? nullptr : all[which % all.size()];
}

void World::sweep() {
  const auto check_empty = [this](const fabric::LoopbackFabric& fabric, std::string_view whose) {
    trace_.require(fabric.regions() == 0 && fabric.bound_windows() == 0, invariant::kNothingLeft,
                   "{}: {} regions and {} windows", whose, fabric.regions(), fabric.bound_windows());
  };
  const auto sweep_spent = [&](auto& all, std::string_view whose) {
    std::erase_if(all, [&](auto& one) {
      if (!one->spent()) return false;
      const auto fabric = one->fabric();
      one.reset();
      check_empty(*fabric, whose);
      return true;
    });
  };
  sweep_spent(ended_lives_, "server");
  sweep_spent(ended_clients_, "client");
  for (auto& client : lost_clients_) {
    if (!client->finished()) continue;
    client->end();
    retired_.push_back(std::move(client));
    if (clients_made_ < kMostClients) file_clients_.push_back(std::make_unique<FileClient>(stage_, ++clients_made_));
  }
  std::erase(lost_clients_, nullptr);
}

}  // namespace rpcrdma::sim
