// SPDX-License-Identifier: BSD-3-Clause
// Messages at and above the inline thresholds (RFC 8166 section 3.3.2).
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// Returns the number of bytes of an inline READ reply without its data. Measures a reply, because a server may omit
/// the attributes, and may send a verifier.
std::uint32_t size_without_data(Session& s) {
  constexpr std::uint32_t kCount = 4;
  const Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, kCount));
  s.send(read);
  const Message message = s.answer_to(read.xid());
  const nfs::Read results = nfs::decode_read(decode_reply(message.payload).results, false);
  Record::expect(results.status == nfs::kOk && results.count == kCount, nfs_status(results.status));
  return static_cast<std::uint32_t>(message.bytes.size()) - kCount;
}

/// An inline WRITE that makes a message of exactly `size` bytes.
Outgoing write_of_size(Session& s, const nfs::Handle& file, std::uint32_t size) {
  Outgoing out = s.nfs(nfs::kWrite, nfs::write_args(file, 0, {}));
  const auto without_data = static_cast<std::uint32_t>(out.bytes().size());
  Record::expect(size > without_data, "the threshold is too small for a WRITE");
  out.rpc.arguments = nfs::write_args(file, 0, pattern(size - without_data, 7));
  return out;
}

void write_at_threshold(Session& s, const Setup& setup) {
  Connection& connection = s.connect_and_call(setup);
  const std::uint32_t size = connection.call_threshold();
  const nfs::Handle file = s.make_file(fmt::format("threshold-{}", s.new_xid()));
  const Outgoing write = write_of_size(s, file, size);
  s.record().sent(fmt::format("a Send of {} bytes", write.bytes().size()));
  const nfs::Write written = nfs::decode_write(s.call(write));
  Record::expect(written.status == nfs::kOk, nfs_status(written.status));
}

void read_of_size(Session& s, std::uint32_t excess, bool with_chunk) {
  Connection& connection = s.connect_and_call();
  const std::uint32_t threshold = connection.reply_threshold();
  const std::uint32_t count = threshold - size_without_data(s) + excess - (with_chunk ? 4 + 16 : 0);
  Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, count));
  Memory* const memory = with_chunk ? &s.writable(4 * threshold) : nullptr;
  if (memory != nullptr) read.header.lists.reply = Chunk{memory->segment()};
  s.record().sent(fmt::format("a READ of {} bytes; the threshold is {}", count, threshold));
  s.send(read);
  const Message message = s.answer_to(read.xid());
  Record::expect(message.bytes.size() <= threshold,
                 fmt::format("a Send of {} bytes, the threshold is {}", message.bytes.size(), threshold));
  if (excess == 0) return Record::expect(message.header.procedure == kMsg, "not inline, although it fits");
  if (memory == nullptr) {
    if (message.header.procedure == kError) return;
    // The server may also return less data, so that the reply fits.
    const nfs::Read results = nfs::decode_read(decode_reply(message.payload).results, false);
    return Record::expect(results.status == nfs::kOk && results.count < count, "not ERR_CHUNK");
  }
  Record::expect(message.header.procedure == kNomsg && message.header.lists.reply.has_value(),
                 "the Reply chunk is not used");
  const auto length = static_cast<std::size_t>(length_of(*message.header.lists.reply));
  const RpcReply reply = decode_reply(memory->first(length));
  Record::expect(nfs::decode_read(reply.results, false).data_length == count, "the data has another length");
}

}  // namespace

void add_thresholds(const MakeFamily& make) {
  ServerFamily family = make("thresholds");
  family.must("call-at-the-default", "8166-3.3.3-b", "without private data, an inline WRITE in a Send of 1,024 bytes",
              "the call is executed", [](Session& s) { write_at_threshold(s, {.private_data = {}}); });
  family.must("call-at-the-threshold", "8166-3.3.2-b 8797-4.2-b",
              "an inline WRITE in a Send as long as the server's Receives", "the call is executed",
              [](Session& s) { write_at_threshold(s, {.private_data = encode(PrivateData{.send_size = 255})}); });
  family.robust("call-above-the-threshold", "8166-3.3.2-a", "an inline WRITE that is 4 bytes longer than the threshold",
                "the connection ends, or the call is answered; the server stays healthy", [](Session& s) {
                  Connection& connection = s.connect_and_call();
                  const nfs::Handle file = s.make_file("above-the-threshold");
                  s.send(write_of_size(s, file, connection.call_threshold() + 4));
                  s.network().wait([&] { return connection.ended() || connection.has_messages(); },
                                   s.network().patience);
                });
  family.robust("call-far-above-the-threshold", "8166-3.3.2-a", "a Send of 60,000 bytes",
                "the connection ends; the server stays healthy", [](Session& s) {
                  s.connection();
                  Bytes message = s.null().bytes();
                  message.resize(60000);
                  s.send(message);
                  s.expect_end();
                });
  family.must("reply-above-without-a-chunk", "8166-3.3.2-a",
              "a READ whose reply is 4 bytes longer than the threshold, without chunks",
              "ERR_CHUNK or a short READ, not a Send that is too long", [](Session& s) { read_of_size(s, 4, false); });
  family.must("reply-above-with-a-chunk", "8166-3.5.3-d 8166-3.3.2-a",
              "a READ whose reply is 4 bytes longer than the threshold, with a Reply chunk",
              "the whole reply in the Reply chunk", [](Session& s) { read_of_size(s, 4, true); });
  family.robust("reply-at-the-threshold", "8166-3.3.2-b", "a READ whose reply is exactly as long as the threshold",
                "the reply is inline", [](Session& s) { read_of_size(s, 0, false); });
  family.robust("reply-at-the-threshold-with-a-chunk", "8166-4.3.3-b",
                "a READ whose reply is exactly as long as the threshold, with a Reply chunk", "the reply is inline",
                [](Session& s) { read_of_size(s, 0, true); });
}

}  // namespace rpcrdma::conform
