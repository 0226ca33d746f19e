// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace rpcrdma {

/// A free list. Owns its objects, and hands them out again without resetting their state. try_take() and give_back() do
/// not allocate memory. Used on one thread.
template <class T>
class Recycler {
 public:
  /// An idle object, the last one given back; null if there is none.
  T* try_take() noexcept {
    if (idle_.empty()) return nullptr;
    T* const object = idle_.back();
    idle_.pop_back();
    return object;
  }
  /// Takes ownership of `object`, which counts as in use until give_back(). Reserves the memory that give_back() needs.
  T& add(std::unique_ptr<T> object) {
    all_.push_back(std::move(object));
    idle_.reserve(all_.capacity());
    return *all_.back();
  }
  void give_back(T& object) noexcept { idle_.push_back(&object); }

  std::size_t size() const noexcept { return all_.size(); }
  std::size_t in_use() const noexcept { return all_.size() - idle_.size(); }
  /// All objects, in use or not.
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
  void clear() noexcept {
    idle_.clear();
    all_.clear();
  }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> idle_;  // has capacity for all objects, so that give_back() allocates no memory
};

}  // namespace rpcrdma
