// SPDX-License-Identifier: BSD-3-Clause
// A client and a responder that breaks rules, on the loopback fabric. The input is a script. It says what the client
// calls and cancels. It also says what the responder does: send replies or bytes, read and write the memory that the
// client exposes, invalidate, disconnect, pause the network. Whatever the responder does, each call ends exactly once,
// no peer can access the memory of the call afterwards, and at the end nothing is exposed or held.
#include <deque>

#include "rpcrdma/requester/client.hpp"
#include "scene.hpp"
#include "support/run.hpp"

namespace {

using namespace rpcrdma;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kMaxCalls = 32;
constexpr std::byte kOver{0xa5};

struct Shape {
  std::uint32_t body = 0;
  std::uint32_t item = 0;
  std::uint32_t result = 0;
  std::uint32_t max_reply = 0;
};

class OneCall final : public transport::Call {
 public:
  OneCall(memory::Pool& pool, transport::Requester& requester, const Shape& shape) : shape_(shape) {
    xid = requester.next_xid();
    max_reply = shape.max_reply;
    if (shape.item != 0) item_ = *pool.allocate(shape.item);
    if (shape.result == 0) return;
    result_ = *pool.allocate(shape.result);
    results.emplace_back().push_back(result_.ref());
  }

  void encode(PayloadBuilder& out) noexcept override {
    for (const std::uint32_t word : {xid, 0u, shape_.item}) out.u32(word);
    const BufferRef item = item_ ? item_.ref() : BufferRef();
    if (item_) out.item({&item, 1});
    for (std::uint32_t words = shape_.body / 4; words > 0; --words) out.u32(words);
  }
  void done(error_code status, const Payload* reply) noexcept override {
    require(++times_done == 1 && (reply != nullptr) == !status);
    if (reply != nullptr) check(*reply);
    // Overwrites the memory, which belongs to the caller again. A later RDMA Write of the peer would change it.
    if (result_) std::memset(result_.ref().data, static_cast<int>(kOver), result_.ref().size);
  }
  void require_untouched() const {
    if (times_done == 0 || !result_) return;
    for (const std::byte octet : result_.octets()) require(octet == kOver);
  }

  int times_done = 0;

 private:
  void check(const Payload& reply) const {
    std::uint32_t sum = 0;
    std::uint32_t length = 0;
    for (const PayloadPiece& piece : reply.pieces) {
      for (const std::byte octet : piece.octets.octets()) sum += std::to_integer<std::uint32_t>(octet);
      length += piece.octets.size;
    }
    require(sum <= length * 255 && length <= 65536 + max_reply);
    require(reply.items.size() <= results.size());
    for (const PayloadItem& item : reply.items) {
      require(item.length <= shape_.result);
      for (const BufferRef& part : item.parts)
        require(part.data >= result_.ref().data && part.data + part.size <= result_.ref().data + shape_.result);
    }
  }

  Shape shape_;
  memory::RegisteredBuffer item_;
  memory::RegisteredBuffer result_;
};

class Scene : private fuzz::PeerScene {
 public:
  explicit Scene(Input in) : PeerScene(in, "client") {
    transport::ClientOptions options;
    options.connection.credits = 8;
    options.connection.version = version();
    options.first_backoff = options.last_backoff = std::chrono::milliseconds(0);
    options.silence = options.grace = std::chrono::hours(1);
    client_ = transport::Client::make(*fabric_, *pool_, peer_->listen(), options, {});
  }

  void play() {
    for (std::size_t step = 0; step < kMaxSteps && !in_.ended(); ++step) {
      act(in_.u8());
      run();
    }
  }

  void finish() {
    network_->resume();
    network_->drop_connection_after(std::uint64_t{1} << 40);
    run();
    client_.reset();
    run();
    for (const auto& call : calls_) {
      require(call->times_done == 1);
      call->require_untouched();
    }
    require(fabric_->bound_windows() == 0);
    calls_.clear();
    require(pool_->counters().lent == 0);
    peer_.reset();
    run();
    pool_.reset();
    require(fabric_->regions() == 0 && peer_fabric_->regions() == 0);
  }

 private:
  /// Runs the handlers that are ready, and takes the messages that the peer has received. The number of handlers is
  /// bounded: a client that reconnects without a pause could make handlers ready without end.
  void run() {
    context_.restart();
    for (int i = 0; i < 2000; ++i) {
      if (context_.poll_one() != 0) continue;
      context_.restart();
      if (context_.poll_one() == 0) break;
    }
    while (!peer_done() && !peer_->messages.empty()) received_.push_back(peer_->take());
    while (received_.size() > kMaxCalls) received_.pop_front();
  }
  bool peer_done() const { return !peer_.has_value(); }

