// SPDX-License-Identifier: BSD-3-Clause
// NFS version 3 without chunks: data, symbolic links, listings, FSINFO, names at their limits, and a stale handle.
#include <fmt/format.h>

#include <algorithm>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

nfs::Read read_inline(Session& s, std::uint64_t offset, std::uint32_t count) {
  const nfs::Read out =
      nfs::decode_read(s.call(s.nfs(nfs::kRead, nfs::read_args(s.files().data, offset, count))), false);
  Record::expect(out.status == nfs::kOk, nfs_status(out.status));
  Record::expect(out.count == out.data.size(), "count and the length of the data differ");
  return out;
}

/// The answer must be an error of NFS, or GARBAGE_ARGS.
void expect_refused(Session& s, const Outgoing& call) {
  s.send(call);
  const RpcReply reply = s.reply_to(call.xid());
  Record::expect(reply.status == kAccepted, describe(reply));
  const bool decoded = reply.accept == kSuccess && nfs::status_of(reply.results) != nfs::kOk;
  Record::expect(decoded || reply.accept == kGarbageArgs, describe(reply));
}

void add_data(ServerFamily& family) {
  family.must("read-inline", "8166-3.4.2-b 8166-4.2.4-b", "READ of 701 bytes without chunks",
              "the data and its pad inline", [](Session& s) {
                const nfs::Read read = read_inline(s, 1000, 701);
                Record::expect(std::ranges::equal(read.data, View(s.files().contents).subspan(1000, 701)),
                               "the data differs from the file");
                Record::expect(!read.eof, "eof, although the file is longer");
              });
  family.robust("read-to-the-end", "", "READ of 700 bytes without chunks, starting 3 bytes before the end of the file",
                "3 bytes and eof", [](Session& s) {
                  const nfs::Read read = read_inline(s, Files::kDataSize - 3, 700);
                  Record::expect(read.count == 3 && read.eof, fmt::format("{} bytes, eof {}", read.count, read.eof));
                });
  family.robust("read-beyond-the-end", "", "READ at offset 2^64-1", "no data and eof, or an error", [](Session& s) {
    const Bytes results = s.call(s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0xffffffffffffffff, 700)));
    const nfs::Read read = nfs::decode_read(results, false);
    Record::expect(read.status != nfs::kOk || (read.count == 0 && read.eof), "data beyond the end");
  });
  family.robust("write-of-nothing", "", "WRITE of no bytes", "success, and the file stays empty", [](Session& s) {
    const nfs::Handle file = s.make_file("write-of-nothing");
    const nfs::Write written = nfs::decode_write(s.call(s.nfs(nfs::kWrite, nfs::write_args(file, 0, {}))));
    Record::expect(written.status == nfs::kOk && written.count == 0, nfs_status(written.status));
    Record::expect(s.contents_of(file).empty(), "the file is not empty");
  });
  family.robust("write-and-commit", "", "an UNSTABLE WRITE, then COMMIT", "success, and the data is there",
                [](Session& s) {
                  const nfs::Handle file = s.make_file("write-and-commit");
                  const Bytes data = pattern(500, 31);
                  const nfs::Write written =
                      nfs::decode_write(s.call(s.nfs(nfs::kWrite, nfs::write_args(file, 0, data, nfs::kUnstable))));
                  Record::expect(written.status == nfs::kOk, nfs_status(written.status));
                  const Bytes results = s.call(s.nfs(nfs::kCommit, Out().opaque(file).u64(0).u32(0).bytes()));
                  Record::expect(nfs::status_of(results) == nfs::kOk, nfs_status(nfs::status_of(results)));
                  Record::expect(s.contents_of(file) == data, "the file has other contents");
                });
  family.must("readlink-inline", "8166-3.4.2-b", "READLINK without chunks", "the path inline", [](Session& s) {
    const nfs::Readlink link =
        nfs::decode_readlink(s.call(s.nfs(nfs::kReadlink, nfs::handle_args(s.files().link))), false);
    Record::expect(link.path == s.files().target, "another path: " + link.path);
  });
  family.must("symlink-inline", "8166-3.4.2-b", "SYMLINK without chunks", "the link has this target", [](Session& s) {
    const nfs::Object link = nfs::decode_made(
        s.call(s.nfs(nfs::kSymlink, nfs::symlink_args(s.files().directory, "inline-link", "over/there"))));
    Record::expect(link.status == nfs::kOk && link.handle, nfs_status(link.status));
    const Bytes results = s.call(s.nfs(nfs::kReadlink, nfs::handle_args(*link.handle)));
    Record::expect(nfs::decode_readlink(results, false).path == "over/there", "another target");
  });
}

