// SPDX-License-Identifier: BSD-3-Clause
// Calls that are sent again with the same XID, most of them after the connection was lost. Calls that are not
// idempotent must not be executed twice: the first reply is sent again.
#include <fmt/format.h>

#include "families/families.hpp"

namespace rpcrdma::conform {
namespace {

/// Makes a call that must succeed, aborts the connection, and sends the call again on a new one. It must succeed again.
void resend(Session& s, const Outgoing& call) {
  s.send(call);
  const Bytes first = s.results_of(call.xid());
  Record::expect(nfs::status_of(first) == nfs::kOk, "the first time: " + nfs_status(nfs::status_of(first)));
  s.connection().abort();
  s.connect();
  s.send(call);
  const Bytes second = s.results_of(call.xid());
  Record::expect(nfs::status_of(second) == nfs::kOk,
                 fmt::format("the second time: {}: the call was executed again", nfs_status(nfs::status_of(second))));
}

void not_idempotent(ServerFamily& family, const char* name, const char* sends,
                    std::function<Outgoing(Session&)> make_call) {
  family.robust(name, "8166-4.5.3-a", sends, "the reply of the first time: the call is executed once",
                [make_call = std::move(make_call)](Session& s) { resend(s, make_call(s)); });
}

void add_resent(ServerFamily& family) {
  not_idempotent(family, "create", "a GUARDED CREATE, again after the connection was lost", [](Session& s) {
    return s.nfs(nfs::kCreate, nfs::create_args(s.files().directory, "resent-create", 1));
  });
  not_idempotent(family, "mkdir", "MKDIR, again after the connection was lost",
                 [](Session& s) { return s.nfs(nfs::kMkdir, nfs::mkdir_args(s.files().directory, "resent-mkdir")); });
  not_idempotent(family, "symlink", "SYMLINK, again after the connection was lost", [](Session& s) {
    return s.nfs(nfs::kSymlink, nfs::symlink_args(s.files().directory, "resent-symlink", "there"));
  });
  not_idempotent(family, "remove", "REMOVE, again after the connection was lost", [](Session& s) {
    s.make_file("resent-remove");
    return s.nfs(nfs::kRemove, nfs::name_args(s.files().directory, "resent-remove"));
  });
  not_idempotent(family, "rename", "RENAME, again after the connection was lost", [](Session& s) {
    s.make_file("resent-rename");
    const nfs::Handle& directory = s.files().directory;
    return s.nfs(nfs::kRename, nfs::rename_args(directory, "resent-rename", directory, "resent-renamed"));
  });
  not_idempotent(family, "create-again-and-again", "a GUARDED CREATE, sent again on each of three more connections",
                 [](Session& s) {
                   const Outgoing call = s.nfs(nfs::kCreate, nfs::create_args(s.files().directory, "resent-twice", 1));
                   resend(s, call);
                   s.connection().abort();
                   s.connect();
                   return call;
                 });
}

}  // namespace

void add_reconnect(const MakeFamily& make) {
  ServerFamily family = make("reconnect");
  add_resent(family);
  family.robust("reply-lost", "8166-4.5.3-a", "a GUARDED CREATE whose connection is aborted at once; the same again",
                "success: the call is executed once", [](Session& s) {
                  const Outgoing call = s.nfs(nfs::kCreate, nfs::create_args(s.files().directory, "reply-lost", 1));
                  s.send(call);
                  s.connection().abort();
                  s.connect_and_call();
                  s.send(call);
                  const nfs::Object made = nfs::decode_made(s.results_of(call.xid()));
                  Record::expect(made.status == nfs::kOk, nfs_status(made.status));
                });
  family.robust("read-with-a-new-chunk", "8166-4.5.3-a",
                "READ with a Write chunk, again with the same XID and a new chunk after the connection was lost",
                "the data in the new chunk", [](Session& s) {
                  Outgoing read = s.nfs(nfs::kRead, nfs::read_args(s.files().data, 0, 1000));
                  for (int i = 0; i < 2; ++i) {
                    const Memory& memory = s.writable(1000);
                    read.header.lists.writes = {{memory.segment()}};
                    s.send(read);
                    Record::expect(length_of(s.answer_to(read.xid()).header.lists.writes.at(0)) == 1000,
                                   "the READ returned less than 1,000 bytes");
                    Record::expect(
                        memory.bytes() == Bytes(s.files().contents.begin(), s.files().contents.begin() + 1000),
                        "the data differs from the file");
                    s.connection().abort();
                    s.connect();
                  }
                });
  family.must("first-call-of-each-connection", "8166-3.3.3-a 8797-4-b",
              "10 connections, one after the other, a NULL call on each", "each is served, whatever was granted before",
              [](Session& s) {
                for (int i = 0; i < 10; ++i) {
                  s.connect_and_call();
                  s.connection().abort();
                }
              });
  family.robust("same-xid-on-one-connection", "", "a NULL call twice with the same XID, after its reply",
                "both are answered", [](Session& s) {
                  const Outgoing call = s.null();
                  s.call(call);
                  s.call(call);
                });
  family.must("same-xid-on-two-connections", "8167-2.4-b", "NULL calls with the same XID on two connections at once",
              "both are answered", [](Session& s) {
                const Outgoing call = s.null();
                Connection& first = s.connect_and_call();
                Connection& second = s.connect_and_call();
                first.send(call.bytes());
                second.send(call.bytes());
                for (Connection* each : {&first, &second}) {
                  const auto message = each->receive();
                  Record::expect(message && message->header.xid == call.xid(), "no reply on one of the connections");
                }
              });
}

}  // namespace rpcrdma::conform
