// SPDX-License-Identifier: BSD-3-Clause
// Devices that are removed and come back, and peers that become unreachable: a server and a client at the two ends of a
// wire (guest/device.sh). A script removes, adds and disconnects the devices, as an administrator would.
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {
namespace {

using fabric::Access;
using fabric::FabricError;

/// Keeps the log lines of a fabric, and passes them on.
class Heard final : public LogSink {
 public:
  bool enabled(LogLevel level) const noexcept override { return level >= LogLevel::debug; }
  void write(LogLevel level, std::string_view line) noexcept override {
    lines_.emplace_back(level, line);
    if (on_->enabled(level)) on_->write(level, line);
  }
  auto count(LogLevel level, std::string_view part) const {
    return std::ranges::count_if(
        lines_, [&](const auto& line) { return line.first == level && line.second.find(part) != std::string::npos; });
  }

 private:
  std::shared_ptr<LogSink> on_ = test_sink();
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

/// Simulates events of the device at `address`, because no software device can be made to fail. Fabrics that are opened
/// on the device while this object exists read its events from a pipe. report() writes an event to the pipe.
class OwnEvents {
 public:
  explicit OwnEvents(const char* address) {
    fabric::Endpoint at(boost::asio::ip::make_address(address), 0);
    if (rdma_create_id(nullptr, &id_, nullptr, RDMA_PS_TCP) != 0 || rdma_bind_addr(id_, at.data()) != 0 ||
        ::pipe2(pipe_.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "OwnEvents");
    // librdmacm opens one ibv_context for each device and gives it to all ids of the process. So the pipe also replaces
    // the event descriptor for the fabrics that are opened from now on.
    kept_ = ::fcntl(id_->verbs->async_fd, F_DUPFD_CLOEXEC, 0);
    ::dup3(pipe_[0], id_->verbs->async_fd, O_CLOEXEC);
  }
  ~OwnEvents() {
    ::dup3(kept_, id_->verbs->async_fd, O_CLOEXEC);
    for (const int descriptor : {kept_, pipe_[0], pipe_[1]}) ::close(descriptor);
    rdma_destroy_id(id_);
  }
  OwnEvents(const OwnEvents&) = delete;
  OwnEvents& operator=(const OwnEvents&) = delete;

  bool report(ibv_event_type type) {
    // The layout is that of the kernel's struct ib_uverbs_async_event_desc, which libibverbs reads for each event.
    const struct {
      std::uint64_t element;
      std::uint32_t type;
      std::uint32_t reserved;
    } event{1, static_cast<std::uint32_t>(type), 0};
    return ::write(pipe_[1], &event, sizeof event) == sizeof event;
  }

 private:
  rdma_cm_id* id_ = nullptr;
  std::array<int, 2> pipe_{};
  int kept_ = -1;
};

struct WireBed : Bed {
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }
  fabric::Endpoint address() const override { return {boost::asio::ip::make_address(verbs_address()), 0}; }

  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  std::unique_ptr<fabric::Fabric> server_fabric =
      open_at_device(context, verbs_address(), {.keepalive = kProbing}, heard);
  std::unique_ptr<fabric::Fabric> client_fabric =
      open_at_device(context, std::getenv("RPCRDMA_TEST_CLIENT_ADDRESS"), {.keepalive = kProbing});
};

std::unique_ptr<Bed> wire() { return std::make_unique<WireBed>(); }

class DeviceTest : public FabricTest {
 protected:
  /// Runs the script that controls the devices. Uses another thread, because a removal waits for the event loop. False
  /// if the script fails or hangs.
  bool control(const std::string& words) {
    const Command command = begin_control(words);
    return succeeded(command, words);
  }
  struct Command {
    std::shared_ptr<std::optional<int>> status = std::make_shared<std::optional<int>>();  // set by the event loop
    std::future<void> running;
  };
  Command begin_control(const std::string& words) {
    Command command;
    const std::string line = std::getenv("RPCRDMA_TEST_CONTROL") + (" " + words);
    auto& context = bed_->context;
    command.running = std::async(std::launch::async, [&context, line, status = command.status] {
      const int result = std::system(line.c_str());
      boost::asio::post(context, [status, result] { *status = result; });
    });
    return command;
  }
  bool succeeded(const Command& command, const std::string& words) {
    EXPECT_TRUE(until([&] { return command.status->has_value(); })) << words;
    return command.status->value_or(-1) == 0;
  }

  /// The client writes the content of `from` into a window that the server binds to `to`.
  void expect_transfers(Memory& from, Memory& to, unsigned pattern) {
    const auto size = static_cast<std::uint32_t>(std::min(from.octets.size(), to.octets.size()));
    const int tag = static_cast<int>(pattern);
    fill_pattern(from.octets, pattern);
    const Exposed exposed(server(), to.part(0, size), Access::remote_write);
    ASSERT_FALSE(client_.write(from.part(0, size), exposed.segment, tag));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(tag) == 1; }));
    EXPECT_FALSE(client_.result(tag).status) << client_.result(tag).status.message();
    EXPECT_TRUE(has_pattern(std::span(to.octets).first(size), pattern));
  }

  /// Retries until both sides are connected.
  void connect_again() {
    ASSERT_TRUE(until([&] {
      if (client_.established() && !accepted_.empty() && server().established()) return true;
      if (client_.qp && !client_.disconnected) return false;
      forget_client();
      auto qp = bed_->client().make_connector(listener_->local(), {}, client_);
      if (!qp) return false;
      client_.qp = std::move(*qp);
      bed_->client().start(*client_.qp);
      return false;
    })) << (client_.disconnected ? client_.disconnected->message() : "no answer");
  }
  void forget_client() {
    client_.qp.reset();
    client_.info.reset();
    client_.disconnected.reset();
    client_.log.clear();
  }

  /// Removes the device of `side` while a connection is idle or, if `at_work`, carries Writes; then adds it again.
  void remove_and_add(const std::string& side, bool at_work) {
    listen();
    ASSERT_NO_FATAL_FAILURE(connect_again());
    constexpr std::uint32_t kSize = 1u << 20;
    Memory from(bed_->client(), kSize);
    Memory to(bed_->server(), kSize);
    expect_transfers(from, to, 1);
    const Exposed target(server(), to.all(), Access::remote_write);
    constexpr int kWrites = 30;
    constexpr int kAtWork = 100;
    for (int i = 0; at_work && i < kWrites; ++i) ASSERT_FALSE(client_.write(from.all(), target.segment, kAtWork));
    client_.qp->submit();
    EXPECT_TRUE(control("remove " + side));
    Node& ours = side == "server" ? server() : client_;
    Node& peer = side == "server" ? client_ : server();
    EXPECT_EQ(end_of(ours), FabricError::device_lost);
    end_of(peer);
    EXPECT_EQ(client_.count(kAtWork), at_work ? std::size_t{kWrites} : 0u);
    EXPECT_EQ(client_.after_end + server().after_end, 0u);
    if (side == "client") {
      EXPECT_EQ(bed_->client().make_connector(listener_->local(), {}, client_).error(), FabricError::device_lost);
    }
    // Registers memory while there is no device. The memory must be usable when the device has been added again.
    Memory meanwhile(side == "server" ? bed_->server() : bed_->client(), 5000);
    forget_client();
    EXPECT_TRUE(control("add " + side));
    accepted_.clear();
    ASSERT_NO_FATAL_FAILURE(connect_again());
    expect_transfers(from, to, 2);
    if (side == "client")
      expect_transfers(meanwhile, to, 3);
    else
      expect_transfers(from, meanwhile, 3);
  }
};

