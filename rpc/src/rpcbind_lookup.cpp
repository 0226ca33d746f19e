// SPDX-License-Identifier: BSD-3-Clause
// Operation: one call over TCP, on the event loop.
// Ownership: the coroutine owns the connection.
// Error handling: no_rpcbind if the list of entries cannot be fetched, not_registered if no entry matches.
#include "rpcrdma/rpc/rpcbind_lookup.hpp"

#include <rpc/rpc.h>  // before rpcb_prot.h, which does not compile alone
#include <rpc/rpcb_prot.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>

#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/tcp_requester.hpp"

namespace rpcrdma::rpc {
namespace {

constexpr std::uint32_t kDump = 4;
ReplyBound unbounded(const Void&) { return {}; }
RPCRDMA_PROCEDURE(Dump, (RPCBPROG, RPCBVERS, kDump, "DUMP", 0, 0, true, AuthRequirement::none), Void, xdr_nothing,
                  rpcblist_ptr, xdr_rpcblist_ptr, unbounded);

/// Removes the last dot and the number after it from `text`, and returns the number. Returns more than 255 if there is
/// no such number.
unsigned last_number(std::string_view& text) noexcept {
  const auto dot = text.rfind('.');
  if (dot == std::string_view::npos) return 256;
  unsigned value = 256;
  const char* const end = text.data() + text.size();
  const auto [read, failed] = std::from_chars(text.data() + dot + 1, end, value);
  text = text.substr(0, dot);
  return failed == std::errc() && read == end ? value : 256;
}

}  // namespace

std::optional<std::uint16_t> port_of_universal_address(std::string_view text) noexcept {
  const unsigned low = last_number(text), high = last_number(text);
  if (low > 255 || high > 255 || text.empty()) return std::nullopt;
  return static_cast<std::uint16_t>(high << 8 | low);
}

boost::asio::awaitable<Result<std::uint16_t>> lookup_port(boost::asio::io_context& context,
                                                          boost::asio::ip::tcp::endpoint rpcbind, std::uint32_t program,
                                                          std::uint32_t version, std::string netid,
                                                          std::chrono::milliseconds timeout) {
  const auto connection = TcpRequester::make(context, rpcbind);
  Client client(*connection, context.get_executor(), {.timeout = timeout});
  const auto [failed, list] = co_await client.async_call<Dump>({}, boost::asio::as_tuple(boost::asio::use_awaitable));
  if (failed) co_return make_error_code(RpcError::no_rpcbind);
  for (const rpcblist* entry = *list; entry != nullptr; entry = entry->rpcb_next) {
    const rpcb& map = entry->rpcb_map;
    if (map.r_prog != program || map.r_vers != version || map.r_netid == nullptr || netid != map.r_netid) continue;
    if (const auto port = port_of_universal_address(map.r_addr != nullptr ? map.r_addr : "")) co_return *port;
  }
  co_return make_error_code(RpcError::not_registered);
}

}  // namespace rpcrdma::rpc
