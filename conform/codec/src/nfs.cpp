// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/codec/nfs.hpp"

namespace rpcrdma::conform::nfs {
namespace {

constexpr std::size_t kLongestHandle = 64, kLongestName = 255, kLongestPath = 65536, kLongestData = 1u << 30;
constexpr std::size_t kVerifierSize = 8;
constexpr std::size_t kMostEntries = 1u << 20;

/// sattr3 with a mode and nothing else.
void mode_only(Out& out, std::uint32_t mode) { out.words({1, mode, 0, 0, 0, 0, 0}); }

Attributes attributes(In& in) {
  Attributes out;
  out.type = in.u32();
  out.mode = in.u32();
  in.raw(12);  // nlink, uid, gid
  out.size = in.u64();
  in.raw(24);  // used, rdev, fsid
  out.fileid = in.u64();
  in.raw(24);  // three times
  return out;
}

void post_op_attributes(In& in) {
  if (in.boolean()) attributes(in);
}

void wcc_data(In& in) {
  if (in.boolean()) in.raw(24);
  post_op_attributes(in);
}

Handle handle(In& in) {
  const View bytes = in.opaque(kLongestHandle);
  return {bytes.begin(), bytes.end()};
}

void directory_entry(In& in, Directory& out, bool plus) {
  in.u64();  // fileid
  out.names.push_back(in.text(kLongestName));
  out.last_cookie = in.u64();
  if (plus) {
    post_op_attributes(in);
    if (in.boolean()) handle(in);
  }
}

}  // namespace

Bytes handle_args(View object) { return Out().opaque(object).bytes(); }

Bytes name_args(View directory, std::string_view name) { return Out().opaque(directory).text(name).bytes(); }

Bytes read_args(View object, std::uint64_t offset, std::uint32_t count) {
  return Out().opaque(object).u64(offset).u32(count).bytes();
}

Bytes write_args_head(View object, std::uint64_t offset, std::uint32_t count, std::uint32_t stable) {
  return Out().opaque(object).u64(offset).words({count, stable, count}).bytes();
}

Bytes write_args(View object, std::uint64_t offset, View data, std::uint32_t stable) {
  const auto count = static_cast<std::uint32_t>(data.size());
  return Out().opaque(object).u64(offset).words({count, stable}).opaque(data).bytes();
}

Bytes create_args(View directory, std::string_view name, std::uint32_t how) {
  Out out;
  out.opaque(directory).text(name).u32(how);
  mode_only(out, 0644);
  return std::move(out).bytes();
}

Bytes mkdir_args(View directory, std::string_view name) {
  Out out;
  out.opaque(directory).text(name);
  mode_only(out, 0755);
  return std::move(out).bytes();
}

Bytes symlink_args_head(View directory, std::string_view name, std::uint32_t length) {
  Out out;
  out.opaque(directory).text(name);
  mode_only(out, 0777);
  return out.u32(length).bytes();
}

Bytes symlink_args(View directory, std::string_view name, std::string_view target) {
  const auto length = static_cast<std::uint32_t>(target.size());
  return Out()
      .raw(symlink_args_head(directory, name, length))
      .raw(view_of(target))
      .zeros(padded(length) - length)
      .bytes();
}

Bytes readdir_args(View object, std::uint64_t cookie, View verifier, std::uint32_t count) {
  return Out().opaque(object).u64(cookie).raw(verifier).u32(count).bytes();
}

Bytes readdirplus_args(View object, std::uint64_t cookie, View verifier, std::uint32_t dircount,
                       std::uint32_t maxcount) {
  return Out().opaque(object).u64(cookie).raw(verifier).u32(dircount).u32(maxcount).bytes();
}

Bytes rename_args(View from, std::string_view old_name, View to, std::string_view new_name) {
  return Out().opaque(from).text(old_name).opaque(to).text(new_name).bytes();
}

Getattr decode_getattr(View results) {
  In in(results);
  Getattr out;
  out.status = in.u32();
  if (out.status == kOk) out.attributes = attributes(in);
  in.end();
  return out;
}

Object decode_lookup(View results) {
  In in(results);
  Object out;
  out.status = in.u32();
  if (out.status == kOk) {
    out.handle = handle(in);
    post_op_attributes(in);
  }
  post_op_attributes(in);
  in.end();
  return out;
}

Object decode_made(View results) {
  In in(results);
  Object out;
  out.status = in.u32();
  if (out.status == kOk) {
    if (in.boolean()) out.handle = handle(in);
    post_op_attributes(in);
  }
  wcc_data(in);
  in.end();
  return out;
}

Read decode_read(View results, bool reduced) {
  In in(results);
  Read out;
  out.status = in.u32();
  post_op_attributes(in);
  if (out.status == kOk) {
    out.count = in.u32();
    out.eof = in.boolean();
    if (reduced) {
      out.data_length = in.u32();
    } else {
      const View data = in.opaque(kLongestData);
      out.data.assign(data.begin(), data.end());
      out.data_length = static_cast<std::uint32_t>(data.size());
    }
  }
  in.end();
  return out;
}

Write decode_write(View results) {
  In in(results);
  Write out;
  out.status = in.u32();
  wcc_data(in);
  if (out.status == kOk) {
    out.count = in.u32();
    out.committed = in.u32();
    in.raw(kVerifierSize);
  }
  in.end();
  return out;
}

Readlink decode_readlink(View results, bool reduced) {
  In in(results);
  Readlink out;
  out.status = in.u32();
  post_op_attributes(in);
  if (out.status == kOk) {
    if (reduced) {
      out.length = in.u32();
    } else {
      out.path = in.text(kLongestPath);
      out.length = static_cast<std::uint32_t>(out.path.size());
    }
  }
  in.end();
  return out;
}

Directory decode_readdir(View results, bool plus) {
  In in(results);
  Directory out;
  out.status = in.u32();
  post_op_attributes(in);
  if (out.status == kOk) {
    const View verifier = in.raw(kVerifierSize);
    out.verifier.assign(verifier.begin(), verifier.end());
    while (in.boolean()) {
      if (out.names.size() == kMostEntries) throw DecodeError("too many directory entries");
      directory_entry(in, out, plus);
    }
    out.eof = in.boolean();
  }
  in.end();
  return out;
}

Fsinfo decode_fsinfo(View results) {
  In in(results);
  Fsinfo out;
  out.status = in.u32();
  post_op_attributes(in);
  if (out.status == kOk) {
    out.rtmax = in.u32();
    in.raw(8);
    out.wtmax = in.u32();
    in.raw(32);  // wtpref, wtmult, dtpref, maxfilesize, time_delta, properties
  }
  in.end();
  return out;
}

Mount decode_mount(View results) {
  In in(results);
  Mount out;
  out.status = in.u32();
  if (out.status == kOk) {
    out.handle = handle(in);
    const std::uint32_t count = in.u32();
    for (std::uint32_t i = 0; i < count; ++i) out.flavors.push_back(in.u32());
  }
  in.end();
  return out;
}

std::uint32_t status_of(View results) { return In(results).u32(); }

}  // namespace rpcrdma::conform::nfs
