// SPDX-License-Identifier: BSD-3-Clause
// Attributes and handles that are unusual or invalid.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

struct AttributeRow {
  const char* name;
  const char* sends;
  void (*change)(FileAttributes&);
};

void size(FileAttributes& a, std::uint64_t value) {
  if (a.type == nfs::kRegular) a.size = value;
}

const AttributeRow kHarmless[] = {
    {"nlink-0", "a link count of 0", [](FileAttributes& a) { a.links = 0; }},
    {"nlink-most", "the largest link count", [](FileAttributes& a) { a.links = 0xffffffff; }},
    {"owners", "uid and gid 4294967295", [](FileAttributes& a) { a.uid = a.gid = 0xffffffff; }},
    {"nanoseconds", "times with 4,294,967,295 nanoseconds",
     [](FileAttributes& a) { a.atime.nanoseconds = a.mtime.nanoseconds = a.ctime.nanoseconds = 0xffffffff; }},
    {"times", "times of 2^32-1 seconds",
     [](FileAttributes& a) { a.atime.seconds = a.mtime.seconds = a.ctime.seconds = 0xffffffff; }},
    {"used", "2^64-1 bytes used", [](FileAttributes& a) { a.used = ~std::uint64_t{0}; }},
    {"same-fileid", "the same fileid for all objects", [](FileAttributes& a) { a.fileid = 1; }},
    {"other-fsid", "another fsid for each object", [](FileAttributes& a) { a.fsid = a.fileid; }},
    {"mode-bits", "all bits of the mode", [](FileAttributes& a) { a.mode |= 0xfffff000; }},
    {"set-id", "set-user-id and set-group-id bits", [](FileAttributes& a) { a.mode |= 06000; }},
};

const AttributeRow kHarmful[] = {
    {"size-2-63", "files of 2^63 bytes", [](FileAttributes& a) { size(a, std::uint64_t{1} << 63); }},
    {"size-2-64", "files of 2^64-1 bytes", [](FileAttributes& a) { size(a, ~std::uint64_t{0}); }},
    {"size-2-63-less-1", "files of 2^63-1 bytes", [](FileAttributes& a) { size(a, (std::uint64_t{1} << 63) - 1); }},
    {"size-2-40", "files of 2^40 bytes", [](FileAttributes& a) { size(a, std::uint64_t{1} << 40); }},
    {"size-0", "files of 0 bytes", [](FileAttributes& a) { size(a, 0); }},
    {"type-0", "type 0", [](FileAttributes& a) { a.type = 0; }},
    {"type-99", "type 99", [](FileAttributes& a) { a.type = 99; }},
    {"devices", "all files are block devices",
     [](FileAttributes& a) { a.type = a.type == nfs::kRegular ? 3 : a.type; }},
    {"fifos", "all files are FIFOs", [](FileAttributes& a) { a.type = a.type == nfs::kRegular ? 7 : a.type; }},
    {"files-are-directories", "all files are directories", [](FileAttributes& a) { a.type = nfs::kDirectory; }},
    {"directories-are-files", "all directories are files", [](FileAttributes& a) { a.type = nfs::kRegular; }},
    {"all-links", "everything is a symbolic link", [](FileAttributes& a) { a.type = nfs::kSymbolicLink; }},
};

}  // namespace

void add_attributes(const MakeFamily& make) {
  ClientFamily family = make("attributes");
  for (const AttributeRow& row : kHarmless)
    family.robust(row.name, "", row.sends, kCopes, [&row](Trial& t) {
      t.hooks().attributes = row.change;
      t.stays_intact();
    });
  for (const AttributeRow& row : kHarmful)
    family.robust(row.name, "", row.sends, kEnds, [&row](Trial& t) {
      t.hooks().attributes = row.change;
      t.ends();
    });
  family.robust("absent", "", "results without optional attributes", kCopes, [](Trial& t) {
    t.hooks().optional_attributes = [](bool& present) { present = false; };
    t.stays_intact();
  });
  family.robust("changing-type", "", "the type of each object changes whenever it is returned", kEnds, [](Trial& t) {
    std::uint32_t next = 0;
    t.hooks().attributes = [&next](FileAttributes& a) { a.type = 1 + next++ % 7; };
    t.ends();
  });
  family.robust("changing-size", "", "the size of each file changes whenever it is returned", kEnds, [](Trial& t) {
    std::uint64_t next = 0;
    t.hooks().attributes = [&next](FileAttributes& a) { size(a, next += 12345); };
    t.ends();
  });
}

void add_handles(const MakeFamily& make) {
  ClientFamily family = make("handles");
  for (const std::size_t length : {0, 1, 63, 64})
    family.robust("length-" + std::to_string(length), "",
                  "all handles but that of MNT have " + std::to_string(length) + " bytes, and no file has them", kCopes,
                  [length](Trial& t) {
                    t.hooks().handle = [length](nfs::Handle& handle) { handle = pattern(length, 2); };
                    t.stays_intact();
                  });
  for (const std::size_t length : {65, 1024, 4000})
    family.robust("length-" + std::to_string(length), "",
                  "all handles but that of MNT have " + std::to_string(length) + " bytes, more than the limit of 64",
                  kFails, [length](Trial& t) {
                    t.hooks().handle = [length](nfs::Handle& handle) { handle = pattern(length, 2); };
                    t.fails();
                  });
  family.robust("of-the-root", "", "LOOKUP and CREATE return the handle of the root", kEnds, [](Trial& t) {
    t.hooks().handle = [](nfs::Handle& handle) { handle = Export::handle_of(Export::kRoot); };
    t.ends();
  });
  family.robust("stale", "", "all calls but the first two fail with NFS3ERR_STALE", kFails, [](Trial& t) {
    t.hooks().status = [&t](std::uint32_t) { return t.calls() > 2 ? nfs::kStale : nfs::kOk; };
    t.fails();
  });
  family.robust("status-99999", "", "all procedures fail with an unknown status", kFails, [](Trial& t) {
    t.hooks().status = [](std::uint32_t) { return 99999u; };
    t.fails();
  });
}

}  // namespace rpcrdma::conform::client
