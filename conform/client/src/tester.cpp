// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/conform/client/tester.hpp"

#include <exception>

#include "families/families.hpp"

namespace rpcrdma::conform {

struct ClientTester::State {
  client::Stage stage;
  Suite suite;
};

ClientTester::ClientTester(ClientOptions options) : state_(std::make_unique<State>()) {
  state_->stage.options = std::move(options);
  client::add_families(state_->suite, state_->stage);
}

ClientTester::~ClientTester() = default;

const Suite& ClientTester::suite() const noexcept { return state_->suite; }

std::string ClientTester::reach() {
  client::Stage& stage = state_->stage;
  auto opened = fabric::open(stage.context, stage.options.listen.address(), stage.options.fabric, Log());
  if (!opened) return "cannot open a fabric: " + opened.error().message();
  stage.fabric = std::move(*opened);
  auto listener = stage.fabric->listen(stage.options.listen, [&stage](auto request) {
    if (stage.trial) stage.trial->requested(std::move(request));
  });
  if (!listener) return "cannot listen: " + listener.error().message();
  stage.listener = std::move(*listener);
  stage.watch_interrupts();
  try {
    if (stage.options.mount_port)
      stage.mount_listener = std::make_unique<client::MountListener>(
          stage.context, fabric::Endpoint(stage.options.listen.address(), *stage.options.mount_port),
          [&stage](View call) { return stage.trial ? stage.trial->mount_reply(call) : Bytes(); });
    Record unused;
    return client::Trial(stage, unused, "").run_baseline();
  } catch (const std::exception& failed) {
    return failed.what();
  }
}

}  // namespace rpcrdma::conform
