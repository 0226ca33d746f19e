// SPDX-License-Identifier: BSD-3-Clause
// Operation: one Client::read_directory() for each page; the cycle detector checks the last cookie of each page but the
// last page.
// Ownership: a page belongs to the caller.
// Error handling: next() returns the error; the caller then stops reading.
#include "rpcrdma/nfs/directory.hpp"

namespace rpcrdma::nfs {
namespace {

/// The number of empty pages in a row that are permitted. More of them count as an endless listing. read_directory()
/// drops "." and "..", so even a correct server that sends one entry per page causes two empty pages.
constexpr unsigned kMaxEmptyPages = 2;

}  // namespace

Task<Client::Page> DirectoryReader::next() {
  Result<Client::Page> page = co_await client_.read_directory(directory_, position_, attributes_);
  if (!page) co_return page.error();
  position_ = page->next;
  entries_ += page->entries.size();
  empty_pages_ = page->entries.empty() ? empty_pages_ + 1 : 0;
  const bool is_endless = !page->end && (cookies_.repeats(position_.cookie) || empty_pages_ > kMaxEmptyPages);
  if (is_endless || entries_ > max_entries_) co_return make_error_code(ClientError::endless_listing);
  co_return page;
}

void DirectoryReader::rewind() noexcept {
  position_ = {};
  cookies_ = {};
  empty_pages_ = 0;
}

}  // namespace rpcrdma::nfs
