// SPDX-License-Identifier: BSD-3-Clause
#include "bed.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

#include "support/pattern.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

awaitable<void> serve_fetch(ServerCall<hello::Fetch> call) {
  const fetch_args args = call.args();
  if (args.count == 0) co_return call.reply({});
  co_await call.async_reserve(args.count, asio::use_awaitable);
  auto data = std::make_unique<memory::RegisteredBuffer>(call.pool().allocate(args.count).value());
  fill_pattern(data->octets(), args.seed);
  const BufferRef part = data->ref();
  fetch_result result{};
  result.data.set_parts({&part, 1});
  call.reply(result, [data = std::move(data)](error_code) {});
}

awaitable<void> serve_store(ServerCall<hello::Store> call) {
  const bulk_data& data = call.args().data;
  store_result result{data.length, TRUE};
  if (data.length != 0) {
    co_await call.async_reserve(data.length, asio::use_awaitable);
    const memory::RegisteredBuffer to = call.pool().allocate(data.length).value();
    const BufferRef part = to.ref();
    co_await call.async_fetch(data, {&part, 1}, asio::use_awaitable);
    std::vector<std::byte> expected(data.length);
    fill_pattern(expected, call.args().seed);
    result.right = std::ranges::equal(to.octets(), expected) ? TRUE : FALSE;
  }
  call.reply(result);
}

void fail(u_int how) {
  if (how == 0) throw Rejection(AcceptStat::garbage_args);
  if (how == 1) throw Rejection(AuthStat::too_weak);
  if (how == 2) throw std::runtime_error("how is 2");
}

}  // namespace

Bed::Bed(unsigned threads, transport::VersionChoice version) {
  server.emplace(
      ServerOptions{.listen = {"iwarp@127.0.0.1:0", "tcp@127.0.0.1"}, .threads = threads, .version = version});
  serve();
  server->start();
}

Bed::~Bed() {
  server->stop(std::chrono::milliseconds(0));
  held.clear();
}

std::string Bed::at(std::string_view fabric) const {
  for (const Server::Listener& listener : server->listeners())
    if (listener.fabric == fabric) return listener.text();
  throw std::logic_error("no such listener");
}

void Bed::await_held(std::size_t count) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return held.size() >= count; });
}

void Bed::answer_held() {
  const std::lock_guard lock(mutex);
  for (auto& call : held) call.reply({});
  held.clear();
}

void Bed::serve() {
  server->on<hello::Greet>([](const greet_args& args, Scratch& scratch) {
    return greet_result{scratch.format("Hello, {}!", args.name.view()), scratch.copy(args.name.view().substr(0, 32))};
  });
  server->on<hello::Fetch>(serve_fetch);
  server->on<hello::Store>(serve_store);
  server->on<hello::Add>([this](u_int add) { return total += add; });
  server->on<hello::Hang>([this](ServerCall<hello::Hang> call) {
    const std::lock_guard lock(mutex);
    held.push_back(std::move(call));
    changed.notify_all();
  });
  server->on<hello::Fail>(fail);
  server->on<hello::Who>([](ServerCall<hello::Who> call) { call.reply(call.credential().uid); });
  server->on<hello::Watch>([this](ServerCall<hello::Watch> call) {
    const std::lock_guard lock(mutex);
    watchers.push_back(call.reverse_client());
    changed.notify_all();
    call.reply({});
  });
}

}  // namespace rpcrdma::test
