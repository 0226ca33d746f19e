// SPDX-License-Identifier: BSD-3-Clause
// Clients that stop in the middle of a call, send nothing or disappear, while others must be served. A Stalled client
// has a fabric of its own, whose io_context does not run once a call has been sent. RDMA hardware still answers RDMA
// Reads of the client's memory.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// A client that sends a call and then processes no more events, so that the server waits for it.
class Stalled {
 public:
  explicit Stalled(Session& s) {
    network_.server = s.network().server;
    network_.patience = s.network().patience;
    network_.next_xid = s.new_xid() ^ 0x80000000;
    auto opened = fabric::open(network_.context, network_.server.address(), s.options().fabric, Log());
    if (!opened) Record::skip("a second fabric cannot be opened: " + opened.error().message());
    network_.fabric = std::move(*opened);
    session_ = std::make_unique<Session>(network_, s.options(), s.missing_or_files(), record_);
    session_->connection();
  }
  Session& session() noexcept { return *session_; }
  /// Sends `call`, and then runs the handlers of the client's io_context that are ready. Afterwards the client
  /// processes no events until send_and_stop() is used again.
  void send_and_stop(const Outgoing& call) {
    session_->send(call);
    network_.context.restart();
    network_.context.poll();
  }

 private:
  Network network_;
  Record record_;
  std::unique_ptr<Session> session_;
};

/// Makes calls on each of two new connections, to check that the server still serves other clients.
void expect_service(Session& s) {
  for (int connections = 0; connections < 2; ++connections) {
    s.connect_and_call();
    for (int i = 0; i < 20; ++i) s.expect_alive();
    if (s.options().program == Program::null) continue;
    const Files& files = s.files();
    Outgoing read = s.nfs(nfs::kRead, nfs::read_args(files.data, 0, 4096));
    const Memory& memory = s.writable(4096);
    read.header.lists.writes = {{memory.segment()}};
    s.send(read);
    Record::expect(length_of(s.answer_to(read.xid()).header.lists.writes.at(0)) == 4096, "READ is not complete");
    Outgoing write =
        s.nfs(nfs::kWrite, nfs::write_args_head(s.make_file(fmt::format("fair-{}", s.new_xid())), 0, 4096));
    write.header.lists.reads = {{write.end(), s.readable(pattern(4096, 2)).segment()}};
    Record::expect(nfs::decode_write(s.call(write)).status == nfs::kOk, "WRITE failed");
  }
}

}  // namespace

void add_stalls(const MakeFamily& make) {
  ServerFamily family = make("stalls");
  const char* const required = "other clients are served meanwhile";
  family.robust("read-not-answered", "8166-8.1.4-a", "WRITE whose RDMA Read the client does not answer", required,
                [](Session& s) {
                  Stalled stalled(s);
                  Session& other = stalled.session();
                  Outgoing call = other.nfs(nfs::kWrite, nfs::write_args_head(s.files().data, 1u << 20, 65536));
                  call.header.lists.reads = {{call.end(), other.readable(Bytes(65536)).segment()}};
                  stalled.send_and_stop(call);
                  expect_service(s);
                });
  family.robust("long-call-not-answered", "8166-8.1.4-a", "a long NULL call whose RDMA Read the client does not answer",
                required, [](Session& s) {
                  Stalled stalled(s);
                  stalled.send_and_stop(stalled.session().long_call(stalled.session().null()));
                  expect_service(s);
                });
  family.robust("many-reads-not-answered", "8166-8.1.4-a", "8 clients with WRITEs whose RDMA Reads they do not answer",
                required, [](Session& s) {
                  std::vector<std::unique_ptr<Stalled>> stalled;
                  for (int i = 0; i < 8; ++i) {
                    Session& other = stalled.emplace_back(std::make_unique<Stalled>(s))->session();
                    Outgoing call = other.nfs(nfs::kWrite, nfs::write_args_head(s.files().data, 1u << 20, 65536));
                    call.header.lists.reads = {{call.end(), other.readable(Bytes(65536)).segment()}};
                    stalled.back()->send_and_stop(call);
                  }
                  expect_service(s);
                });
  family.robust("replies-not-read", "", "READs with Write chunks, as many as granted, by a client that takes no reply",
                required, [](Session& s) {
                  Stalled stalled(s);
                  Session& other = stalled.session();
                  const std::uint32_t calls = std::min(other.connection().granted(), 32u);
                  for (std::uint32_t i = 0; i < calls; ++i) {
                    Outgoing read = other.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 10003));
                    read.header.lists.writes = {{other.writable(10003).segment()}};
                    stalled.send_and_stop(read);
                  }
                  expect_service(s);
                });
  family.robust("connected-and-silent", "", "10 clients that connect and send nothing", required, [](Session& s) {
    std::vector<std::unique_ptr<Connection>> silent;
    for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<Connection>(s.network()));
    expect_service(s);
  });
  family.robust("gone-in-mid-read", "8166-4.5.4-b", "WRITE whose client aborts the connection while the server reads",
                required, [](Session& s) {
                  for (int i = 0; i < 5; ++i) {
                    s.connect_and_call();
                    Outgoing call = s.nfs(nfs::kWrite, nfs::write_args_head(s.files().data, 1u << 20, 65536));
                    call.header.lists.reads = {{call.end(), s.readable(Bytes(65536)).segment()}};
                    s.send(call);
                    s.connection().abort();
                  }
                  expect_service(s);
                });
  family.robust("gone-before-the-replies", "8166-4.5.4-b",
                "NULL calls, as many as granted, whose client aborts the connection at once", required, [](Session& s) {
                  for (int i = 0; i < 5; ++i) {
                    const std::uint32_t calls = std::min(s.connect_and_call().granted(), 32u);
                    for (std::uint32_t call = 0; call < calls; ++call) s.send(s.null());
                    s.connection().abort();
                  }
                  expect_service(s);
                });
}

}  // namespace rpcrdma::conform
