// SPDX-License-Identifier: BSD-3-Clause
// Names in listings that are dangerous, invalid, unusual or used twice. Each case adds an entry, or two entries with
// the same name, to the last page of every listing of the export's root.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

constexpr std::uint64_t kShort = 3, kFolder = 6;  // ids of the file "short" and the directory "folder" in export.cpp

/// Appends an entry that refers to the object `id` of the export.
void add_entry(Listing& page, std::string name, std::uint64_t id = kShort, std::uint32_t type = nfs::kRegular) {
  Entry entry{
      .fileid = id, .name = std::move(name), .cookie = 1000 + page.entries.size(), .handle = Export::handle_of(id)};
  entry.attributes =
      FileAttributes{.type = type, .mode = type == nfs::kDirectory ? 0755u : 0644u, .size = 10, .fileid = id};
  page.entries.push_back(std::move(entry));
}

struct NameRow {
  const char* name;
  const char* sends;
  std::string entry;
};

}  // namespace

void add_names(const MakeFamily& make) {
  ClientFamily family = make("names");
  using namespace std::string_literals;
  const char* const required =
      "nothing is made outside of {dir}; the command succeeds or fails, and the other files are right";
  const NameRow rows[] = {
      {"parent", "../escaped", "../escaped"},
      {"parent-of-parent", "../../escaped", "../../escaped"},
      {"below", "folder/escaped", "folder/escaped"},
      {"below-and-up", "folder/../../escaped", "folder/../../escaped"},
      {"slash", "a single slash", "/"},
      {"slash-behind", "escaped/", "escaped/"},
      {"dot-dot-again", "a second ..", ".."},
      {"dot-again", "a second .", "."},
      {"empty", "no bytes", ""},
      {"nul", "a NUL in the middle", "before\0behind"s},
      {"nul-and-parent", "a NUL, and ../escaped after it", "\0/../escaped"s},
      {"256-bytes", "256 bytes", std::string(256, 'n')},
      {"4096-bytes", "4,096 bytes", std::string(4096, 'n')},
      {"newline", "a newline", "first\nsecond"},
      {"terminal", "a terminal control sequence", "\x1b]0;title\x07\x1b[2J"},
      {"not-utf-8", "bytes that are not UTF-8", "\xff\xfe\x80"},
      {"option", "-rf, which looks like an option", "-rf"},
      {"same-as-a-file", "that of another entry", "odd"},
      {"same-as-a-folder", "that of a directory", "folder"},
      {"shell", "characters that a shell interprets", "$(touch escaped);`id`|*"},
  };
  const auto add = [&](const std::string& name, const std::string& what, const std::string& entry, std::uint64_t id,
                       std::uint32_t type) {
    family.robust(name, "", what, required, [entry, id, type](Trial& t) {
      t.hooks().listing = [&](Listing& page) {
        if (page.directory == Export::kRoot && page.eof) add_entry(page, entry, id, type);
      };
      // The export already has entries named "odd" and "folder". Of two entries with the same name, a client may keep
      // either one, so the trial does not compare the copied files in these two cases.
      const bool replaces = entry == "odd" || entry == "folder";
      replaces ? t.ends() : t.stays_intact();
    });
  };
  for (const NameRow& row : rows)
    add(row.name, std::string("a file whose name is: ") + row.sends, row.entry, kShort, nfs::kRegular);
  add("folder-parent", "a directory whose name is: ../escaped", "../escaped", kFolder, nfs::kDirectory);
  add("folder-dot-dot", "a second directory with the name ..", "..", kFolder, nfs::kDirectory);
  add("folder-empty", "a directory without a name", "", kFolder, nfs::kDirectory);
  family.robust("absolute", "", "a file whose name is an absolute path", required, [](Trial& t) {
    t.hooks().listing = [&](Listing& page) {
      if (page.directory == Export::kRoot && page.eof) add_entry(page, t.forbidden_path("escaped"));
    };
    t.stays_intact();
  });
  family.robust("link-then-folder", "", "a symbolic link that leads out of {dir}, and a directory with the same name",
                required, [](Trial& t) {
                  const std::string outside = t.forbidden_path("");
                  t.hooks().readlink = [&](std::string& target) { target = outside; };
                  t.hooks().listing = [](Listing& page) {
                    if (page.directory != Export::kRoot || !page.eof) return;
                    add_entry(page, "trap", 8, nfs::kSymbolicLink);
                    add_entry(page, "trap", kFolder, nfs::kDirectory);
                  };
                  t.ends();
                });
  family.robust("link-then-file", "", "a symbolic link to a file outside of {dir}, and a file with the same name",
                required, [](Trial& t) {
                  const std::string outside = t.forbidden_path("untouched");
                  t.hooks().readlink = [&](std::string& target) { target = outside; };
                  t.hooks().listing = [](Listing& page) {
                    if (page.directory != Export::kRoot || !page.eof) return;
                    add_entry(page, "trap", 8, nfs::kSymbolicLink);
                    add_entry(page, "trap", kShort, nfs::kRegular);
                  };
                  t.ends();
                });
}

}  // namespace rpcrdma::conform::client
