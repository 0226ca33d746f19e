// SPDX-License-Identifier: BSD-3-Clause
// RFC 8797: private data of the server that are absent, unusual or wrong.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

struct DataRow {
  Level level;
  const char* name;
  const char* rules;
  const char* sends;
  Bytes data;
};

Bytes encoded(PrivateData data) { return encode(data); }

/// Returns private data in which `count` bytes of a pattern precede the structure of RFC 8797.
Bytes shifted(std::size_t count) { return Out().raw(pattern(count, 5)).raw(encoded({})).bytes(); }

Bytes first_of(const Bytes& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

void add_private_data(const MakeFamily& make) {
  ClientFamily family = make("private-data");
  const DataRow rows[] = {
      {Level::must, "none", "8797-5.1-a 8166-3.3.3-d", "no private data", {}},
      // A fabric may append zeros to the private data, so the client may receive a complete structure. The sizes in the
      // structure are 1,024 bytes, which are also the thresholds without private data. The client must therefore use
      // 1,024 bytes in both cases.
      {Level::must, "truncated", "8797-5.1-a", "the first 7 bytes of a structure with sizes of 1,024 bytes",
       first_of(encoded({.send_size = 0, .receive_size = 0}), 7)},
      {Level::must, "identifier-alone", "8797-5.1-a", "the format identifier alone", first_of(encoded({}), 4)},
      {Level::must, "one-byte", "8797-5.2-a", "one byte of private data", Bytes(1)},
      {Level::must, "version-0", "8797-5.1-a", "version 0 of the structure", encoded({.version = 0})},
      {Level::must, "version-2", "8797-5.1-a", "version 2 of the structure, with large sizes",
       encoded({.version = 2, .flags = 1, .send_size = 255, .receive_size = 255})},
      {Level::must, "other-format", "8797-5.2-a", "196 bytes of another format", pattern(196, 9)},
      {Level::must, "offset-4", "8797-5.2-b", "the structure after 4 other bytes", shifted(4)},
      {Level::must, "offset-9", "8797-5.2-b", "the structure after 9 other bytes", shifted(9)},
      {Level::must, "reserved-flags", "8797-4-a", "all reserved flags set, R clear",
       encoded({.flags = 0xfe, .send_size = 3, .receive_size = 3})},
      {Level::must, "smallest-sizes", "8797-4.2-b 8797-4.2-c", "sizes of 1,024 bytes",
       encoded({.flags = 1, .send_size = 0, .receive_size = 0})},
      {Level::must, "largest-sizes", "8797-4.2-b 8797-4.2-c", "sizes of 262,144 bytes",
       encoded({.flags = 1, .send_size = 255, .receive_size = 255})},
      {Level::must, "other-directions", "8797-4.2-b 8797-4.2-c", "1,024 bytes in one direction and 8,192 in the other",
       encoded({.send_size = 7, .receive_size = 0})},
      {Level::must, "twice", "8797-5.2-b", "the structure twice, with other sizes the second time",
       Out().raw(encoded({.send_size = 0, .receive_size = 0})).raw(encoded({.flags = 1})).bytes()},
  };
  for (const DataRow& row : rows)
    family.add(row.level, row.name, row.rules, row.sends,
               "the command succeeds, with the thresholds that follow from the private data",
               [data = row.data](Trial& t) {
                 t.setup().private_data = data;
                 t.on_reply(from(1), [](Reply&, const Call&, Link&) {});
                 t.succeeds();
               });
  family.must("changes", "8797-4-b", "the first connection has other private data than the following ones, and is cut",
              "the command succeeds", [](Trial& t) {
                t.on_request([&t](auto request) {
                  t.setup().private_data = t.connections() == 0
                                               ? encode(PrivateData{.flags = 1})
                                               : encode(PrivateData{.send_size = 0, .receive_size = 0});
                  t.accept(std::move(request));
                });
                t.on_call(from(2), [](Link& link, const Call&) { link.abort(); });
                t.succeeds();
              });
}

}  // namespace rpcrdma::conform::client
