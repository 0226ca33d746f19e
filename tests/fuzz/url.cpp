// SPDX-License-Identifier: BSD-3-Clause
// If the input is a URL, its path components are valid names, and the URL as text parses to the same parts.
#include "rpcrdma/nfs/url.hpp"

#include "input.hpp"
#include "rpcrdma/nfs/node.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma;
  using fuzz::require;
  const std::string_view text = fuzz::text_of(data, size);
  static_cast<void>(nfs::parse_host(text));
  const auto url = nfs::parse_url(text);
  if (!url) {
    require(!url.error().why.empty());
    return 0;
  }
  require(!url->host.empty() && url->port != 0);
  for (const std::string& name : url->path) require(nfs::is_plain_name(name));
  const auto again = nfs::parse_url(url->text());
  require(again && again->same_server(*url) && again->path == url->path);
  require(again->text() == url->text());
  require(url->child("a%/b").path.size() == url->path.size() + 1);
  return 0;
}
