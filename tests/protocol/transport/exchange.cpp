// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"

#include <algorithm>

#include "rpcrdma/base/cursor.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::test {
namespace {

constexpr std::uint32_t kReplySeed = 0x10000;

constexpr std::uint32_t kGap = 64;

/// Divides `length` bytes of `memory` into pieces; with `apart`, gaps separate the pieces.
boost::container::small_vector<BufferRef, 4> cut(BufferRef memory, std::uint32_t length, std::uint32_t pieces,
                                                 bool apart = false) {
  boost::container::small_vector<BufferRef, 4> out;
  const std::uint32_t step = std::max(length / std::max(pieces, 1u), 1u);
  for (std::uint32_t at = 0; at < length;) {
    const std::uint32_t size = out.size() + 1 >= pieces ? length - at : std::min(step, length - at);
    const auto gaps = static_cast<std::uint32_t>(apart ? out.size() * kGap : 0);
    out.push_back(memory.slice(at + gaps, size));
    at += size;
  }
  return out;
}

void fill(std::span<const BufferRef> parts, std::uint64_t seed) {
  std::uint64_t at = 0;
  for (const BufferRef& part : parts) {
    fill_pattern(part.octets(), seed, at);
    at += part.size;
  }
}

/// Allocates memory for the test itself. An injected fault may hit the first attempt, so there is a second one.
Result<memory::RegisteredBuffer> allocate(memory::Pool& pool, std::uint32_t size) {
  auto memory = pool.allocate(size);
  return memory ? std::move(memory) : pool.allocate(size);
}

/// Reads a reduced message in order, from the stream and the items.
class StreamReader {
 public:
  explicit StreamReader(const Payload& payload) : payload_(payload) {
    for (const PayloadPiece& piece : payload.pieces)
      stream_.insert(stream_.end(), piece.octets.data, piece.octets.data + piece.octets.size);
  }
  std::uint32_t u32() {
    if (stream_.size() - at_ < 4) {
      short_ = true;
      return 0;
    }
    Reader reader(Octets(stream_).subspan(at_, 4));
    at_ += 4;
    return reader.u32();
  }
  /// Reads `count` bytes and their pad from the stream.
  std::vector<std::byte> octets(std::uint32_t count) {
    const std::size_t size = pad4(count);
    if (stream_.size() - at_ < size) {
      short_ = true;
      return {};
    }
    std::vector<std::byte> out(stream_.begin() + static_cast<std::ptrdiff_t>(at_),
                               stream_.begin() + static_cast<std::ptrdiff_t>(at_ + count));
    for (std::size_t i = count; i < size; ++i) short_ = short_ || stream_[at_ + i] != std::byte{};
    at_ += size;
    return out;
  }
  std::vector<std::byte> item(std::size_t index) const {
    std::vector<std::byte> out;
    for (const BufferRef& part : payload_.items[index].parts) out.insert(out.end(), part.data, part.data + part.size);
    return out;
  }
  std::size_t reduced_position() const { return at_; }
  bool at_end() const { return at_ == stream_.size(); }
  bool ok() const { return !short_; }

 private:
  const Payload& payload_;
  std::vector<std::byte> stream_;
  std::size_t at_ = 0;
  bool short_ = false;
};

void write_pattern(PayloadBuilder& out, std::uint32_t count, std::uint64_t seed) {
  for (std::uint32_t at = 0; at < count;) {
    const std::uint32_t step = std::min(count - at, 1024u);
    std::byte* to = out.reserve(step);
    if (to == nullptr) return;
    fill_pattern({to, step}, seed, at);
    at += step;
  }
}

}  // namespace

ShapedCall::ShapedCall(memory::Pool& pool, transport::Requester& requester, const Shape& shape) : shape_(shape) {
  xid = requester.next_xid();
  may_reduce = shape.may_reduce;
  std::uint32_t fixed = 12 + shape.reply_body;
  for (std::size_t i = 0; i < shape.items.size(); ++i) {
    auto memory = allocate(pool, shape.items[i] + shape.pieces * kGap);
    items_.push_back(cut(memory->ref(), shape.items[i], shape.pieces, shape.apart));
    fill(items_.back(), shape.seed + i + 1);
    memory_.push_back(std::move(*memory));
  }
  for (const std::uint32_t length : shape.results) {
    fixed += 4;
    auto memory = allocate(pool, length + shape.pieces * kGap);
    const auto parts = cut(memory->ref(), length, shape.pieces, shape.apart);
    results.emplace_back(parts.begin(), parts.end());
    memory_.push_back(std::move(*memory));
  }
  max_reply = shape.max_reply != 0 ? shape.max_reply : fixed;
}

void ShapedCall::encode(PayloadBuilder& out) noexcept {
  ++times_encoded;
  out.u32(xid);
  out.u32(0);
  out.u32(shape_.seed);
  out.u32(shape_.reply_body);
  out.u32(static_cast<std::uint32_t>(shape_.items.size()));
  for (std::size_t i = 0; i < shape_.items.size(); ++i) {
    out.u32(shape_.items[i]);
    out.item(items_[i]);
  }
  out.u32(static_cast<std::uint32_t>(shape_.results.size()));
  for (const std::uint32_t length : shape_.results) out.u32(length);
  write_pattern(out, shape_.call_body, shape_.seed);
}

void ShapedCall::done(error_code result, const Payload* reply) noexcept {
  ++times_done;
  status = result;
  if (before_check) before_check();
  if (reply != nullptr) {
    reply_items = reply->items.size();
    for (const PayloadItem& item : reply->items)
      for (const BufferRef& part : item.parts) reply_item_bytes += part.size;
    check(*reply);
  } else if (!result) {
    complaint = "success without a reply";
  }
  if (on_done) on_done();
}

