// SPDX-License-Identifier: BSD-3-Clause
// A server and a requester that breaks rules, on the loopback fabric. The input is a script. It says what the requester
// does: send bytes and calls, expose memory, read and write, pause the network, disconnect and connect again. Whatever
// the requester does, the server then serves another client, and at the end holds no memory, windows or connections.
#include <array>
#include <deque>

#include "rpcrdma/responder/server.hpp"
#include "scene.hpp"
#include "support/run.hpp"

namespace {

using namespace rpcrdma;
using fuzz::Input;
using fuzz::require;

constexpr std::uint32_t kMaxChunk = 64 * 1024;
constexpr std::uint32_t kMaxSegments = 16;
constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kMaxExposed = 16;

/// The third word of a call tells the handler what to do: discard, fail, reply, or pull the items and then reply. It
/// also says how long the reply and its results are.
class Handler final : public transport::CallHandler {
 public:
  std::uint32_t unanswered() const noexcept { return open_; }

  void on_call(transport::IncomingCall& call) noexcept override {
    ++open_;
    const Payload& payload = call.payload();
    std::uint32_t reduced = 0;
    for (const PayloadPiece& piece : payload.pieces) {
      require(piece.position <= payload.length && piece.octets.size <= payload.length);
      for (const std::byte octet : piece.octets.octets()) sum_ += std::to_integer<std::uint32_t>(octet);
      reduced += piece.octets.size;
    }
    require(reduced <= payload.length && payload.length <= (kMaxSegments + 1) * kMaxChunk);
    require(!payload.pieces.empty());
    Reader in(payload.pieces.front().octets.octets());
    const std::uint32_t xid = in.u32();
    const std::uint32_t type = in.u32();
    require(!in.ok() || (xid == call.xid() && type == 0));
    const std::uint32_t wish = in.u32();  // 0 if the first piece is too short
    switch (wish % 8) {
      case 1: return end(call, &transport::IncomingCall::discard);
      case 2: return end(call, &transport::IncomingCall::fail);
      case 3: return pull(call, 0, wish >> 8);
      default: return answer(call, wish >> 8);
    }
  }

 private:
  void end(transport::IncomingCall& call, void (transport::IncomingCall::*how)()) {
    --open_;
    (call.*how)();
  }

  /// Pulls the item with number `index` and, one after the other, the items after it. Then replies as `wish` says.
  /// Discards or fails the call if an item cannot be pulled.
  void pull(transport::IncomingCall& call, std::size_t index, std::uint32_t wish) {
    if (index == call.payload().items.size()) return answer(call, wish);
    if (index == 0) {
      std::uint32_t all = 0;
      for (const PayloadItem& item : call.payload().items) all += item.length;
      return call.reserve_bulk(all, [this, &call, wish](error_code status) {
        if (status) return end(call, &transport::IncomingCall::discard);
        pull_item(call, 0, wish);
      });
    }
    pull_item(call, index, wish);
  }
  void pull_item(transport::IncomingCall& call, std::size_t index, std::uint32_t wish) {
    const std::uint32_t length = call.payload().items[index].length;
    require(length <= kMaxChunk);
    auto memory = call.pool().allocate(std::max(length, 1u));
    if (!memory) return end(call, &transport::IncomingCall::fail);
    auto held = std::make_shared<memory::RegisteredBuffer>(std::move(*memory));
    const BufferRef into = held->first(length);
    call.pull(index, {&into, 1}, [this, &call, index, wish, held](error_code status) {
      if (status) return end(call, &transport::IncomingCall::discard);
      std::uint32_t got = 0;
      for (const BufferRef& part : call.payload().items[index].parts) got += part.size;
      require(got == call.payload().items[index].length);
      pull(call, index + 1, wish);
    });
  }

