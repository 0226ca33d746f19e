// SPDX-License-Identifier: BSD-3-Clause
// Operation. CapturedFabric passes everything on, and wraps the queue pairs of the peers that are captured. Memory,
// windows, listeners and requests stay those of the provider.
// Ownership. Queue pairs share the recorder, which therefore exists as long as the last of them.
#include <algorithm>
#include <mutex>

#include "endpoint.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::capture {
namespace {

/// The maximum number of remembered peers to which this side has tried to connect.
constexpr std::size_t kMostPeers = 16;

class CapturedFabric final : public fabric::Fabric {
 public:
  CapturedFabric(std::unique_ptr<fabric::Fabric> inner, std::shared_ptr<Capture::Core> core)
      : inner_(std::move(inner)), recorder_(std::make_shared<Recorder>(std::move(core))) {}

  boost::asio::io_context& context() noexcept override { return inner_->context(); }
  const fabric::Capabilities& capabilities() const noexcept override { return inner_->capabilities(); }
  const fabric::Counters& counters() const noexcept override { return inner_->counters(); }
  void on_end(UniqueFunction<void(error_code)> handler) override { inner_->on_end(std::move(handler)); }
  Result<std::unique_ptr<fabric::MemoryRegion>> register_memory(std::span<std::byte> memory) override {
    return inner_->register_memory(memory);
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_connector(const fabric::Endpoint& peer,
                                                            fabric::QueuePairOptions options,
                                                            fabric::QueuePairEvents& events) override;
  void start(fabric::QueuePair& queue_pair) override {
    auto* const captured = dynamic_cast<CapturedQueuePair*>(&queue_pair);
    inner_->start(captured != nullptr ? captured->inner() : queue_pair);
  }
  Result<std::unique_ptr<fabric::Listener>> listen(const fabric::Endpoint& local, RequestHandler handler) override {
    return inner_->listen(local, std::move(handler));
  }
  Result<std::unique_ptr<fabric::QueuePair>> make_acceptor(std::unique_ptr<fabric::ConnectionRequest> request,
                                                           fabric::QueuePairOptions options,
                                                           fabric::QueuePairEvents& events) override;
  void reject(std::unique_ptr<fabric::ConnectionRequest> request, Octets private_data) override;

 private:
  bool wanted(const fabric::Endpoint& peer) const noexcept {
    const auto& range = recorder_->core().options().peer;
    return !range || range->contains(peer.address());
  }
  bool seen_before(const fabric::Endpoint& peer);
  CapturedQueuePair::Side side(const fabric::Endpoint& peer, const fabric::QueuePairOptions& options) const;

  std::unique_ptr<fabric::Fabric> inner_;
  std::shared_ptr<Recorder> recorder_;
  // Peers to which this side has tried to connect. If there are kMostPeers, a new peer replaces the oldest entry.
  std::vector<fabric::Endpoint> peers_;
  std::mutex rejecting_;
  // Records the connection requests that reject() rejects. Guarded by rejecting_. reject() may be called on a thread
  // other than that of the fabric, so it cannot record with recorder_, which belongs to that thread.
  std::shared_ptr<Recorder> rejections_;
};

CapturedQueuePair::Side CapturedFabric::side(const fabric::Endpoint& peer,
                                             const fabric::QueuePairOptions& options) const {
  CapturedQueuePair::Side side;
  side.fabric = capabilities().name;
  side.reports_access = capabilities().reports_access;
  side.number = options.number;
  side.peer = peer;
  side.own_data = options.private_data;
  return side;
}

bool CapturedFabric::seen_before(const fabric::Endpoint& peer) {
  if (std::ranges::find(peers_, peer) != peers_.end()) return true;
  if (peers_.size() == kMostPeers) peers_.erase(peers_.begin());
  peers_.push_back(peer);
  return false;
}

Result<std::unique_ptr<fabric::QueuePair>> CapturedFabric::make_connector(const fabric::Endpoint& peer,
                                                                          fabric::QueuePairOptions options,
                                                                          fabric::QueuePairEvents& events) {
  if (!wanted(peer)) return inner_->make_connector(peer, std::move(options), events);
  CapturedQueuePair::Side known = side(peer, options);
  known.connector = true;
  if (seen_before(peer)) known.remark = "; not the first attempt of this side to connect to this peer";
  auto captured = std::make_unique<CapturedQueuePair>(recorder_, std::move(known), events);
  options.access = &captured->access();
  auto made = inner_->make_connector(peer, std::move(options), captured->events());
  if (!made) return made.error();
  captured->set(std::move(*made));
  return captured;
}

Result<std::unique_ptr<fabric::QueuePair>> CapturedFabric::make_acceptor(
    std::unique_ptr<fabric::ConnectionRequest> request, fabric::QueuePairOptions options,
    fabric::QueuePairEvents& events) {
  const fabric::ConnectionInfo info = request->info();
  if (!wanted(info.peer)) return inner_->make_acceptor(std::move(request), std::move(options), events);
  CapturedQueuePair::Side known = side(info.peer, options);
  known.peer_data = info.private_data;
  auto captured = std::make_unique<CapturedQueuePair>(recorder_, std::move(known), events);
  options.access = &captured->access();
  auto made = inner_->make_acceptor(std::move(request), std::move(options), captured->events());
  if (!made) return made.error();
  captured->set(std::move(*made));
  return captured;
}

void CapturedFabric::reject(std::unique_ptr<fabric::ConnectionRequest> request, Octets private_data) {
  const fabric::ConnectionInfo info = request->info();
  inner_->reject(std::move(request), private_data);
  if (!recorder_->active() || !wanted(info.peer)) return;
  auto connection = std::make_shared<Connection>();
  connection->number = info.number;
  connection->local = unmapped(info.local);
  connection->peer = unmapped(info.peer);
  connection->refused = true;
  connection->request_data = info.private_data;
  connection->reply_data.assign(private_data.begin(), private_data.end());
  connection->remark = fmt::format("{}, rejected by this side", capabilities().name);
  const std::lock_guard lock(rejecting_);
  if (rejections_ == nullptr) rejections_ = std::make_shared<Recorder>(recorder_->core().shared_from_this());
  Track track;
  rejections_->open(track, std::move(connection));
  rejections_->close(track, {});
}

}  // namespace

Capture::Capture(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Capture::~Capture() { core_->close(); }

Result<std::shared_ptr<Capture>> Capture::open(CaptureOptions options, Log log) {
  constexpr std::size_t kLeastBuffer = std::size_t{128} << 10;
  if (!std::has_single_bit(options.buffer) || options.buffer < kLeastBuffer || options.files == 0 ||
      (options.size != 0 && options.size < kLeastSize))
    return make_error_code(BaseError::invalid_argument);
  auto core = std::make_shared<Core>(std::move(options), std::move(log));
  if (const error_code failed = core->open()) return failed;
  core->start_thread();
  return std::shared_ptr<Capture>(new Capture(std::move(core)));
}

std::unique_ptr<fabric::Fabric> Capture::wrap(std::unique_ptr<fabric::Fabric> fabric) {
  return std::make_unique<CapturedFabric>(std::move(fabric), core_);
}

void Capture::start() noexcept { core_->set_active(true); }
void Capture::stop() noexcept { core_->set_active(false); }
bool Capture::running() const noexcept { return core_->active(); }
void Capture::toggle() noexcept { core_->toggle(); }
void Capture::close() noexcept { core_->close(); }
CaptureCounts Capture::counts() const noexcept { return core_->counts(); }

}  // namespace rpcrdma::capture
