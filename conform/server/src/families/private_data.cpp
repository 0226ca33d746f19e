// SPDX-License-Identifier: BSD-3-Clause
// RFC 8797: private data of each form, and the thresholds that follow from it.
#include <fmt/format.h>

#include <algorithm>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

constexpr std::uint32_t kDefaultThreshold = 1024;

Bytes bytes_from(std::initializer_list<unsigned> values) {
  Bytes out;
  for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

Bytes joined(Bytes first, View second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Connects with the private data in `setup`. Fails unless the server answers calls. If the program is NFSv3, also
/// makes a READ of `threshold` bytes, and fails if the reply is a message of more than `threshold` bytes.
void expect_threshold(Session& s, const Setup& setup, std::uint32_t threshold) {
  s.record().sent("private data " + hex(setup.private_data));
  s.connect_and_call(setup);
  if (s.options().program == Program::null) return;
  const Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, threshold));
  s.send(read);
  const Message message = s.answer_to(read.xid());
  Record::expect(message.bytes.size() <= threshold, fmt::format("a message of {} bytes", message.bytes.size()));
  s.expect_alive();
}

void ignored(ServerFamily& family, Level level, const char* name, const char* rule, const char* sends, Bytes data) {
  family.add(level, name, rule, sends, "the server behaves as without private data: replies of at most 1,024 bytes",
             [data](Session& s) { expect_threshold(s, {.private_data = data}, kDefaultThreshold); });
}

void add_ignored(ServerFamily& family) {
  const Bytes good = encode(PrivateData{});
  ignored(family, Level::must, "absent", "8797-5.1-a 8166-3.3.3-d", "no private data", {});
  ignored(family, Level::must, "truncated-to-7", "8797-5.1-a", "the first 7 bytes of the structure",
          {good.begin(), good.begin() + 7});
  ignored(family, Level::must, "truncated-to-4", "8797-5.1-a", "the format identifier alone",
          {good.begin(), good.begin() + 4});
  ignored(family, Level::should, "truncated-at-the-end", "8797-5.2-c",
          "20 bytes of zeros, then the first 6 bytes of the structure", joined(Bytes(20), View(good).first(6)));
  ignored(family, Level::must, "other-identifier", "8797-5.2-a", "a structure whose identifier differs in one bit",
          encode(PrivateData{.magic = 0xf6ab0e19}));
  ignored(family, Level::must, "identifier-reversed", "8797-5.2-a", "a structure whose identifier is little-endian",
          encode(PrivateData{.magic = 0x180eabf6}));
  ignored(family, Level::must, "zeros", "8797-5.2-a", "48 bytes of zeros", Bytes(48));
  ignored(family, Level::must, "noise", "8797-5.2-a", "48 bytes without the identifier", pattern(48, 3));
  for (const unsigned version : {0u, 2u, 255u})
    ignored(family, Level::should,
            version == 0   ? "version-0"
            : version == 2 ? "version-2"
                           : "version-255",
            "8797-5.2-c", "a structure of an unknown version",
            encode(PrivateData{.version = static_cast<std::uint8_t>(version)}));
}

void add_sizes(ServerFamily& family) {
  family.must("smallest-sizes", "8797-4.2-c", "a structure with send and receive size 0, which is 1,024 bytes",
              "replies of at most 1,024 bytes", [](Session& s) {
                expect_threshold(s, {.private_data = encode(PrivateData{.send_size = 0, .receive_size = 0})},
                                 kDefaultThreshold);
              });
  family.must("small-receives", "8797-4.2-c", "a structure with send size 15 and receive size 0",
              "replies of at most 1,024 bytes", [](Session& s) {
                expect_threshold(s, {.private_data = encode(PrivateData{.send_size = 15, .receive_size = 0})},
                                 kDefaultThreshold);
              });
  family.must("medium-receives", "8797-4.2-c", "a structure with receive size 1, which is 2,048 bytes",
              "replies of at most 2,048 bytes", [](Session& s) {
                expect_threshold(s, {.private_data = encode(PrivateData{.send_size = 0, .receive_size = 1})}, 2048);
              });
  family.must(
      "largest-sizes", "8797-4.2-b 8797-4.2-c", "a structure with send and receive size 255", "calls are served",
      [](Session& s) {
        s.connect_and_call({.private_data = encode(PrivateData{.send_size = 255, .receive_size = 255}), .receives = 8});
        s.expect_alive();
      });
}