void add_names(ServerFamily& family) {
  family.robust("listing-in-pages", "", "READDIR with a count of 700, page by page", "every name once", [](Session& s) {
    std::vector<std::string> names;
    std::uint64_t cookie = 0;
    Bytes verifier(8);
    for (int pages = 0; pages < 1000; ++pages) {
      const nfs::Directory page = nfs::decode_readdir(
          s.call(s.nfs(nfs::kReaddir, nfs::readdir_args(s.files().many, cookie, verifier, 700))), false);
      Record::expect(page.status == nfs::kOk, nfs_status(page.status));
      std::ranges::copy_if(page.names, std::back_inserter(names), [](const auto& name) { return name.size() > 100; });
      cookie = page.last_cookie;
      verifier = page.verifier;
      if (page.eof) break;
      Record::expect(!page.names.empty(), "a page without names that is not the last");
    }
    std::ranges::sort(names);
    Record::expect(std::ranges::adjacent_find(names) == names.end(), "a name came twice");
    Record::expect(names.size() == s.files().many_names, fmt::format("{} names", names.size()));
  });
  family.robust("listing-with-a-small-count", "", "READDIR with a count of 16", "NFS3ERR_TOOSMALL, or an empty page",
                [](Session& s) {
                  const nfs::Directory page = nfs::decode_readdir(
                      s.call(s.nfs(nfs::kReaddir, nfs::readdir_args(s.files().many, 0, Bytes(8), 16))), false);
                  Record::expect(page.status != nfs::kOk || page.names.empty(), "names beyond the count");
                });
  family.robust("name-of-255-bytes", "", "CREATE and LOOKUP of a name of 255 bytes", "success", [](Session& s) {
    s.make_file(std::string(255, 'x'));
    Record::expect(s.exists(std::string(255, 'x')), "the file is not found");
  });
  family.robust("name-of-256-bytes", "", "LOOKUP of a name of 256 bytes", "an error", [](Session& s) {
    const Outgoing call = s.nfs(nfs::kLookup, nfs::name_args(s.files().directory, std::string(256, 'x')));
    s.send(call);
    const RpcReply reply = s.reply_to(call.xid());
    Record::expect(reply.accept != kSuccess || nfs::status_of(reply.results) != nfs::kOk, "the file is found");
  });
  family.robust("name-with-a-slash", "", "CREATE of a/b", "an error of NFS, or GARBAGE_ARGS", [](Session& s) {
    expect_refused(s, s.nfs(nfs::kCreate, nfs::create_args(s.files().directory, "a/b", 1)));
  });
  family.robust("no-name", "", "LOOKUP of an empty name", "an error of NFS, or GARBAGE_ARGS",
                [](Session& s) { expect_refused(s, s.nfs(nfs::kLookup, nfs::name_args(s.files().directory, ""))); });
  family.robust("handle-of-a-removed-file", "", "GETATTR of a file that was removed", "NFS3ERR_STALE or another error",
                [](Session& s) {
                  const nfs::Handle file = s.make_file("removed");
                  s.call(s.nfs(nfs::kRemove, nfs::name_args(s.files().directory, "removed")));
                  const Bytes results = s.call(s.nfs(nfs::kGetattr, nfs::handle_args(file)));
                  Record::expect(nfs::status_of(results) != nfs::kOk, "the removed file has attributes");
                });
  family.robust("fsinfo", "", "FSINFO of the export", "rtmax and wtmax that are not zero", [](Session& s) {
    const nfs::Fsinfo info = nfs::decode_fsinfo(s.call(s.nfs(nfs::kFsinfo, nfs::handle_args(s.files().root))));
    Record::expect(info.status == nfs::kOk && info.rtmax != 0 && info.wtmax != 0,
                   fmt::format("rtmax {}, wtmax {}", info.rtmax, info.wtmax));
  });
}

}  // namespace

void add_nfs(const MakeFamily& make) {
  ServerFamily family = make("nfs");
  add_data(family);
  add_names(family);
}

}  // namespace rpcrdma::conform
