// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/server/tester.hpp"

#include <fmt/format.h>

#include "families/families.hpp"
#include "make_files.hpp"

namespace rpcrdma::conform {

struct ServerTester::State {
  ServerOptions options;
  Network network;
  Files files;
  Suite suite;
  Record unused;  // for the calls of `health`, which belong to no case and are not reported
  std::unique_ptr<Session> health;

  Session& session() {
    if (!health) health = std::make_unique<Session>(network, options, files, unused = Record());
    return *health;
  }
  void ordinary_calls() {
    session().expect_alive();
    if (options.program != Program::nfs3) return;
    const Bytes results = session().call(session().file_call(nfs::kGetattr, nfs::handle_args(files.root)));
    const nfs::Getattr root = nfs::decode_getattr(results);
    Record::expect(root.status == nfs::kOk && root.attributes.type == nfs::kDirectory,
                   "GETATTR of the export failed: " + nfs_status(root.status));
  }
};

ServerTester::ServerTester(ServerOptions options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.options = std::move(options);
  state.network.server = state.options.server;
  state.network.patience = state.options.patience;
  state.files.missing = state.options.program == Program::null ? "needs files: run with --program nfs3" : "";
  const MakeFamily make = [&state](const char* name) {
    return ServerFamily(state.suite, name, [&state](Record& record, const ServerFamily::Body& body) {
      Session session(state.network, state.options, state.files, record);
      body(session);
    });
  };
  add_families(make);
}

ServerTester::~ServerTester() {
  if (!state_->network.fabric || state_->files.directory.empty()) return;
  try {
    state_->files.missing.clear();
    remove_files(state_->session(), state_->files);
  } catch (const std::exception&) {
    // A destructor must not throw. If the removal fails, for example because the server no longer answers, files of the
    // tester remain in the export.
  }
}

const Suite& ServerTester::suite() const noexcept { return state_->suite; }

std::string ServerTester::fabric_name() const {
  return state_->network.fabric ? std::string(state_->network.fabric->capabilities().name) : "";
}

std::string ServerTester::reach() {
  State& state = *state_;
  auto opened = fabric::open(state.network.context, state.options.server.address(), state.options.fabric, Log());
  if (!opened) return "cannot open a fabric: " + opened.error().message();
  state.network.fabric = std::move(*opened);
  try {
    state.session().expect_alive();
    if (state.options.program == Program::nfs3) make_files(state.session(), state.files);
  } catch (const std::exception& failed) {
    return failed.what();
  }
  return {};
}

/// Makes ordinary calls on the connection of the earlier checks. If they fail, makes them again on a new connection.
/// Returns the reason if they fail there too, and an empty text if the server serves them.
std::string ServerTester::check_health() {
  for (const bool again : {false, true}) {
    try {
      state_->ordinary_calls();
      return {};
    } catch (const std::exception& failed) {
      state_->health.reset();
      if (again) return fmt::format("the server no longer serves ordinary calls: {}", failed.what());
    }
  }
  return {};
}

}  // namespace rpcrdma::conform
