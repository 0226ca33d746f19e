// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::transport {

/// A work context that passes its completion to the member function `Function` of `owner`. The context is itself a
/// member of `owner`.
template <class Owner, void (Owner::*Function)(const fabric::Completion&) noexcept>
class MemberWork final : public fabric::WorkContext {
 public:
  explicit MemberWork(Owner& owner) noexcept : owner_(owner) {}
  MemberWork(const MemberWork&) = delete;
  MemberWork& operator=(const MemberWork&) = delete;
  void on_completion(const fabric::Completion& completion) noexcept override { (owner_.*Function)(completion); }

 private:
  Owner& owner_;
};

}  // namespace rpcrdma::transport