  /// Replies to the call. The bits of `wish`, which come from the call, choose the number of words in the body of the
  /// reply and the lengths of the results for the Write chunks.
  void answer(transport::IncomingCall& call, std::uint32_t wish) {
    PayloadBuilder& out = call.reply();
    out.u32(call.xid());
    out.u32(1);
    std::vector<memory::RegisteredBuffer> held;
    for (std::size_t i = 0; i < call.write_chunks().size() && i < 4; ++i) {
      const std::uint32_t length = (wish >> (4 * i) & 15) * 1000;
      auto memory = call.pool().allocate(std::max(length, 1u));
      if (!memory) return end(call, &transport::IncomingCall::fail);
      const BufferRef part = memory->first(length);
      std::memset(memory->ref().data, 0x77, memory->ref().size);
      out.u32(length);
      out.item({&part, 1});
      held.push_back(std::move(*memory));
    }
    for (std::uint32_t words = wish >> 8 & 0xfff; words > 0; --words) out.u32(words);
    --open_;
    call.send([held = std::move(held)](error_code) {});
  }

  std::uint32_t open_ = 0;
  std::uint32_t sum_ = 0;
};

class Scene : private fuzz::PeerScene {
 public:
  explicit Scene(Input in) : PeerScene(in, "server") {
    transport::ServerOptions options;
    options.connection.credits = 8;
    options.connection.version = version();
    options.max_connections = 4;
    options.bulk_budget = 4 * kMaxChunk;
    options.max_chunk = kMaxChunk;
    options.max_segments = kMaxSegments;
    options.progress_timeout = options.pressed_timeout = options.idle_grace = std::chrono::hours(1);
    server_ = transport::Server::make({{fabric_.get(), &*pool_, &handler_}}, options, {});
    server_->listen({boost::asio::ip::make_address("127.0.0.1"), 0},
                    [this](Result<fabric::Endpoint> bound) { endpoint_ = bound.value(); });
    test::run_ready(context_);
    if ((flags_ & 64) != 0) peer_->receives = 2;
    connect();
  }

  void play() {
    for (std::size_t step = 0; step < kMaxSteps && !in_.ended(); ++step) {
      act(in_.u8());
      if (!paused_) test::run_ready(context_);
      require(server_->counters().bulk_in_use <= 5 * kMaxChunk);
    }
  }

  /// Ends the run. Expects that the server still serves another client. Then closes the server, and expects that it
  /// holds no connection, call, memory or window any more.
  void finish() {
    network_->resume();
    network_->drop_connection_after(std::uint64_t{1} << 40);
    test::run_ready(context_);
    serve_another();
    exposed_.clear();
    peer_.reset();
    test::run_ready(context_);
    bool closed = false;
    server_->close(std::chrono::steady_clock::now(), [&closed] { closed = true; });
    require(test::run_until(context_, [&closed] { return closed; }));
    test::run_ready(context_);
    require(server_->counters().connections == 0 && server_->counters().bulk_in_use == 0);
    require(handler_.unanswered() == 0);
    server_.reset();
    test::run_ready(context_);
    require(fabric_->bound_windows() == 0 && pool_->counters().lent == 0);
    pool_.reset();
    require(fabric_->regions() == 0 && peer_fabric_->regions() == 0 && peer_fabric_->bound_windows() == 0);
  }

 private:
  void connect() {
    exposed_.clear();
    peer_->connect(endpoint_);
    test::run_ready(context_);
  }

  void act(std::uint8_t what) {
    switch (what % 10) {
      case 0: return with_peer([this] { peer_->send(in_.octets(std::size_t{in_.u8()} * 4)); });
      case 1: return with_peer([this, what] { send_call(what / 10); });
      case 2: return with_peer([this, what] { expose(what / 10); });
      case 3:
        if (peer_->connected()) peer_->abort();
        return resume_and([this] { connect(); });
      case 4:
        paused_ = !paused_;
        return network_->pause(!paused_             ? fabric::LoopbackPause::none
                               : what / 10 % 2 != 0 ? fabric::LoopbackPause::half_placed
                                                    : fabric::LoopbackPause::before_arrival);
      case 5:
        context_.restart();
        for (int i = what / 10; i >= 0; --i) context_.poll_one();
        return;
      case 6: return network_->drop_connection_after(what / 10);
      case 7: return with_peer([this] { write(); });
      case 8: return with_peer([this] { read(); });
      default: return with_peer([this] { invalidate(); });
    }
  }

  template <class Action>
  void resume_and(Action action) {
    network_->resume();
    paused_ = false;
    test::run_ready(context_);
    action();
  }

