// SPDX-License-Identifier: BSD-3-Clause
#include "captured_subject.hpp"

#include "material.hpp"
#include "rpcrdma_subject.hpp"

namespace rpcrdma::bench {
namespace {

class Captured final : public Subject {
 public:
  Captured(Setting setting, CapturedSide side) {
    (side == CapturedSide::server ? setting.server_capture : setting.client_capture) = folder_.path() / "null.pcapng";
    inner_ = make_rpcrdma(setting);
  }

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    return inner_->run(which, budget);
  }
  Usage usage() override { return inner_->usage(); }

 private:
  TemporaryDirectory folder_;
  std::unique_ptr<Subject> inner_;
};

}  // namespace

std::unique_ptr<Subject> make_captured(const Setting& setting, CapturedSide side) {
  return std::make_unique<Captured>(setting, side);
}

}  // namespace rpcrdma::bench
