// SPDX-License-Identifier: BSD-3-Clause
// The loss of a device ends its fabric; the lasting fabric opens another one.
#include "rpcrdma/fabric/lasting.hpp"

#include <algorithm>

#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

using fabric::Access;
using fabric::FabricError;
using fabric::LoopbackFabric;

/// A loopback device that can be removed and added, and the lasting fabric on it.
class Device {
 public:
  Device(fabric::LoopbackNetwork& network, std::string name, Log log = {}) : network_(network), name_(std::move(name)) {
    lasting_ = fabric::make_lasting(
        *open(), [this] { return open(); },
        {.name = name_, .first_pause = std::chrono::milliseconds(1), .last_pause = std::chrono::milliseconds(2)},
        std::move(log));
  }
  fabric::Fabric& fabric() { return *lasting_; }
  LoopbackFabric& present() { return *present_; }
  void remove() {
    there_ = false;
    std::exchange(present_, nullptr)->lose_device();
  }
  void add() { there_ = true; }
  bool in_use() const { return present_ != nullptr; }

  fabric::Capabilities capabilities = fabric::LoopbackNetwork::default_capabilities();
  int attempts = 0;  ///< calls of open()
  /// The next fabric fails its first operation of this kind. With `any`, no operation fails.
  fabric::LoopbackOperation next_failure = fabric::LoopbackOperation::any;

 private:
  Result<std::unique_ptr<fabric::Fabric>> open() {
    ++attempts;
    if (!there_) return FabricError::no_device;
    auto opened = network_.make_fabric(name_, capabilities);
    if (next_failure != fabric::LoopbackOperation::any)
      opened->fail_nth(std::exchange(next_failure, fabric::LoopbackOperation::any), 1, FabricError::locked_memory);
    present_ = opened.get();
    return opened;
  }

  fabric::LoopbackNetwork& network_;
  std::string name_;
  bool there_ = true;
  LoopbackFabric* present_ = nullptr;
  std::unique_ptr<fabric::Fabric> lasting_;
};

class Lines final : public LogSink {
 public:
  bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel level, std::string_view line) noexcept override { lines_.emplace_back(level, line); }
  auto count(LogLevel level, std::string_view part) const {
    return std::ranges::count_if(
        lines_, [&](const auto& line) { return line.first == level && line.second.find(part) != std::string::npos; });
  }

 private:
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

struct LastingBed : Bed {
  fabric::Fabric& server() override { return server_device.fabric(); }
  fabric::Fabric& client() override { return client_device.fabric(); }

  fabric::LoopbackNetwork network{context};
  std::shared_ptr<Lines> lines = std::make_shared<Lines>();
  Device server_device{network, "server", Log(lines)};
  Device client_device{network, "client"};
};

std::unique_ptr<Bed> lasting() { return std::make_unique<LastingBed>(); }

class LastingTest : public FabricTest {
 protected:
  LastingBed& bed() { return static_cast<LastingBed&>(*bed_); }
  Device& ours(bool server_side) { return server_side ? bed().server_device : bed().client_device; }
  /// Lets the client write `from` to a window on `to`, and expects the data there.
  void expect_transfers(Memory& from, Memory& to, unsigned pattern) {
    const auto size = static_cast<std::uint32_t>(from.octets.size());
    const int tag = static_cast<int>(pattern);
    fill_pattern(from.octets, pattern);
    const Exposed exposed(server(), to.part(0, size), Access::remote_write);
    ASSERT_FALSE(client_.write(from.part(0, size), exposed.segment, tag));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(tag) == 1; }));
    EXPECT_FALSE(client_.result(tag).status) << client_.result(tag).status.message();
    EXPECT_TRUE(has_pattern(std::span(to.octets).first(size), pattern));
  }
  void connect_again() {
    accepted_.clear();
    ASSERT_TRUE(until([&] {
      if (client_.established() && !accepted_.empty() && server().established()) return true;
      if (client_.qp && !client_.disconnected) return false;
      client_.qp.reset();
      client_.info.reset();
      client_.disconnected.reset();
      client_.log.clear();
      auto qp = bed_->client().make_connector(listener_->local(), {}, client_);
      if (!qp) return false;
      client_.qp = std::move(*qp);
      bed_->client().start(*client_.qp);
      return false;
    }));
  }
};

TEST_P(LastingTest, AFabricReportsItsEndOnceAndRefusesAfterwards) {
  fabric::LoopbackNetwork network(bed().context);
  auto fabric = network.make_fabric("ends");
  std::vector<error_code> ends;
  fabric->on_end([&](error_code why) {
    ends.push_back(why);
    fabric.reset();  // the handler may destroy the fabric
  });
  LoopbackFabric& raw = *fabric;
  Memory memory(raw, 64);
  Node node(raw);
  raw.lose_device();
  raw.lose_device();
  EXPECT_TRUE(ends.empty());
  const fabric::Endpoint anywhere(boost::asio::ip::address_v4::loopback(), 0);
  EXPECT_EQ(raw.make_connector(anywhere, {}, node).error(), FabricError::device_lost);
  EXPECT_EQ(raw.listen(anywhere, [](auto) {}).error(), FabricError::device_lost);
  EXPECT_EQ(raw.register_memory(memory.octets).error(), FabricError::device_lost);
  ASSERT_TRUE(until([&] { return fabric == nullptr; }));
  run_ready(bed().context);
  EXPECT_EQ(ends, std::vector<error_code>{FabricError::device_lost});
}

