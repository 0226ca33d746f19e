// SPDX-License-Identifier: BSD-3-Clause
// READ, WRITE and COMMIT that fail or whose results contradict the data, and unusual limits in FSINFO.
#include "families/families.hpp"

namespace rpcrdma::conform::client {
namespace {

template <class Result>
struct DataResultRow {
  const char* name;
  const char* sends;
  const char* required;
  void (Trial::*end)();
  void (*change)(Result&);
};

const DataResultRow<ReadResult> kReads[] = {
    {"count-beyond-the-data", "a count larger than the data", kCopes, &Trial::stays_intact,
     [](ReadResult& r) { r.count += 8; }},
    {"count-beyond-the-request", "a count larger than was asked for", kCopes, &Trial::stays_intact,
     [](ReadResult& r) { r.count = r.asked + 4096; }},
    {"count-most", "a count of 4,294,967,295", kCopes, &Trial::stays_intact,
     [](ReadResult& r) { r.count = 0xffffffff; }},
    {"count-below-the-data", "a count of half of the data", kCopes, &Trial::stays_intact,
     [](ReadResult& r) { r.count /= 2; }},
    {"count-0", "a count of 0 with data", kCopes, &Trial::stays_intact, [](ReadResult& r) { r.count = 0; }},
    {"nothing-for-ever", "no data, and eof is never set", kFails, &Trial::fails,
     [](ReadResult& r) {
       r.data.clear();
       r.count = 0;
       r.eof = false;
     }},
    {"eof-never", "right data, but eof is never set", kCopes, &Trial::stays_intact,
     [](ReadResult& r) { r.eof = false; }},
    {"eof-always", "right data, but eof is always set", kEnds, &Trial::ends, [](ReadResult& r) { r.eof = true; }},
    {"eof-at-once", "no data, and eof", kEnds, &Trial::ends,
     [](ReadResult& r) {
       r.data.clear();
       r.count = 0;
       r.eof = true;
     }},
    {"one-byte", "one byte for each READ at an offset below 64", kCopes, &Trial::stays_intact,
     [](ReadResult& r) {
       if (r.offset >= 64 || r.count <= 1) return;
       r.data.resize(1);
       r.count = 1;
       r.eof = false;
     }},
    {"more-data", "eight bytes beyond the end of the file, if the READ asks for them", kEnds, &Trial::ends,
     [](ReadResult& r) {
       if (r.count == 0 || r.asked - r.count < 8) return;
       r.data.resize(r.data.size() + 8);
       r.count += 8;
     }},
};

const DataResultRow<WriteResult> kWrites[] = {
    {"count-0", "a count of 0", kFails, &Trial::fails, [](WriteResult& w) { w.count = 0; }},
    {"count-half", "a count of half of the data; the rest is not written", kCopes, &Trial::stays_intact,
     [](WriteResult& w) { w.count = (w.count + 1) / 2; }},
    {"count-beyond-the-request", "a count larger than the data", kCopes, &Trial::stays_intact,
     [](WriteResult& w) { w.count += 4096; }},
    {"count-most", "a count of 4,294,967,295", kCopes, &Trial::stays_intact,
     [](WriteResult& w) { w.count = 0xffffffff; }},
    {"committed-99", "an unknown stable_how", kCopes, &Trial::stays_intact, [](WriteResult& w) { w.committed = 99; }},
    {"less-stable", "UNSTABLE, whatever was asked for", kCopes, &Trial::stays_intact,
     [](WriteResult& w) { w.committed = 0; }},
};

}  // namespace

void add_data(const MakeFamily& make) {
  ClientFamily reads = make("read");
  for (const DataResultRow<ReadResult>& row : kReads)
    reads.robust(row.name, "", std::string("READ returns ") + row.sends, row.required, [&row](Trial& t) {
      t.hooks().read = row.change;
      (t.*row.end)();
    });
  reads.robust("eof-in-the-middle", "", "each READ at offset 0 returns half of the data, and eof", kEnds, [](Trial& t) {
    t.hooks().read = [](ReadResult& r) {
      r.eof = r.eof || r.offset == 0;
      if (r.offset == 0) r.data.resize(r.count /= 2);
    };
    t.ends();
  });
  ClientFamily writes = make("write");
  for (const DataResultRow<WriteResult>& row : kWrites)
    writes.robust(row.name, "", std::string("WRITE returns ") + row.sends, row.required, [&row](Trial& t) {
      t.hooks().write = row.change;
      (t.*row.end)();
    });
  writes.robust("verifier-changes", "", "each WRITE is UNSTABLE and has another verifier", kCopes, [](Trial& t) {
    std::uint64_t next = 1;
    t.hooks().write = [&next](WriteResult& w) {
      w.committed = 0;
      w.verifier = next++;
    };
    t.stays_intact();
  });
  writes.robust("commit-changes", "", "WRITEs are UNSTABLE, and each COMMIT has another verifier", kCopes,
                [](Trial& t) {
                  std::uint64_t next = 1;
                  t.hooks().write = [](WriteResult& w) { w.committed = 0; };
                  t.hooks().commit = [&next](std::uint64_t& verifier) { verifier = next++; };
                  t.stays_intact();
                });
  const auto fails_with = [&](const char* name, std::uint32_t procedure, std::uint32_t status, const char* sends) {
    writes.robust(name, "", sends, kFails, [=](Trial& t) {
      t.hooks().status = [=](std::uint32_t each) { return each == procedure ? status : 0; };
      t.fails();
    });
  };
  fails_with("no-space", nfs::kWrite, 28, "WRITE fails with NFS3ERR_NOSPC");
  fails_with("commit-fails", nfs::kCommit, 5, "COMMIT fails with NFS3ERR_IO");
}

void add_limits(const MakeFamily& make) {
  ClientFamily family = make("fsinfo");
  struct Limits {
    const char* name;
    const char* sends;
    void (*change)(Fsinfo&);
  };
  static const Limits kLimits[] = {
      {"rtmax-0", "rtmax and rtpref of 0", [](Fsinfo& f) { f.rtmax = f.rtpref = 0; }},
      {"wtmax-0", "wtmax and wtpref of 0", [](Fsinfo& f) { f.wtmax = f.wtpref = 0; }},
      {"dtpref-0", "dtpref of 0", [](Fsinfo& f) { f.dtpref = 0; }},
      {"all-0", "only zeros", [](Fsinfo& f) { f = {0, 0, 0, 0, 0, 0, 0, 0}; }},
      {"all-512", "sizes of 512 bytes", [](Fsinfo& f) { f = {512, 512, 1, 512, 512, 1, 512, 1u << 30}; }},
      {"all-most", "sizes of 2^32-1",
       [](Fsinfo& f) {
         constexpr std::uint32_t most = 0xffffffff;
         f = {most, most, most, most, most, most, most, ~std::uint64_t{0}};
       }},
      {"multiples", "rtmult and wtmult larger than rtmax and wtmax", [](Fsinfo& f) { f.rtmult = f.wtmult = 1u << 31; }},
      {"preferred-above-the-most", "rtpref and wtpref larger than rtmax and wtmax",
       [](Fsinfo& f) { f.rtpref = f.wtpref = f.dtpref = 1u << 30; }},
      {"longest-file-1", "a maximum file size of one byte", [](Fsinfo& f) { f.longest_file = 1; }},
  };
  for (const Limits& row : kLimits)
    family.robust(row.name, "", std::string("FSINFO returns ") + row.sends, kCopes, [&row](Trial& t) {
      t.hooks().fsinfo = row.change;
      t.stays_intact();
    });
}

}  // namespace rpcrdma::conform::client
