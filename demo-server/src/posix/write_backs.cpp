// SPDX-License-Identifier: BSD-3-Clause
#include "posix/write_backs.hpp"

namespace rpcrdma::nfsd {

std::shared_ptr<WriteBack> WriteBacks::of(const ObjectId& id) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<WriteBack>& file = files_[id];
  if (file == nullptr) file = std::make_shared<WriteBack>(verifier_);
  return file;
}

void WriteBacks::tidy() {
  const std::lock_guard lock(mutex_);
  // Under the lock nobody else comes by one.
  std::erase_if(files_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

std::size_t WriteBacks::size() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

}  // namespace rpcrdma::nfsd
