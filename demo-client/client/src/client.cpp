// SPDX-License-Identifier: BSD-3-Clause
#include <boost/asio/post.hpp>

#include "client_impl.hpp"

namespace rpcrdma::nfs {
namespace {

transport::ClientOptions transport_options(const ClientOptions& options) {
  transport::ClientOptions out;
  out.connection.credits = 64;
  out.connection.version = options.version;
  return out;
}

rpc::ClientOptions rpc_options(const ClientOptions& options) {
  rpc::Credential credential = rpc::Credential::of_process();
  if (options.uid && options.gid)
    credential = rpc::Credential::sys(*options.uid, *options.gid, {}, credential.machine());
  return {credential, options.timeout};
}

}  // namespace

boost::asio::awaitable<void> pause(boost::asio::io_context& context, std::chrono::milliseconds time) {
  boost::asio::steady_timer timer(context, time);
  co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

Link::Link(fabric::Fabric& fabric, memory::Pool& pool, const fabric::Endpoint& server, const ClientOptions& options)
    : transport(transport::Client::make(fabric, pool, server, transport_options(options), options.log)),
      rpc(transport->requester(), fabric.context().get_executor(), rpc_options(options)) {}

Client::Impl::Impl(std::unique_ptr<fabric::Fabric> opened, fabric::Endpoint endpoint, ClientOptions client_options)
    : context(opened->context()),
      server(std::move(endpoint)),
      options(std::move(client_options)),
      fabric(std::move(opened)),
      pool(*fabric, memory::within_limit({options.max_registered}, fabric->capabilities(), 1)) {
  links.push_back(std::make_unique<Link>(*fabric, pool, server, options));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// On the client's thread, the connection is not destroyed here, but later by a handler of the io_context. The reason is
// that the completion of the last call often resumes the coroutine that destroys the client. This destructor then runs
// within a function of the connection.
Client::~Client() {
  if (!impl_->context.get_executor().running_in_this_thread()) return;
  boost::asio::io_context& context = impl_->context;
  boost::asio::post(context, [impl = std::move(impl_)] {});
}

boost::asio::awaitable<void> Client::close(std::chrono::milliseconds limit) {
  const auto ended = std::make_shared<boost::asio::steady_timer>(impl_->context, limit);
  const auto open = std::make_shared<std::size_t>(impl_->links.size());
  for (const auto& link : impl_->links)
    link->transport->close([ended, open] {
      if (--*open == 0) ended->cancel();
    });
  co_await ended->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

boost::asio::any_io_executor Client::executor() const { return impl_->context.get_executor(); }
memory::Pool& Client::pool() noexcept { return impl_->pool; }
const fabric::Endpoint& Client::server() const noexcept { return impl_->server; }
std::string_view Client::fabric_name() const noexcept { return impl_->fabric->capabilities().name; }
transport::Characteristics Client::characteristics() const noexcept {
  return impl_->links.front()->transport->exchange().characteristics();
}
std::size_t Client::connections() const noexcept { return impl_->links.size(); }
error_code Client::connection_error() const noexcept {
  for (const auto& link : impl_->links)
    if (const error_code error = link->transport->last_error()) return error;
  return {};
}

}  // namespace rpcrdma::nfs