TEST_P(DeviceTest, TheServersDeviceGoesAndComesBack) { remove_and_add("server", false); }
TEST_P(DeviceTest, TheServersDeviceGoesAtWorkAndComesBack) { remove_and_add("server", true); }
TEST_P(DeviceTest, TheClientsDeviceGoesAndComesBack) { remove_and_add("client", false); }
TEST_P(DeviceTest, TheClientsDeviceGoesAtWorkAndComesBack) { remove_and_add("client", true); }

// The port is in use when the device is back: the log warns of it once, however often the listener retries.
TEST_P(DeviceTest, TheServersPortIsTakenWhileItsDeviceIsAway) {
  listen();
  EXPECT_TRUE(control("remove server"));
  const fabric::Endpoint everywhere(boost::asio::ip::address_v4::any(), listener_->local().port());
  auto other = bed_->client().listen(everywhere, [](auto) {});
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_TRUE(control("add server"));
  const Heard& heard = *static_cast<WireBed&>(*bed_).heard;
  EXPECT_TRUE(until([&] { return heard.count(LogLevel::debug, "still cannot listen") >= 1; }));
  EXPECT_EQ(heard.count(LogLevel::warn, "cannot listen"), 1);
  other->reset();
  ASSERT_NO_FATAL_FAILURE(connect_again());
}

