// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// nfs://HOST[:PORT]/EXPORT[/PATH]
#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::nfs {

/// [8267-6.3-b] The port of NFS over RDMA (RFC 8267 section 6.3).
inline constexpr std::uint16_t kDefaultPort = 20049;

/// A server and a path on it. The path begins with the name of an export, which may have several components. The URL
/// does not tell how many: the client asks the server by MOUNT calls (rpcrdma/nfs/path.hpp).
struct Url {
  std::string host;  ///< name or address, without brackets
  std::uint16_t port = kDefaultPort;
  std::vector<std::string> path;  ///< components, unescaped; none is empty, "." or "..", or contains '/' or NUL

  /// The URL as text, with escapes where needed.
  std::string text() const;
  /// The URL of `name` below this path, on the same server.
  Url child(std::string_view name) const;
  bool same_server(const Url& other) const noexcept { return host == other.host && port == other.port; }
};

/// Why a text is not a URL, as a message for the user.
struct UrlError {
  std::string why;
};

/// Parses a URL. An IPv6 address must be in brackets. The path may have percent-escapes; its empty and "." components
/// are dropped.
boost::system::result<Url, UrlError> parse_url(std::string_view text);

/// Parses HOST[:PORT] into the first two members of a Url.
boost::system::result<Url, UrlError> parse_host(std::string_view text);

}  // namespace rpcrdma::nfs