// Memory registered before the loss, or while there is no device, is registered with the new fabric. Listeners keep
// their addresses.
TEST_P(LastingTest, EitherSidesDeviceGoesAtWorkAndComesBack) {
  for (const bool server_side : {false, true}) {
    SCOPED_TRACE(server_side ? "server" : "client");
    listener_.reset();
    listen();
    const fabric::Endpoint address = listener_->local();
    ASSERT_NO_FATAL_FAILURE(connect_again());
    Memory from(bed_->client(), 5000);
    Memory to(bed_->server(), 5000);
    ASSERT_NO_FATAL_FAILURE(expect_transfers(from, to, 1));
    const Exposed target(server(), to.all(), Access::remote_write);
    for (int i = 0; i < 5; ++i) ASSERT_FALSE(client_.write(from.all(), target.segment, 100));
    client_.qp->submit();
    const std::uint64_t before = bed_->client().counters().work_requests;
    ours(server_side).remove();
    Node& gone = server_side ? server() : client_;
    EXPECT_EQ(end_of(gone), FabricError::device_lost);
    EXPECT_TRUE(end_of(server_side ? client_ : server()).failed());
    EXPECT_EQ(client_.count(100), 5u);
    EXPECT_EQ(client_.after_end + server().after_end, 0u);
    EXPECT_GE(bed_->client().counters().work_requests, before);
    ASSERT_TRUE(until([&] { return ours(server_side).attempts >= 3; }));
    fabric::Fabric& fabric = ours(server_side).fabric();
    EXPECT_EQ(fabric.make_connector(address, {}, client_).error(), FabricError::device_lost);
    Memory meanwhile(fabric, 5000);
    ours(server_side).add();
    ASSERT_NO_FATAL_FAILURE(connect_again());
    EXPECT_EQ(listener_->local(), address);
    EXPECT_EQ(fabric.counters().reopened, 1u);
    ASSERT_NO_FATAL_FAILURE(expect_transfers(from, to, 2));
    if (server_side)
      expect_transfers(from, meanwhile, 3);
    else
      expect_transfers(meanwhile, to, 3);
  }
}

// bind() accepts a BufferRef whose key is from before the loss: it finds the memory by the address.
TEST_P(LastingTest, OldKeysAreGoodForWindows) {
  listen();
  ASSERT_NO_FATAL_FAILURE(connect_again());
  Memory other(bed_->server(), 100);
  Memory to(bed_->server(), 100);
  Memory from(bed_->client(), 100);
  const BufferRef old = to.all();
  other = Memory(bed_->server(), 200);  // registers memory in another order, so that the keys differ after the loss
  bed().server_device.remove();
  bed().server_device.add();
  end_of(client_);
  ASSERT_NO_FATAL_FAILURE(connect_again());
  EXPECT_NE(to.all().local_key, old.local_key);
  const Exposed exposed(server(), old, Access::remote_write);
  fill_pattern(from.octets, 4);
  ASSERT_FALSE(client_.write(from.all(), exposed.segment, 1));
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  EXPECT_TRUE(has_pattern(to.octets, 4));
}

// Each reason why the device cannot be used is logged once, however often the fabric tries to use it.
TEST_P(LastingTest, ADeviceThatCannotBeUsedIsTriedAgain) {
  listen();
  Memory memory(bed_->server(), 100);
  Device& device = bed().server_device;
  device.remove();
  device.capabilities.max_gather = 1;
  device.add();
  const int before = device.attempts;
  ASSERT_TRUE(until([&] { return device.attempts >= before + 4; }));
  EXPECT_EQ(bed().lines->count(LogLevel::error, "server is gone"), 1);
  EXPECT_EQ(bed().lines->count(LogLevel::warn, "differs from the one"), 1);
  device.capabilities = fabric::LoopbackNetwork::default_capabilities();
  device.next_failure = fabric::LoopbackOperation::register_memory;
  ASSERT_NO_FATAL_FAILURE(connect_again());
  EXPECT_EQ(bed().lines->count(LogLevel::warn, "limit of locked memory"), 1);
  EXPECT_EQ(bed().lines->count(LogLevel::info, "listening again"), 1);
}

TEST_P(LastingTest, ThePortIsTakenMeanwhile) {
  listen();
  bed().server_device.remove();
  ASSERT_TRUE(until([&] { return bed().server_device.attempts >= 2; }));
  auto other = bed_->client().listen(listener_->local(), [](auto) {});
  ASSERT_TRUE(other);
  bed().server_device.add();
  ASSERT_TRUE(until([&] { return bed().lines->count(LogLevel::debug, "still cannot listen") >= 2; }));
  EXPECT_EQ(bed().lines->count(LogLevel::warn, "cannot listen"), 1);
  other->reset();
  ASSERT_NO_FATAL_FAILURE(connect_again());
}

// The fabric is destroyed while it waits for a device. No pending work refers to it afterwards.
TEST_P(LastingTest, ItIsDestroyedWhileThereIsNoDevice) {
  fabric::LoopbackNetwork network(bed().context);
  {
    Device device(network, "goes");
    const Memory memory(device.fabric(), 100);
    device.remove();
    ASSERT_TRUE(until([&] { return device.attempts >= 3; }));
    EXPECT_EQ(memory.all().local_key, 0u);
  }
  run_ready(bed().context);
}

}  // namespace

FABRIC_CONFORMANCE(Lasting, BedFactory({"lasting", lasting}));
INSTANTIATE_TEST_SUITE_P(Lasting, LastingTest, testing::Values(BedFactory{"lasting", lasting}), bed_name);

}  // namespace rpcrdma::test