  void act(std::uint8_t what) {
    switch (what % 9) {
      case 0:
      case 1: return submit();
      case 2:
        if (!calls_.empty()) client_->requester().cancel(*calls_[what / 9 % calls_.size()]);
        return;
      case 3: return with_peer([this] { reply(); });
      case 4: return with_peer([this] { send_octets(); });
      case 5: return with_peer([this] { write(); });
      case 6: return with_peer([this] { read(); });
      case 7:
        if (peer_->connected()) peer_->abort();
        return;
      default:
        if (what / 9 % 4 == 0) return network_->drop_connection_after(what / 36);
        return network_->pause(static_cast<fabric::LoopbackPause>(what / 9 % 4 - 1));
    }
  }

  void submit() {
    if (calls_.size() >= kMaxCalls) return;
    const std::uint8_t size = in_.u8();
    Shape shape;
    shape.body = (size & 3) * 1500u & ~3u;
    shape.item = (size >> 2 & 3) * 2000u;
    shape.result = (size >> 4 & 3) * 3000u;
    shape.max_reply = 12 + (size >> 6) * 3000u;
    calls_.push_back(std::make_unique<OneCall>(*pool_, client_->requester(), shape));
    client_->requester().submit(*calls_.back());
  }

  /// Returns the header of a received call; an empty one if no call was received.
  const wire::Header& call_at(std::uint8_t which) const {
    static const wire::Header kNone;
    return received_.empty() ? kNone : received_[which % received_.size()].header;
  }
  Segment exposed_segment() {
    const wire::Header& call = call_at(in_.u8());
    const std::uint8_t which = in_.u8();
    if (which % 3 == 0 && !call.chunks.reads.empty()) return call.chunks.reads.front().target;
    if (which % 3 == 1 && call.chunks.write_chunk_count() != 0 && !call.chunks.write_chunk(0).empty())
      return call.chunks.write_chunk(0).front();
    if (call.chunks.has_reply_chunk() && !call.chunks.reply_chunk().empty()) return call.chunks.reply_chunk().front();
    return {which, which, which};
  }

  /// Replies to a received call. The input sets the credits, the lengths and the end of the payload, and selects
  /// further changes.
  void reply() {
    const std::uint8_t which = in_.u8();
    const std::uint8_t changes = in_.u8();
    wire::Header header = call_at(which);
    header.procedure = wire::Procedure::msg;
    header.credits = in_.u8();
    std::uint32_t length = std::uint32_t{in_.u8()} * 16;
    if ((changes & 1) != 0) header.procedure = wire::Procedure::nomsg;
    if ((changes & 2) != 0) header.xid += in_.u8();
    if ((changes & 4) == 0) header.chunks.reads.clear();
    if ((changes & 8) != 0) header.chunks.add_write_chunk(std::vector{exposed_segment()});
    if ((changes & 16) != 0) length = in_.u32();
    for (std::size_t i = 0; i < header.chunks.write_chunk_count(); ++i)
      for (Segment& segment : header.chunks.write_chunk(i)) segment.length = length;
    for (Segment& segment : header.chunks.reply_chunk()) segment.length = length;
    test::Bytes payload = test::words({header.xid, (changes & 32) != 0 ? 0u : 1u, length});
    const Octets more = in_.octets(in_.u8());
    payload.insert(payload.end(), more.begin(), more.end());
    if (header.procedure == wire::Procedure::nomsg) payload.clear();
    std::optional<std::uint32_t> invalidate;
    if ((changes & 64) != 0) invalidate = exposed_segment().handle;
    send(header, payload, invalidate);
  }
  void send_octets() {
    const std::size_t words = in_.u8();
    peer_->send(in_.octets(words * 4));
  }
  void write() {
    Segment to = exposed_segment();
    to.offset += in_.u8() / 8;
    const Octets data = in_.octets(1 + in_.u8() % 64u);
    if (!data.empty()) peer_->write(to, data);
  }
  void read() {
    Segment from = exposed_segment();
    from.length = 1 + std::uint32_t{in_.u8()} * 8;
    reads_.emplace_back();
    peer_->read(from, reads_.back());
  }

  std::deque<test::RawPeer::Message> received_;
  std::deque<std::unique_ptr<OneCall>> calls_;
  std::unique_ptr<transport::Client> client_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Scene scene(Input(data, size));
  scene.play();
  scene.finish();
  return 0;
}
