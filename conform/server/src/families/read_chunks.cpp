// SPDX-License-Identifier: BSD-3-Clause
// Read chunks (RFC 8166 sections 3.4.5 and 4.3.1). NFSv3 allows two items in them: the data of WRITE and the target of
// SYMLINK. Chunks with other items must be refused.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// A WRITE of `count` bytes whose data is in a Read chunk.
Outgoing reduced_write(Session& s, const nfs::Handle& file, std::uint32_t count,
                       const std::vector<RdmaSegment>& chunk) {
  Outgoing out = s.nfs(nfs::kWrite, nfs::write_args_head(file, 0, count));
  const std::uint32_t position = out.end();
  for (const RdmaSegment& segment : chunk) out.header.lists.reads.push_back({position, segment});
  return out;
}

/// Writes `size` bytes of data from a Read chunk whose segments have `lengths`, and compares the file with the data.
/// The segments include the `pad` bytes that follow the data.
void write_and_compare(Session& s, std::size_t size, std::size_t pad, const std::vector<std::uint32_t>& lengths) {
  const nfs::Handle file = s.make_file(fmt::format("read-chunk-{}", s.new_xid()));
  const Bytes data = pattern(size, 11);
  Bytes exposed = data;
  exposed.resize(size + pad);
  const Memory& memory = s.readable(exposed);
  const Chunk chunk = memory.split(lengths);
  s.record().sent(fmt::format("{} bytes of data, {} segments, {} bytes in all", size, chunk.size(), length_of(chunk)));
  const nfs::Write written = nfs::decode_write(s.call(reduced_write(s, file, static_cast<std::uint32_t>(size), chunk)));
  Record::expect(written.status == nfs::kOk, nfs_status(written.status));
  Record::expect(written.count == size, fmt::format("{} bytes were written", written.count));
  Record::expect(s.contents_of(file) == data, "the file has other contents");
}

struct Shape {
  const char* name;
  const char* rule;
  const char* sends;
  std::size_t size, pad;
  std::vector<std::uint32_t> lengths;
};

void add_shapes(ServerFamily& family) {
  static const Shape kShapes[] = {
      {"one-segment", "8166-3.4.5-d", "WRITE of 4,096 bytes from one segment", 4096, 0, {4096}},
      {"without-pad", "8166-3.4.5.2-d", "WRITE of 5 bytes from a chunk of 5 bytes", 5, 0, {5}},
      {"with-pad", "8166-3.4.5.2-d", "WRITE of 5 bytes from a chunk of 8 bytes, which includes the pad", 5, 3, {8}},
      {"with-pad-in-a-segment",
       "8166-3.4.5.2-d",
       "WRITE of 5 bytes from segments of 5 bytes and of 3 bytes of pad",
       5,
       3,
       {5, 3}},
      {"large-without-pad", "8166-3.4.5.2-d", "WRITE of 4,097 bytes from a chunk without pad", 4097, 0, {4097}},
      {"large-with-pad", "8166-3.4.5.2-d", "WRITE of 4,097 bytes from a chunk with 3 bytes of pad", 4097, 3, {4100}},
      {"two-segments",
       "8166-3.4.5-d 8166-3.4.4-a",
       "WRITE of 6,000 bytes from two equal segments",
       6000,
       0,
       {3000, 3000}},
      {"odd-segments",
       "8166-3.4.5-d 8166-3.4.4-a",
       "WRITE of 10,000 bytes from segments of 1, 3, 4,096 and 5,900 bytes",
       10000,
       0,
       {1, 3, 4096, 5900}},
      {"segments-of-a-byte",
       "8166-3.4.5-d 8166-3.4.4-a",
       "WRITE of 8 bytes from 8 segments",
       8,
       0,
       {1, 1, 1, 1, 1, 1, 1, 1}},
      {"16-segments",
       "8166-3.4.5-d 8166-3.4.4-a",
       "WRITE of 4,000 bytes from 16 segments of 250 bytes",
       4000,
       0,
       {250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250, 250}},
  };
  for (const Shape& shape : kShapes)
    family.must(shape.name, shape.rule, shape.sends, "the file has exactly these contents",
                [&shape](Session& s) { write_and_compare(s, shape.size, shape.pad, shape.lengths); });
  family.robust("segments-of-nothing", "", "WRITE of 2,000 bytes from segments of 0, 1,000, 0, 1,000 and 0 bytes",
                "the file has exactly these contents", [](Session& s) {
                  write_and_compare(s, 2000, 0, {0, 1000, 0, 1000, 0});
                });
  family.must("inline-data", "8166-3.4.2-b", "WRITE of 7 bytes without a chunk", "the file has exactly these contents",
              [](Session& s) {
                const nfs::Handle file = s.make_file("inline-data");
                const Bytes data = pattern(7, 4);
                s.call(s.nfs(nfs::kWrite, nfs::write_args(file, 0, data)));
                Record::expect(s.contents_of(file) == data, "the file has other contents");
              });
}

