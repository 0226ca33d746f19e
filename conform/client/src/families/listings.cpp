// SPDX-License-Identifier: BSD-3-Clause
// Listings that do not end, go in circles, contradict themselves or fail, or that have unusual cookies or handles.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

using Change = void (*)(Listing&);

Entry plain(std::string name, std::uint64_t cookie) {
  return {.fileid = 3, .name = std::move(name), .cookie = cookie, .handle = Export::handle_of(3)};
}

}  // namespace

void add_listings(const MakeFamily& make) {
  ClientFamily family = make("listings");
  const auto wrong = [&](const char* name, const char* sends, const char* required, void (Trial::*end)(),
                         Change change) {
    family.robust(name, "", sends, required, [change, end](Trial& t) {
      t.hooks().listing = change;
      (t.*end)();
    });
  };
  wrong("same-cookie", "all entries have the same cookie, and eof is never set", kFails, &Trial::fails,
        [](Listing& page) {
          for (Entry& entry : page.entries) entry.cookie = 5;
          page.eof = false;
        });
  wrong("circle", "cookies that lead back to earlier ones, and eof is never set", kFails, &Trial::fails,
        [](Listing& page) {
          const std::uint64_t next = page.cookie % 3 + 1;
          page.entries = {plain("circle-" + std::to_string(next), next)};
          page.eof = false;
        });
  wrong("cookie-0", "the last cookie of each page is 0, from which listings begin", kFails, &Trial::fails,
        [](Listing& page) {
          if (!page.entries.empty()) page.entries.back().cookie = 0;
          page.eof = false;
        });
  wrong("empty-pages", "pages without entries, and eof is never set", kFails, &Trial::fails, [](Listing& page) {
    page.entries.clear();
    page.eof = false;
  });
  wrong("dots-for-ever", "pages with \".\" alone and new cookies, and eof is never set", kFails, &Trial::fails,
        [](Listing& page) {
          page.entries = {plain(".", page.cookie + 1)};
          page.eof = false;
        });
  wrong("without-end", "new names with new cookies, and eof is never set",
        "the command stays alive with bounded memory until it is ended, or gives up", &Trial::survives,
        [](Listing& page) {
          page.entries.clear();
          for (std::uint64_t i = 1; i <= 50; ++i)
            page.entries.push_back(plain("n" + std::to_string(page.cookie + i), page.cookie + i));
          page.eof = false;
        });
  wrong("decreasing-cookies", "cookies that decrease", kCopes, &Trial::stays_intact, [](Listing& page) {
    std::uint64_t cookie = 0xffffffffffffffff;
    for (Entry& entry : page.entries) entry.cookie = cookie--;
  });
  wrong("largest-cookies", "cookies near 2^64", kCopes, &Trial::stays_intact, [](Listing& page) {
    for (Entry& entry : page.entries) entry.cookie += 0xffffffff00000000;
  });
  wrong("no-dots", "no \".\" and \"..\"", kCopes, &Trial::stays_intact, [](Listing& page) {
    std::erase_if(page.entries, [](const Entry& entry) { return entry.name == "." || entry.name == ".."; });
  });
  wrong("no-handles", "entries without handles", kCopes, &Trial::stays_intact, [](Listing& page) {
    for (Entry& entry : page.entries) entry.handle.clear();
  });
  wrong("handle-65", "entries with handles of 65 bytes", kFails, &Trial::ends, [](Listing& page) {
    for (Entry& entry : page.entries) entry.handle = pattern(65, 1);
  });
  wrong("within-itself", "the root contains itself, and nothing else", kEnds, &Trial::ends, [](Listing& page) {
    std::erase_if(page.entries,
                  [](const Entry& entry) { return !entry.attributes || entry.attributes->type != nfs::kDirectory; });
    for (Entry& entry : page.entries) entry.handle = Export::handle_of(Export::kRoot);
  });
  family.robust("within-itself-bare", "", "the root contains itself, and nothing else, without attributes and handle",
                kEnds, [](Trial& t) {
                  t.hooks().listing = [](Listing& page) {
                    std::erase_if(page.entries, [](const Entry& entry) { return entry.name != "folder"; });
                    for (Entry& entry : page.entries) {
                      entry.attributes.reset();
                      entry.handle.clear();
                    }
                  };
                  t.hooks().handle = [](nfs::Handle& handle) { handle = Export::handle_of(Export::kRoot); };
                  t.ends();
                });
  wrong("thousand-times-the-same", "one name 1,000 times", kEnds, &Trial::ends, [](Listing& page) {
    if (page.entries.empty()) return;
    const Entry entry = page.entries.back();
    page.entries.assign(100, entry);
    for (std::size_t i = 0; i < page.entries.size(); ++i) page.entries[i].cookie = page.cookie + i + 1;
    page.eof = page.cookie >= 900;
  });
  for (const auto& [name, status, what] :
       {std::tuple{"bad-cookie", 10003u, "NFS3ERR_BAD_COOKIE"}, {"too-small", 10005u, "NFS3ERR_TOOSMALL"}})
    family.robust(name, "", std::string("all listings fail with ") + what, kFails, [status = status](Trial& t) {
      t.hooks().status = [status](std::uint32_t procedure) {
        return procedure == nfs::kReaddir || procedure == nfs::kReaddirplus ? status : 0;
      };
      t.fails();
    });
}

}  // namespace rpcrdma::conform::client
