// SPDX-License-Identifier: BSD-3-Clause
// Targets of symbolic links that lead out of the directory or into a loop, or that are unusual.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

using namespace std::string_literals;

struct LinkRow {
  const char* name;
  const char* sends;
  std::string target;
};

}  // namespace

void add_links(const MakeFamily& make) {
  ClientFamily family = make("links");
  const LinkRow rows[] = {
      {"itself", "its own name", "link"},
      {"loop", "a path through itself", "link/link/link"},
      {"root", "/", "/"},
      {"etc-passwd", "/etc/passwd", "/etc/passwd"},
      {"parent", "../../..", "../../.."},
      {"empty", "no bytes", ""},
      {"nul", "a NUL in the middle", "short\0behind"s},
      {"4096-bytes", "4,096 bytes", std::string(4096, 't')},
      {"60000-bytes", "60,000 bytes", std::string(60000, 't')},
      {"terminal", "a terminal control sequence", "\x1b]0;title\x07\x1b[2J"},
  };
  for (const LinkRow& row : rows)
    family.robust(row.name, "", std::string("all symbolic links contain: ") + row.sends,
                  "nothing is made or changed outside of {dir}; the command succeeds or fails",
                  [target = row.target](Trial& t) {
                    t.hooks().readlink = [&target](std::string& out) { out = target; };
                    t.ends();
                  });
}

}  // namespace rpcrdma::conform::client