/// A WRITE of 1,000 bytes from a chunk of another length must not be executed.
void wrong_length(Session& s, std::uint32_t length) {
  const nfs::Handle file = s.make_file(fmt::format("wrong-length-{}", length));
  const Memory& memory = s.readable(pattern(4096, 12));
  const Outgoing write = reduced_write(s, file, 1000, {memory.segment(0, length)});
  s.send(write);
  s.expect_refusal(write.xid());
  Record::expect(s.contents_of(file).empty(), "data was written although the call was refused");
}

void add_lengths(ServerFamily& family) {
  const char* const required = "GARBAGE_ARGS or ERR_CHUNK; nothing is written; the connection stays open";
  for (const std::uint32_t length : {4u, 996u, 999u, 1004u, 2000u})
    family.should(fmt::format("chunk-of-{}-for-1000", length), "8166-4.5.2-b",
                  fmt::format("WRITE whose count word is 1,000, with a Read chunk of {} bytes", length), required,
                  [length](Session& s) { wrong_length(s, length); });
  family.should("no-data-at-all", "8166-4.5.2-b", "WRITE whose count word is 1,000, without data or chunk", required,
                [](Session& s) {
                  const Outgoing write = s.nfs(nfs::kWrite, nfs::write_args_head(s.make_file("no-data"), 0, 1000));
                  s.send(write);
                  s.expect_refusal(write.xid());
                  s.expect_alive();
                });
}

/// Sends the call with a Read chunk at a Position that the call does not allow. The server must refuse it.
void refused_reduction(Session& s, Outgoing call, std::uint32_t position, std::size_t size) {
  const Memory& memory = s.readable(pattern(size, 13));
  call.header.lists.reads.push_back({position, memory.segment()});
  s.send(call);
  s.expect_refusal(call.xid());
  s.expect_alive();
}

void add_refused(ServerFamily& family) {
  const char* const required = "the call is refused, not executed; the connection stays open";
  family.must("reduced-name", "8166-6.1-b", "LOOKUP whose name is in a Read chunk", required, [](Session& s) {
    Outgoing call = s.nfs(nfs::kLookup, Out().opaque(s.files().directory).u32(4).bytes());
    call.header.lists.reads = {
        {call.end(), s.readable(Bytes{std::byte{'d'}, std::byte{'a'}, std::byte{'t'}, std::byte{'a'}}).segment()}};
    s.send(call);
    s.expect_refusal(call.xid());
    s.expect_alive();
  });
  family.must("reduced-handle", "8166-6.1-b", "GETATTR whose file handle is in a Read chunk", required, [](Session& s) {
    const nfs::Handle& handle = s.files().data;
    Outgoing call = s.nfs(nfs::kGetattr, Out().u32(static_cast<std::uint32_t>(handle.size())).bytes());
    call.header.lists.reads = {{call.end(), s.readable(handle).segment()}};
    s.send(call);
    s.expect_refusal(call.xid());
    s.expect_alive();
  });
  family.must("reduced-new-name", "8166-6.1-b", "MKDIR whose name is in a Read chunk", "the directory is not made",
              [](Session& s) {
                const Bytes whole = nfs::mkdir_args(s.files().directory, "reduced");
                Outgoing call = s.nfs(nfs::kMkdir, {});
                call.rpc.arguments = Out().opaque(s.files().directory).u32(7).bytes();
                const std::uint32_t position = call.end();
                call.rpc.arguments = Out().raw(call.rpc.arguments).raw(View(whole).last(28)).bytes();
                call.header.lists.reads = {{position, s.readable(pattern(7, 1)).segment()}};
                s.send(call);
                s.expect_refusal(call.xid());
                Record::expect(!s.exists("reduced"), "the directory was made");
              });
  family.must("chunk-in-mid-arguments", "8166-4.5-b", "WRITE with a second Read chunk within its file handle", required,
              [](Session& s) {
                Outgoing call = reduced_write(s, s.files().data, 4, {s.readable(Bytes(4)).segment()});
                refused_reduction(s, call, 100, 4);
              });
  family.robust("two-chunks-of-one-item", "",
                "WRITE of 8 bytes from two Read chunks, the second at a Position 4 bytes after the first", required,
                [](Session& s) {
                  Outgoing call = reduced_write(s, s.make_file("overlapping"), 8, {s.readable(Bytes(8)).segment()});
                  refused_reduction(s, call, call.end() + 4, 8);
                });
  family.robust("chunk-behind-the-data", "", "WRITE with a Read chunk, and another one beyond its end", required,
                [](Session& s) {
                  Outgoing call = reduced_write(s, s.make_file("behind"), 8, {s.readable(Bytes(8)).segment()});
                  refused_reduction(s, call, call.end() + 400, 8);
                });
  // RFC 8166 section 3.5.3 describes Position-Zero Read chunks only for messages without inline payload. With both, the
  // server cannot know which of them is the call.
  family.robust("chunk-at-position-0", "",
                "an RDMA_MSG with a NULL call inline, and the same call in a Read chunk at Position zero", required,
                [](Session& s) {
                  Outgoing call = s.null();
                  call.header.lists.reads = {{0, s.readable(call.payload()).segment()}};
                  s.send(call);
                  s.expect_refusal(call.xid());
                  s.expect_alive();
                });
  family.robust("other-call-at-position-0", "",
                "an RDMA_MSG with a MKDIR inline, and a MKDIR of another name in a Read chunk at Position zero",
                "the call is refused; neither directory is made; the connection stays open", [](Session& s) {
                  Outgoing call = s.nfs(nfs::kMkdir, nfs::mkdir_args(s.files().directory, "inline-call"));
                  Outgoing other = call;
                  other.rpc.arguments = nfs::mkdir_args(s.files().directory, "call-in-chunk");
                  call.header.lists.reads = {{0, s.readable(other.payload()).segment()}};
                  s.send(call);
                  s.expect_refusal(call.xid());
                  Record::expect(!s.exists("inline-call"), "the inline call was executed");
                  Record::expect(!s.exists("call-in-chunk"), "the call in the chunk was executed");
                });
}

