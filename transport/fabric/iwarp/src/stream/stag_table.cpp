// SPDX-License-Identifier: BSD-3-Clause
#include "stream/stag_table.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace rpcrdma::fabric::iwarp {
namespace {

constexpr std::size_t kFirstSize = 1024;

}  // namespace

StagTable::StagTable() : slots_(kFirstSize) {
  if (const int error = refill()) throw std::system_error(error, std::generic_category(), "getrandom");
}

// [5040-8.1.1-c] [8166-8.1.2-a] STags are random, so that a peer cannot predict them
int StagTable::refill() noexcept {
  auto* at = reinterpret_cast<char*>(random_.data());
  for (std::size_t got = 0; got < sizeof random_;) {
    const ssize_t n = ::getrandom(at + got, sizeof random_ - got, 0);
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  random_left_ = random_.size();
  return 0;
}

std::uint32_t StagTable::random() noexcept {
  // refill() succeeded in the constructor, and getrandom() does not fail later.
  while (random_left_ == 0) refill();
  return random_[--random_left_];
}

std::uint32_t StagTable::draw() noexcept {
  for (;;) {
    const std::uint32_t stag = random();
    if (stag != 0 && find(stag) == nullptr) return stag;
  }
}

std::uint64_t StagTable::draw_offset() noexcept {
  return (std::uint64_t{random()} << 32 | random()) & 0x00007ffffffff000u;
}

/// The slot that holds `stag`, or the free slot where the search for `stag` ends.
std::size_t StagTable::slot_of(std::uint32_t stag) const noexcept {
  std::size_t at = stag & mask();
  while (slots_[at].exposure != nullptr && slots_[at].stag != stag) at = (at + 1) & mask();
  return at;
}

Exposure* StagTable::find(std::uint32_t stag) const noexcept { return slots_[slot_of(stag)].exposure; }

void StagTable::place(std::uint32_t stag, Exposure& exposure) noexcept { slots_[slot_of(stag)] = {stag, &exposure}; }

std::uint32_t StagTable::insert(Exposure& exposure) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  const std::uint32_t stag = draw();
  place(stag, exposure);
  ++used_;
  return stag;
}

void StagTable::erase(std::uint32_t stag) noexcept {
  std::size_t hole = slot_of(stag);
  if (slots_[hole].exposure == nullptr) return;
  slots_[hole] = {};
  --used_;
  // A search ends at the first free slot. Therefore each entry between the hole and the next free slot is taken out and
  // placed where a search now finds it.
  for (std::size_t at = (hole + 1) & mask(); slots_[at].exposure != nullptr; at = (at + 1) & mask()) {
    const Slot moved = slots_[at];
    slots_[at] = {};
    place(moved.stag, *moved.exposure);
  }
}

void StagTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.exposure != nullptr) place(slot.stag, *slot.exposure);
}

}  // namespace rpcrdma::fabric::iwarp
