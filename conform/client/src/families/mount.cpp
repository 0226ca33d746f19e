// SPDX-License-Identifier: BSD-3-Clause
// MOUNT version 3: replies to MNT that report an error, or whose handle or flavors are unusual or malformed.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

struct MountRow {
  const char* name;
  const char* sends;
  void (*change)(std::uint32_t& status, nfs::Handle& root, std::vector<std::uint32_t>& flavors);
};

const MountRow kMountRows[] = {
    {"not-found", "MNT3ERR_NOENT", [](auto& status, auto&, auto&) { status = 2; }},
    {"access-denied", "MNT3ERR_ACCES", [](auto& status, auto&, auto&) { status = 13; }},
    {"server-fault", "MNT3ERR_SERVERFAULT", [](auto& status, auto&, auto&) { status = 10006; }},
    {"status-99999", "an unknown status", [](auto& status, auto&, auto&) { status = 99999; }},
    {"handle-of-no-bytes", "a handle of no bytes", [](auto&, auto& root, auto&) { root.clear(); }},
    {"handle-65", "a handle of 65 bytes", [](auto&, auto& root, auto&) { root = pattern(65, 1); }},
    {"handle-1000", "a handle of 1,000 bytes", [](auto&, auto& root, auto&) { root = pattern(1000, 1); }},
    {"handle-of-no-file", "a handle that no file has", [](auto&, auto& root, auto&) { root = pattern(32, 1); }},
};

}  // namespace

void add_mount(const MakeFamily& make) {
  ClientFamily family = make("mount");
  for (const MountRow& row : kMountRows)
    family.robust(row.name, "", std::string("MNT returns ") + row.sends, kFails, [&row](Trial& t) {
      t.hooks().mount = row.change;
      t.fails();
    });
  family.robust("no-flavors", "", "MNT returns no authentication flavors", kCopes, [](Trial& t) {
    t.hooks().mount = [](auto&, auto&, auto& flavors) { flavors.clear(); };
    t.stays_intact();
  });
  family.robust("unknown-flavors", "", "MNT returns 100 authentication flavors, all of them unknown", kCopes,
                [](Trial& t) {
                  t.hooks().mount = [](auto&, auto&, auto& flavors) { flavors.assign(100, 390099); };
                  t.stays_intact();
                });
}

}  // namespace rpcrdma::conform::client
