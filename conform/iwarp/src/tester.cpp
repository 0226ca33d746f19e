// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/iwarp/tester.hpp"

#include "families.hpp"

namespace rpcrdma::conform {

struct IwarpTester::State {
  IwarpOptions options;
  Suite suite;
};

IwarpTester::IwarpTester(IwarpOptions options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.options = std::move(options);
  iwarp::add_families([&state](const char* name) {
    return iwarp::IwarpFamily(state.suite, name, [&state](Record& record, const iwarp::IwarpFamily::Body& body) {
      iwarp::Peer peer(state.options, record);
      body(peer);
    });
  });
}

IwarpTester::~IwarpTester() = default;

const Suite& IwarpTester::suite() const noexcept { return state_->suite; }

std::string IwarpTester::check_health() {
  Record unused;
  try {
    iwarp::Peer peer(state_->options, unused);
    peer.start();
    peer.expect_alive();
  } catch (const std::exception& failed) {
    return std::string("a new connection is not served: ") + failed.what();
  }
  return {};
}

namespace iwarp {

void add_families(const MakeFamily& make) {
  add_requests(make);
  add_bad_requests(make);
  add_enhanced(make);
  add_fpdus(make);
  add_ddp(make);
  add_rdmap(make);
  add_violations(make);
  add_terminates(make);
  add_closing(make);
}

}  // namespace iwarp
}  // namespace rpcrdma::conform