  // The next three functions make the peer write, read or invalidate memory of the server. The operations fail, because
  // the server exposes no memory.
  void write() {
    const Segment to = anywhere();
    const Octets data = in_.octets(16);
    if (!data.empty()) peer_->write(to, data);
  }
  void read() {
    Segment from = anywhere();
    from.length = 1 + from.length % 256;
    reads_.emplace_back();
    peer_->read(from, reads_.back());
  }
  void invalidate() {
    const std::uint32_t handle = in_.u32();
    peer_->send(in_.octets(in_.u8()), handle);
  }

  void expose(std::uint32_t how) {
    if (exposed_.size() >= kMaxExposed) return;
    const std::uint32_t size = 1 + std::uint32_t{in_.u8()} * (how % 2 != 0 ? 1 : 257);
    exposed_.push_back(
        peer_->expose(size, how / 2 % 2 != 0 ? fabric::Access::remote_write : fabric::Access::remote_read));
  }

  /// Returns a segment of memory that the peer exposes, sometimes with a wrong length, offset or handle; an arbitrary
  /// segment if the peer exposes no memory.
  Segment segment() {
    const std::uint8_t which = in_.u8();
    if (exposed_.empty()) return anywhere();
    Segment out = exposed_[which % exposed_.size()].segment;
    switch (which / 16) {
      case 0: out.length += 1; break;
      case 1: out.length /= 2; break;
      case 2: out.offset += 1; break;
      case 3: out.handle += 1; break;
      case 4: out.length = 0; break;
      case 5: out.length = ~0u; break;
      case 6: out.offset = ~std::uint64_t{0}; break;
      default: break;
    }
    return out;
  }
  Segment anywhere() {
    Segment out;
    out.handle = in_.u32();
    out.length = in_.u16();
    out.offset = in_.u8();
    return out;
  }

  void send_call(std::uint32_t how) {
    wire::Header header;
    header.xid = next_xid_++;
    header.credits = in_.u8();
    header.procedure = how % 2 != 0 ? wire::Procedure::nomsg : wire::Procedure::msg;
    const std::uint8_t counts = in_.u8();
    for (int i = counts & 3; i > 0; --i) {
      const std::uint32_t position = std::uint32_t{in_.u8()} * 4;
      header.chunks.reads.push_back({position, segment()});
    }
    for (int i = counts >> 2 & 3; i > 0; --i) {
      header.chunks.begin_write_chunk();
      for (int n = in_.u8() % 4; n > 0; --n) header.chunks.add_write_segment(segment());
    }
    if ((counts & 16) != 0) {
      header.chunks.begin_reply_chunk();
      for (int n = in_.u8() % 4; n > 0; --n) header.chunks.add_reply_segment(segment());
    }
    test::Bytes payload = test::words({header.xid, how / 2 % 8 == 7 ? 1u : 0u, in_.u32()});
    payload.resize(payload.size() + std::size_t{in_.u8()} * 20);
    // Copies the RPC message into the first exposed memory. The call may be a long call whose Position-Zero Read chunk
    // names this memory. The responder then pulls an RPC message instead of arbitrary bytes.
    if (!exposed_.empty() && (counts & 32) != 0) {
      const MutableOctets memory = exposed_.front().memory.octets();
      std::memcpy(memory.data(), payload.data(), std::min(memory.size(), payload.size()));
    }
    if ((counts & 64) != 0) payload.clear();
    send(header, payload);
  }

  void serve_another() {
    test::RawPeer other(*peer_fabric_);
    other.connect(endpoint_);
    test::run_ready(context_);
    require(other.connected());
    wire::Header header;
    header.xid = 0x600d;
    header.credits = 1;
    other.send(header, test::words({0x600d, 0, 0}));
    test::run_ready(context_);
    const test::RawPeer::Message reply = other.take();
    require(reply.header.procedure == wire::Procedure::msg && reply.payload == test::words({0x600d, 1}));
  }

  Handler handler_;
  fabric::Endpoint endpoint_;
  std::unique_ptr<transport::Server> server_;
  std::deque<test::RawPeer::Exposed> exposed_;
  std::uint32_t next_xid_ = 1;
  bool paused_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Scene scene(Input(data, size));
  scene.play();
  scene.finish();
  return 0;
}