void ShapedCall::check(const Payload& reply) {
  StreamReader in(reply);
  if (in.u32() != xid || in.u32() != 1 || in.u32() != shape_.seed) {
    complaint = "wrong head of the reply";
    return;
  }
  for (std::size_t i = 0; i < shape_.results.size(); ++i) {
    const std::uint32_t count = in.u32();
    const bool reduced = i < reply.items.size() && reply.items[i].length != 0;
    const auto data = reduced ? in.item(i) : in.octets(count);
    if (count != shape_.results[i] || data.size() != count || !has_pattern(data, kReplySeed + shape_.seed + i))
      complaint = "result " + std::to_string(i);
  }
  const auto body = in.octets(shape_.reply_body);
  if (!in.ok() || !in.at_end() || !has_pattern(body, kReplySeed + shape_.seed)) complaint = "wrong body of the reply";
}

struct ShapedHandler::Job {
  explicit Job(transport::IncomingCall& of) : call(of) {}
  transport::IncomingCall& call;
  Shape shape;
  std::vector<std::size_t> item_of_chunk;  // the argument that each Read chunk carries
  std::vector<memory::RegisteredBuffer> memory;
  std::size_t pulled = 0;
  std::vector<memory::RegisteredBuffer> results;
};

void ShapedHandler::on_call(transport::IncomingCall& call) noexcept {
  ++calls;
  if (intercept && intercept(call)) return;
  auto job = std::make_shared<Job>(call);
  const Payload& payload = call.payload();
  StreamReader in(payload);
  if (in.u32() != call.xid() || in.u32() != 0) complaint = "wrong head of the call";
  job->shape.seed = in.u32();
  job->shape.reply_body = in.u32();
  const std::uint32_t count = in.u32();
  std::uint32_t position = 20;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t length = in.u32();
    position += 4;
    const std::size_t chunk = job->item_of_chunk.size();
    if (chunk < payload.items.size() && payload.items[chunk].position == position) {
      if (payload.items[chunk].length != length) complaint = "length of a chunk";
      job->item_of_chunk.push_back(i);
    } else if (!has_pattern(in.octets(length), job->shape.seed + i + 1)) {
      complaint = "wrong argument in the stream";
    }
    position += pad4(length);
  }
  if (job->item_of_chunk.size() != payload.items.size()) complaint = "wrong positions of the chunks";
  for (std::uint32_t i = in.u32(); i > 0; --i) job->shape.results.push_back(in.u32());
  position += 4 + 4 * static_cast<std::uint32_t>(job->shape.results.size());
  if (!in.ok() || !has_pattern(in.octets(payload.length - position), job->shape.seed) || !in.at_end())
    complaint = "wrong body of the call";
  std::uint32_t bulk = 0;
  for (const PayloadItem& item : payload.items) bulk += item.length;
  for (const std::uint32_t length : job->shape.results) bulk += length;
  if (bulk == 0) return answer(std::move(job));
  call.reserve_bulk(bulk, [this, job](error_code status) {
    if (status) return job->call.discard();
    pull(job);
  });
}

void ShapedHandler::pull(std::shared_ptr<Job> job) {
  const std::size_t index = job->pulled;
  if (index == job->call.payload().items.size()) return answer(std::move(job));
  auto memory = job->call.pool().allocate(job->call.payload().items[index].length);
  if (!memory) return job->call.fail();
  job->memory.push_back(std::move(*memory));
  const auto parts =
      cut(job->memory.back().ref(), job->memory.back().ref().size, 1 + static_cast<std::uint32_t>(index % 3));
  transport::IncomingCall& call = job->call;
  call.pull(index, parts, [this, job, index](error_code status) {
    if (status) return job->call.discard();
    ++items;
    StreamReader in(job->call.payload());
    if (!has_pattern(in.item(index), job->shape.seed + job->item_of_chunk[index] + 1)) complaint = "pulled argument";
    ++job->pulled;
    pull(job);
  });
}

void ShapedHandler::answer(std::shared_ptr<Job> job) {
  transport::IncomingCall& call = job->call;
  PayloadBuilder& out = call.reply();
  out.u32(call.xid());
  out.u32(1);
  out.u32(job->shape.seed);
  for (std::size_t i = 0; i < job->shape.results.size(); ++i) {
    const std::uint32_t length = job->shape.results[i];
    out.u32(length);
    auto memory = call.pool().allocate(std::max(length, 1u));
    if (!memory) return call.fail();
    fill_pattern({memory->ref().data, length}, kReplySeed + job->shape.seed + i);
    out.item(cut(memory->ref(), length, 1 + static_cast<std::uint32_t>(i % 3)));
    job->results.push_back(std::move(*memory));
  }
  write_pattern(out, job->shape.reply_body, kReplySeed + job->shape.seed);
  call.send([this, job](error_code status) {
    ++sent;
    last_send = status;
  });
}

Shape random_shape(std::mt19937& random, std::uint32_t seed) {
  // Sizes of every order of magnitude; most are not multiples of 4.
  const auto size = [&random](std::uint32_t most) {
    const std::uint32_t bound = most >> (random() % 16);
    return bound == 0 ? 0u : static_cast<std::uint32_t>(random() % bound);
  };
  Shape out;
  out.seed = seed;
  out.call_body = size(60000) & ~3u;
  out.reply_body = size(60000) & ~3u;
  for (std::size_t i = random() % 3; i > 0; --i) out.items.push_back(size(200000));
  for (std::size_t i = random() % 3; i > 0; --i) out.results.push_back(1 + size(200000));
  out.pieces = 1 + random() % 4;
  out.apart = random() % 2 == 0;
  out.may_reduce = random() % 8 != 0;
  return out;
}

}  // namespace rpcrdma::test
