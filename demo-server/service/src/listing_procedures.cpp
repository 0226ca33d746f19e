// SPDX-License-Identifier: BSD-3-Clause
// READDIR and READDIRPLUS.
// Operation: the call waits for its share of the bulk budget, which covers the entries and the reply encoded from them;
// then the directory is listed into one buffer of the pool. The limits of a reply apply to encoded bytes, which are
// counted for each entry.
// Ownership: the Transfer holds the buffer until the reply has been sent.
// Error handling: a temporary lack of memory is NFS3ERR_JUKEBOX.
#include "procedures.hpp"
#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

// Encoded sizes in bytes (RFC 1813 sections 3.3.16 and 3.3.17).
constexpr std::uint32_t kPostOpAttributes = 4 + 84;
/// READDIR3resok without its entries: directory attributes, verifier, end of list, eof.
constexpr std::uint32_t kAround = kPostOpAttributes + 8 + 4 + 4;
/// An entry without its name: fileid, name length, cookie.
constexpr std::uint32_t kEntry = 8 + 4 + 8;
constexpr std::uint32_t kFollows = 4;

std::uint32_t limit_of(const READDIR3args& args) noexcept { return std::min(args.count, kMaxListing); }
std::uint32_t limit_of(const READDIRPLUS3args& args) noexcept { return std::min(args.maxcount, kMaxListing); }

/// Returns the size of the buffer for the entries of a reply that has at most `limit` encoded bytes. An entry is longer
/// in this buffer than in the reply. A READDIR entry is up to 8 bytes longer. A READDIRPLUS entry is at most twice as
/// long if it has attributes and a handle, but may be more than twice as long without them. If the buffer is full
/// before the reply has `limit` bytes, the reply ends with the last entry that fits.
constexpr std::uint32_t room_for(std::uint32_t limit) noexcept { return 2 * limit; }
static_assert(sizeof(entryplus3) <= room_for(kAround + kFollows + kEntry + 4 + 4), "the first entry always has room");

/// Entries and their names in one buffer. The entries fill the buffer from its start, and the names from its end.
template <class Entry>
class Listing {
 public:
  explicit Listing(std::span<std::byte> buffer) noexcept
      : first_(reinterpret_cast<Entry*>(buffer.data())), names_(buffer.data() + buffer.size()) {}

  bool empty() const noexcept { return count_ == 0; }
  /// Adds an entry with a copy of its name; false if it does not fit.
  bool add(Entry entry, std::string_view name) noexcept {
    const auto room = static_cast<std::size_t>(names_ - reinterpret_cast<std::byte*>(first_ + count_));
    if (room < sizeof entry + name.size()) return false;
    names_ -= name.size();
    std::memcpy(names_, name.data(), name.size());
    entry.name.set({reinterpret_cast<const char*>(names_), name.size()});
    ::new (first_ + count_++) Entry(entry);
    return true;
  }
  template <class List>
  void give_to(List& list) const noexcept {
    list.count = static_cast<u_int>(count_);
    list.items = first_;
  }

 private:
  static_assert(std::is_trivially_copyable_v<Entry>);
  Entry* first_;
  std::size_t count_ = 0;
  std::byte* names_;
};

DirectoryRequest request_of(std::uint64_t cookie, const cookieverf3& verifier, bool want_nodes) {
  DirectoryRequest request;
  request.cookie = cookie;
  request.want_nodes = want_nodes;
  std::memcpy(request.verifier.data(), verifier, request.verifier.size());
  return request;
}

/// Sets the fields that the results of READDIR and READDIRPLUS have in common. The status is TOOSMALL if not even one
/// entry fits (RFC 1813 section 3.3.16).
template <class Result, class Ok, class Fail, class Entry>
void finish(const DirectoryResult& got, std::uint64_t fsid, const Listing<Entry>& listing, Result& result, Ok& ok,
            Fail& fail) {
  Status status = got.status;
  if (status == Status::ok && listing.empty() && !got.eof) status = Status::toosmall;
  result.status = to_wire(status);
  if (status != Status::ok) {
    fail.dir_attributes = to_wire(got.attributes, fsid);
    return;
  }
  ok.dir_attributes = to_wire(got.attributes, fsid);
  std::memcpy(ok.cookieverf, got.verifier.data(), got.verifier.size());
  listing.give_to(ok.reply.entries);
  ok.reply.eof = got.eof ? TRUE : FALSE;
}