// Between two connections no thread waits for the device's events: the next connection attempt notices the removal.
TEST_P(DeviceTest, TheClientsDeviceGoesBetweenTwoConnections) {
  listen();
  ASSERT_NO_FATAL_FAILURE(connect_again());
  Memory from(bed_->client(), 5000);
  Memory to(bed_->server(), 5000);
  expect_transfers(from, to, 1);
  forget_client();
  end_of(server());
  accepted_.clear();
  const Command removal = begin_control("remove client");
  EXPECT_TRUE(until([&] {
    return bed_->client().make_connector(listener_->local(), {}, client_).error() == FabricError::device_lost;
  }));
  EXPECT_TRUE(succeeded(removal, "remove client"));
  EXPECT_EQ(bed_->client().make_connector(listener_->local(), {}, client_).error(), FabricError::device_lost);
  EXPECT_TRUE(control("add client"));
  ASSERT_NO_FATAL_FAILURE(connect_again());
  expect_transfers(from, to, 2);
}

// While the kernel removes the device, listen() may fail with device_lost before the kernel's removal event arrives.
// The user does not call listen() again after this failure. The fabric must release the device nevertheless, because
// the removal waits for it.
TEST_P(DeviceTest, TheServersDeviceGoesBeforeItListens) {
  const auto try_to_listen = [this] { return bed_->server().listen(bed_->address(), [](auto) {}).error(); };
  EXPECT_FALSE(try_to_listen());
  const Command removal = begin_control("remove server");
  EXPECT_TRUE(until([&] { return try_to_listen() == FabricError::device_lost; }));
  EXPECT_TRUE(succeeded(removal, "remove server"));
  EXPECT_TRUE(control("add server"));
  listen();
  ASSERT_NO_FATAL_FAILURE(connect_again());
}

// A device reports its failure by a single event, which only one of the fabrics on the device reads. Here the fabric
// `reader` reads it. The connections of the server's fabric must end nevertheless.
TEST_P(DeviceTest, AFailureOfADeviceEndsAllFabricsOnIt) {
  listen();
  ASSERT_NO_FATAL_FAILURE(connect_again());
  Memory from(bed_->client(), 5000);
  Memory to(bed_->server(), 5000);
  {
    OwnEvents events(verbs_address());
    const auto reader = open_at_device(bed_->context, verbs_address(), {});
    ASSERT_TRUE(events.report(IBV_EVENT_DEVICE_FATAL));
    EXPECT_EQ(end_of(server()), FabricError::device_lost);
  }
  end_of(client_);
  forget_client();
  accepted_.clear();
  ASSERT_NO_FATAL_FAILURE(connect_again());
  EXPECT_EQ(bed_->server().counters().reopened, 1u);
  expect_transfers(from, to, 1);
}

// When the wire is cut, the connection ends on both sides, although there is no outstanding work that could fail. This
// is the last test, because the wire stays disconnected.
TEST_P(DeviceTest, AnIdlePeerOutOfReachIsNoticed) {
  listen();
  ASSERT_NO_FATAL_FAILURE(connect_again());
  EXPECT_TRUE(control("cut"));
  EXPECT_EQ(end_of(client_), boost::system::errc::timed_out) << client_.disconnected->message();
  // The server's own port is down.
  EXPECT_EQ(end_of(server()), boost::system::errc::network_down) << server().disconnected->message();
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Wire, DeviceTest, testing::Values(BedFactory{"wire", wire}), bed_name);

}  // namespace rpcrdma::test
