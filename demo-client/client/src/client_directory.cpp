// SPDX-License-Identifier: BSD-3-Clause
// Operation: READDIRPLUS or READDIR (RFC 1813 sections 3.3.16 and 3.3.17), one call for each page.
// Ownership: entries are copied out of the reply.
// Error handling: see client.hpp. A page that does not advance the cookie and is not the last one is malformed.
#include "client_impl.hpp"
#include "rpcrdma/nfs/convert.hpp"

namespace rpcrdma::nfs {
namespace {

constexpr std::uint32_t kPageOctets = 65536;

DirectoryEntry entry_of(const entryplus3& from) {
  return {std::string(from.name.view()), from.fileid, from_wire(from.name_attributes), from_wire(from.name_handle)};
}
DirectoryEntry entry_of(const entry3& from) { return {std::string(from.name.view()), from.fileid, {}, {}}; }

template <class Reply>
Result<Client::Page> page_of(const Reply& reply, std::uint64_t from) {
  Client::Page page;
  page.end = reply.reply.eof != FALSE;
  page.next.cookie = from;
  page.next.verifier = from_wire(reply.cookieverf);
  const auto& list = reply.reply.entries;
  for (std::uint32_t i = 0; i < list.count; ++i) {
    page.next.cookie = list.items[i].cookie;
    const std::string_view name = list.items[i].name.view();
    if (name != "." && name != "..") page.entries.push_back(entry_of(list.items[i]));
  }
  if (page.next.cookie == from && !page.end) return make_error_code(ClientError::malformed_reply);
  return page;
}

Task<Client::Page> with_attributes(Client::Impl& impl, FileHandle directory, Client::Position from) {
  READDIRPLUS3args args{};
  args.dir = to_wire(directory);
  args.cookie = from.cookie;
  to_wire(from.verifier, args.cookieverf);
  args.dircount = kPageOctets;
  args.maxcount = kPageOctets;
  rpc::Decoded<READDIRPLUS3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Readdirplus>(impl, args, reply)) co_return failed;
  co_return page_of(reply->READDIRPLUS3res_u.resok, from.cookie);
}

Task<Client::Page> names_only(Client::Impl& impl, FileHandle directory, Client::Position from) {
  READDIR3args args{};
  args.dir = to_wire(directory);
  args.cookie = from.cookie;
  to_wire(from.verifier, args.cookieverf);
  args.count = kPageOctets;
  rpc::Decoded<READDIR3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Readdir>(impl, args, reply)) co_return failed;
  co_return page_of(reply->READDIR3res_u.resok, from.cookie);
}

}  // namespace

Task<Client::Page> Client::read_directory(FileHandle directory, Position from, bool attributes) {
  if (attributes && impl_->has_readdirplus) {
    Result<Page> page = co_await with_attributes(*impl_, directory, from);
    const bool missing =
        !page && (page.error() == Status::notsupp || page.error() == rpc::RpcError::procedure_unavailable);
    if (!missing) co_return page;
    impl_->has_readdirplus = false;
  }
  co_return co_await names_only(*impl_, directory, from);
}

}  // namespace rpcrdma::nfs