READDIR3res list_into(std::span<std::byte> buffer, const Request<nfs3::Readdir>& request) {
  const std::uint32_t limit = limit_of(request.args);
  std::uint32_t used = kAround;
  Listing<entry3> listing(buffer);
  const DirectoryResult got = request.fs().read_directory(
      request.caller, request.target.node, request_of(request.args.cookie, request.args.cookieverf, false),
      [&](const DirectoryEntry& entry) {
        const std::uint32_t size = kFollows + kEntry + pad4(static_cast<std::uint32_t>(entry.name.size()));
        if (size > limit - used) return false;
        entry3 out{};
        out.fileid = entry.fileid;
        out.cookie = entry.cookie;
        if (!listing.add(out, entry.name)) return false;
        used += size;
        return true;
      });
  READDIR3res result = failed<nfs3::Readdir>(got.status);
  finish(got, request.fsid(), listing, result, result.READDIR3res_u.resok, result.READDIR3res_u.resfail);
  return result;
}

/// Converts an entry of a directory to the form of RFC 1813. Leaves out the name, which Listing::add() sets.
entryplus3 entry_of(const Request<nfs3::Readdirplus>& request, const DirectoryEntry& entry) {
  entryplus3 out{};
  out.fileid = entry.fileid;
  out.cookie = entry.cookie;
  out.name_attributes = to_wire(entry.attributes, request.fsid());
  if (!entry.node.empty()) out.name_handle = optional_handle(request.handle(entry.node));
  return out;
}

std::uint32_t size_of(const entryplus3& entry, std::uint32_t name) noexcept {
  std::uint32_t size = kFollows + name + 4 + 4;
  if (entry.name_attributes.attributes_follow) size += 84;
  if (entry.name_handle.handle_follows) size += 4 + pad4(entry.name_handle.post_op_fh3_u.handle.length);
  return size;
}

/// Makes the result of READDIRPLUS (RFC 1813 section 3.3.17). maxcount limits the size of the whole result, and
/// dircount the size of its fileids, names and cookies. The first entry may exceed dircount, because a client with a
/// small dircount would otherwise get no entry and make no progress.
READDIRPLUS3res list_into(std::span<std::byte> buffer, const Request<nfs3::Readdirplus>& request) {
  const std::uint32_t limit = limit_of(request.args);
  std::uint32_t used = kAround;
  std::uint32_t names = 0;
  Listing<entryplus3> listing(buffer);
  const DirectoryResult got = request.fs().read_directory(
      request.caller, request.target.node, request_of(request.args.cookie, request.args.cookieverf, true),
      [&](const DirectoryEntry& entry) {
        const entryplus3 out = entry_of(request, entry);
        const std::uint32_t name = kEntry + pad4(static_cast<std::uint32_t>(entry.name.size()));
        const std::uint32_t size = size_of(out, name);
        if (size > limit - used) return false;
        const bool within_dircount = names <= request.args.dircount && name <= request.args.dircount - names;
        if (!within_dircount && !listing.empty()) return false;
        if (!listing.add(out, entry.name)) return false;
        used += size;
        names += name;
        return true;
      });
  READDIRPLUS3res result = failed<nfs3::Readdirplus>(got.status);
  finish(got, request.fsid(), listing, result, result.READDIRPLUS3res_u.resok, result.READDIRPLUS3res_u.resfail);
  return result;
}

}  // namespace

template <rpc::Procedure P>
void NfsService::Procedures::list(rpc::ServerCall<P> call) {
  auto taken = take(call, call.args().dir, Effect::reads);
  if (!taken) return call.reply(failed<P>(taken.error()));
  const std::uint32_t limit = limit_of(call.args());
  if (limit < kAround) return call.reply(failed<P>(Status::toosmall));
  auto resume = [this, limit, transfer = std::move(*taken)](rpc::ServerCall<P> resumed) mutable {
    auto buffer = resumed.pool().allocate(room_for(limit));
    if (!buffer) return resumed.reply(failed<P>(Status::jukebox));
    transfer->buffer = std::move(*buffer);
    const Target& target = transfer->target;
    const auto work = [this](rpc::ServerCall<P>& asked, TransferPtr& held, const HandleCodec& codec) {
      const typename P::Result result =
          list_into(held->buffer.octets(), request(asked, held->target, held->caller, codec));
      asked.reply(result, [kept = std::move(held)](error_code) {});
    };
    run(target, answering(std::move(resumed), std::move(transfer), work));
  };
  waits_.reserve(std::move(call), room_for(limit) + limit, std::move(resume));
}

void NfsService::Procedures::add_listing_procedures(rpc::Dispatcher& dispatcher) {
  using ReaddirCall = rpc::ServerCall<nfs3::Readdir>;
  using ReaddirplusCall = rpc::ServerCall<nfs3::Readdirplus>;
  dispatcher.on<nfs3::Readdir>([this](ReaddirCall call) { list(std::move(call)); }, rpc::AuthRequirement::none);
  dispatcher.on<nfs3::Readdirplus>([this](ReaddirplusCall call) { list(std::move(call)); }, rpc::AuthRequirement::none);
}

}  // namespace rpcrdma::nfsd
