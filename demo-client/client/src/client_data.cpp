// SPDX-License-Identifier: BSD-3-Clause
// Operation: READ, WRITE and COMMIT (RFC 1813 sections 3.3.6, 3.3.7 and 3.3.21). During the call the server reads or
// writes the caller's registered buffer. Only data that is sent inline may be copied.
// Ownership: the caller owns the buffer; once the call completes the server cannot access it any more.
// Error handling: see client.hpp; inconsistent counts are ClientError::malformed_reply.
#include "client_impl.hpp"
#include "rpcrdma/nfs/convert.hpp"

namespace rpcrdma::nfs {

Task<Client::ReadResult> Client::read(FileHandle file, std::uint64_t offset, BufferRef into) {
  const READ3args args{to_wire(file), offset, into.size};
  rpc::CallOptions options;
  options.into({&into, 1});
  rpc::Decoded<READ3res> reply;
  if (const error_code failed = co_await call_over<rpc::nfs3::Read>(impl_->bulk_rpc(), *impl_, args, options, reply))
    co_return failed;
  const READ3resok& read = reply->READ3res_u.resok;
  if (read.count != read.data.length || read.count > into.size) co_return make_error_code(ClientError::malformed_reply);
  co_return ReadResult{read.count, read.eof != FALSE};
}

Task<Client::WriteResult> Client::write(FileHandle file, std::uint64_t offset, BufferRef from, Stable stability) {
  WRITE3args args{};
  args.file = to_wire(file);
  args.offset = offset;
  args.count = from.size;
  args.stable = static_cast<stable_how>(stability);
  args.data.set_parts({&from, 1});
  rpc::Decoded<WRITE3res> reply;
  if (const error_code failed =
          co_await call_over<rpc::nfs3::Write>(impl_->bulk_rpc(), *impl_, args, kNoOptions, reply))
    co_return failed;
  const WRITE3resok& written = reply->WRITE3res_u.resok;
  if (written.count > from.size) co_return make_error_code(ClientError::malformed_reply);
  co_return WriteResult{written.count, static_cast<Stable>(written.committed), from_wire(written.verf)};
}

Task<Verifier> Client::commit(FileHandle file) {
  const COMMIT3args args{to_wire(file), 0, 0};
  rpc::Decoded<COMMIT3res> reply;
  if (const error_code failed = co_await call<rpc::nfs3::Commit>(*impl_, args, reply)) co_return failed;
  co_return from_wire(reply->COMMIT3res_u.resok.verf);
}

}  // namespace rpcrdma::nfs
