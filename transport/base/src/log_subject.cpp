// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/log_subject.hpp"

#include <fmt/format.h>

#include <atomic>

namespace rpcrdma {

std::uint64_t next_connection_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint) {
  const auto& address = endpoint.address();
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                         : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

std::string xid_text(std::uint32_t xid) { return fmt::format("{:08x}", xid); }

std::string text_of(const LogSubject& subject) {
  std::string out;
  const auto add = [&out](std::string_view name, std::string_view value) {
    if (!out.empty()) out += ' ';
    out.append(name).append(value);
  };
  if (subject.connection != 0) add("conn=", std::to_string(subject.connection));
  if (subject.peer.port() != 0) add("peer=", text_of(subject.peer));
  if (!subject.fabric.empty()) add("fabric=", subject.fabric);
  if (subject.xid) add("xid=", xid_text(*subject.xid));
  return out;
}

}  // namespace rpcrdma