/// Connects with the private data `data`, and calls READ for 1,024 bytes without offering chunks. The reply exceeds the
/// default inline threshold of 1,024 bytes. The server may therefore send it only if it has found the structure in
/// `data`, which announces larger Receives.
void expect_found(Session& s, Bytes data) {
  Connection& connection = s.connect_and_call({.private_data = std::move(data)});
  if (connection.reply_threshold() <= kDefaultThreshold) Record::skip("the server sends no more than 1,024 bytes");
  const Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, kDefaultThreshold));
  s.send(read);
  const nfs::Read results = nfs::decode_read(s.results_of(read.xid()), false);
  Record::expect(results.count == kDefaultThreshold, fmt::format("{} bytes were read", results.count));
}

void add_found(ServerFamily& family) {
  const char* const required = "the structure is found: a reply of more than 1,024 bytes is sent inline";
  family.must("at-the-start", "8797-4-c", "the structure alone; a READ of 1,024 bytes without chunks", required,
              [](Session& s) { expect_found(s, encode(PrivateData{})); });
  family.must("at-offset-5", "8797-5.2-b", "5 bytes, then the structure; a READ of 1,024 bytes without chunks",
              required, [](Session& s) {
                expect_found(s, joined(bytes_from({1, 2, 3, 4, 5}), encode(PrivateData{})));
              });
  family.must("behind-half-an-identifier", "8797-5.2-b",
              "the bytes f6 ab, then the structure; a READ of 1,024 bytes without chunks", required, [](Session& s) {
                expect_found(s, joined(bytes_from({0xf6, 0xab}), encode(PrivateData{})));
              });
  family.must("before-other-data", "8797-5.2-b", "the structure, then 20 bytes; a READ of 1,024 bytes without chunks",
              required, [](Session& s) { expect_found(s, joined(encode(PrivateData{}), pattern(20, 9))); });
  family.must("reserved-flags", "8797-4-a", "a structure with all reserved flags set; a READ of 1,024 bytes", required,
              [](Session& s) { expect_found(s, encode(PrivateData{.flags = 0xfe})); });
}

void add_of_server(ServerFamily& family) {
  family.must("of-the-server", "8797-4-c 8797-4-a", "private data; the case checks the server's private data",
              "private data of the server, if any, has version 1 and reserved flags of zero", [](Session& s) {
                const Bytes& data = s.connection().info().private_data;
                s.record().received("private data " + hex(data));
                const Bytes structure = encode(PrivateData{});
                const auto at = std::ranges::search(data, View(structure).first(4));
                if (at.empty()) Record::skip("the server sends no private data with the identifier");
                const auto found = find_private_data(data);
                Record::expect(found.has_value(), "the structure is incomplete, or its version is not 1");
                Record::expect((found->flags & 0xfe) == 0, fmt::format("flags {:#x}", found->flags));
              });
  family.must("changes-with-the-connection", "8797-4-b", "a connection with private data, then one without",
              "the second connection has the thresholds of a peer without private data", [](Session& s) {
                s.connect_and_call();
                expect_threshold(s, {.private_data = {}}, kDefaultThreshold);
              });
}

}  // namespace

void add_private_data(const MakeFamily& make) {
  ServerFamily family = make("private-data");
  add_found(family);
  add_ignored(family);
  add_sizes(family);
  add_of_server(family);
}

}  // namespace rpcrdma::conform