void add_symlink(ServerFamily& family) {
  family.must("symlink", "8267-4-a 8166-3.4.4.4-b", "SYMLINK whose target of 201 bytes is in a Read chunk",
              "the link has this target", [](Session& s) {
                const std::string target(201, 't');
                Outgoing call = s.nfs(nfs::kSymlink, nfs::symlink_args_head(s.files().directory, "reduced-link", 201));
                const View bytes = view_of(target);
                call.header.lists.reads = {{call.end(), s.readable({bytes.begin(), bytes.end()}).segment()}};
                const nfs::Object link = nfs::decode_made(s.call(call));
                Record::expect(link.status == nfs::kOk && link.handle, nfs_status(link.status));
                const nfs::Readlink found =
                    nfs::decode_readlink(s.call(s.nfs(nfs::kReadlink, nfs::handle_args(*link.handle))), false);
                Record::expect(found.path == target, "the link has another target: " + found.path);
              });
}

/// Sends a WRITE whose data is in `segment`, memory that the server cannot read. The server must refuse the call or end
/// the connection, and must not write anything.
void unreadable(Session& s, const char* name, const RdmaSegment& segment) {
  const nfs::Handle file = s.make_file(name);
  const Outgoing write = reduced_write(s, file, 4096, {segment});
  s.send(write);
  s.expect_refusal_or_end(write.xid());
  s.connect_and_call();
  Record::expect(s.contents_of(file).empty(), "data was written that the server cannot have read");
}

void add_unreadable(ServerFamily& family) {
  const char* const required = "an error, or the end of the connection; nothing is written; the server stays healthy";
  family.robust("unknown-handle", "", "WRITE from a segment whose handle is not valid", required, [](Session& s) {
    unreadable(s, "unknown-handle", {0xdeadbeef, 4096, 0});
  });
  family.robust("memory-without-the-right", "", "WRITE from a segment that may only be written", required,
                [](Session& s) { unreadable(s, "without-the-right", s.writable(4096).segment()); });
  family.robust("longer-than-the-memory", "", "WRITE from a segment that claims more than is exposed", required,
                [](Session& s) {
                  if (!s.network().fabric->capabilities().exact_window_bounds)
                    Record::skip("this fabric does not keep the bounds of a window");
                  RdmaSegment segment = s.readable(pattern(4000, 3)).segment();
                  segment.length = 4096;
                  unreadable(s, "longer-than-the-memory", segment);
                });
}

}  // namespace

void add_read_chunks(const MakeFamily& make) {
  ServerFamily family = make("read-chunks");
  add_shapes(family);
  add_lengths(family);
  add_refused(family);
  add_symlink(family);
  add_unreadable(family);
}

}  // namespace rpcrdma::conform
