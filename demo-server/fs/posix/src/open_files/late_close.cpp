// SPDX-License-Identifier: BSD-3-Clause
#include "late_close.hpp"

#include <utility>

namespace rpcrdma::nfsd {
namespace {

thread_local bool defers_close = false;

}  // namespace

LateClose::Hold::Hold() noexcept { defers_close = true; }
LateClose::Hold::~Hold() { defers_close = false; }

std::shared_ptr<OpenFile> LateClose::make() {
  auto file = std::make_unique<OpenFile>();
  return {file.release(), [this](OpenFile* gone) { release(std::unique_ptr<OpenFile>(gone)); }};
}

void LateClose::release(std::unique_ptr<OpenFile> file) noexcept {
  if (!defers_close) return;
  const std::lock_guard lock(mutex_);
  file->next = std::move(waiting_);
  waiting_ = std::move(file);
}

void LateClose::close_all() noexcept {
  std::unique_ptr<OpenFile> file;
  {
    const std::lock_guard lock(mutex_);
    file = std::move(waiting_);
  }
  while (file != nullptr) file = std::move(file->next);
}

}  // namespace rpcrdma::nfsd
