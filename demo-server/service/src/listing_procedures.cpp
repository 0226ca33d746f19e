// SPDX-License-Identifier: BSD-3-Clause
// READDIR and READDIRPLUS. Their limits are on encoded octets, which are counted here entry by entry.
#include "impl.hpp"
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

// Encoded sizes in octets (RFC 1813 sections 3.3.16 and 3.3.17).
constexpr std::uint32_t kPostOpAttributes = 4 + 84;
/// READDIR3resok around its entries: directory attributes, verifier, end of list, eof.
constexpr std::uint32_t kAround = kPostOpAttributes + 8 + 4 + 4;
/// An entry without its name: fileid, name length, cookie.
constexpr std::uint32_t kEntry = 8 + 4 + 8;
constexpr std::uint32_t kFollows = 4;

/// What a reply points at until it has been sent.
template <class Entry>
struct Listing {
  std::vector<Entry> entries;
  std::vector<char> names;

  static std::uint32_t limit_of(const READDIR3args& args) noexcept { return std::min(args.count, kMaxListing); }
  static std::uint32_t limit_of(const READDIRPLUS3args& args) noexcept { return std::min(args.maxcount, kMaxListing); }
  /// For the entries as they are here, and as they are in the reply.
  template <class Args>
  static std::uint32_t octets_for(const Args& args) noexcept {
    return 2 * limit_of(args);
  }

  /// Names stay where they are: there is room for all that the limit lets in.
  void start(std::uint32_t limit) { names.reserve(limit); }
  std::string_view keep(std::string_view name) {
    const std::size_t at = names.size();
    names.insert(names.end(), name.begin(), name.end());
    return {names.data() + at, name.size()};
  }
};

DirectoryRequest request_of(std::uint64_t cookie, const cookieverf3& verifier, bool want_nodes) {
  DirectoryRequest request;
  request.cookie = cookie;
  request.want_nodes = want_nodes;
  std::memcpy(request.verifier.data(), verifier, request.verifier.size());
  return request;
}

/// The fields that both kinds of reply have. RFC 1813 section 3.3.16: not even one entry fits, TOOSMALL.
template <class Result, class Ok, class Fail, class Entry>
void finish(const DirectoryResult& got, std::uint64_t fsid, Listing<Entry>& listing, Result& result, Ok& ok,
            Fail& fail) {
  Status status = got.status;
  if (status == Status::ok && listing.entries.empty() && !got.eof) status = Status::toosmall;
  result.status = to_wire(status);
  if (status != Status::ok) {
    fail.dir_attributes = to_wire(got.attributes, fsid);
    return;
  }
  ok.dir_attributes = to_wire(got.attributes, fsid);
  std::memcpy(ok.cookieverf, got.verifier.data(), got.verifier.size());
  ok.reply.entries.count = static_cast<u_int>(listing.entries.size());
  ok.reply.entries.items = listing.entries.data();
  ok.reply.eof = got.eof ? TRUE : FALSE;
}

READDIR3res readdir(const Request<nfs3::Readdir>& request, Listing<entry3>& listing) {
  const std::uint32_t limit = listing.limit_of(request.args);
  if (limit < kAround) return failed<nfs3::Readdir>(Status::toosmall);
  std::uint32_t used = kAround;
  listing.start(limit);
  const DirectoryResult got = request.fs().read_directory(
      request.caller, request.target.node, request_of(request.args.cookie, request.args.cookieverf, false),
      [&](const DirectoryEntry& entry) {
        const std::uint32_t size = kFollows + kEntry + pad4(static_cast<std::uint32_t>(entry.name.size()));
        if (size > limit - used) return false;
        used += size;
        entry3& out = listing.entries.emplace_back();
        out.fileid = entry.fileid;
        out.name.set(listing.keep(entry.name));
        out.cookie = entry.cookie;
        return true;
      });
  READDIR3res result = failed<nfs3::Readdir>(got.status);
  finish(got, request.fsid(), listing, result, result.READDIR3res_u.resok, result.READDIR3res_u.resfail);
  return result;
}

entryplus3 entry_of(const Request<nfs3::Readdirplus>& request, const DirectoryEntry& entry, std::string_view name) {
  entryplus3 out{};
  out.fileid = entry.fileid;
  out.name.set(name);
  out.cookie = entry.cookie;
  out.name_attributes = to_wire(entry.attributes, request.fsid());
  if (!entry.node.empty()) out.name_handle = optional_handle(request.handle(entry.node));
  return out;
}

std::uint32_t size_of(const entryplus3& entry) noexcept {
  std::uint32_t size = kFollows + kEntry + pad4(entry.name.length) + 4 + 4;
  if (entry.name_attributes.attributes_follow) size += 84;
  if (entry.name_handle.handle_follows) size += 4 + pad4(entry.name_handle.post_op_fh3_u.handle.length);
  return size;
}

/// RFC 1813 section 3.3.17: maxcount bounds the whole result, dircount only fileids, names and cookies. The first
/// entry may exceed dircount, or a client that asks for little would never come on.
READDIRPLUS3res readdirplus(const Request<nfs3::Readdirplus>& request, Listing<entryplus3>& listing) {
  const std::uint32_t limit = listing.limit_of(request.args);
  if (limit < kAround) return failed<nfs3::Readdirplus>(Status::toosmall);
  std::uint32_t used = kAround;
  std::uint32_t names = 0;
  listing.start(limit);
  const DirectoryResult got = request.fs().read_directory(
      request.caller, request.target.node, request_of(request.args.cookie, request.args.cookieverf, true),
      [&](const DirectoryEntry& entry) {
        entryplus3 out = entry_of(request, entry, entry.name);
        const std::uint32_t name = kEntry + pad4(out.name.length);
        const bool first = listing.entries.empty();
        if (size_of(out) > limit - used) return false;
        if (!first && (names > request.args.dircount || name > request.args.dircount - names)) return false;
        used += size_of(out);
        names += name;
        out.name.set(listing.keep(entry.name));
        listing.entries.push_back(out);
        return true;
      });
  READDIRPLUS3res result = failed<nfs3::Readdirplus>(got.status);
  finish(got, request.fsid(), listing, result, result.READDIRPLUS3res_u.resok, result.READDIRPLUS3res_u.resfail);
  return result;
}

}  // namespace

void NfsService::Impl::add_listing_procedures(rpc::Dispatcher& dispatcher) {
  const auto directory = [](const auto& args) -> const nfs_fh3& { return args.dir; };
  on<nfs3::Readdir, Listing<entry3>>(dispatcher, Effect::reads, directory, &readdir);
  on<nfs3::Readdirplus, Listing<entryplus3>>(dispatcher, Effect::reads, directory, &readdirplus);
}

}  // namespace rpcrdma::nfsd
