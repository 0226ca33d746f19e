// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Pages for file data in memory, cut from slabs that a fabric can register whole. The file that holds a page and
// the replies that send the page share it. The page returns to the store when the last reference is released.
#include <array>
#include <atomic>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rpcrdma::nfsd {

class PageStore;

inline constexpr std::uint32_t kPageSize = 16384;
inline constexpr std::uint32_t kPagesPerSlab = 256;
inline constexpr std::size_t kSlabSize = std::size_t{kPageSize} * kPagesPerSlab;

struct Slab {
  PageStore* store = nullptr;
  std::uint32_t number = 0;  ///< unique among all slabs of the store, from 0
  std::byte* data = nullptr;
  std::array<std::atomic<std::uint32_t>, kPagesPerSlab> references{};
};

/// A reference to a page, or to none. As thread-safe as a shared_ptr.
class Page {
 public:
  Page() noexcept = default;
  Page(const Page& other) noexcept;
  Page(Page&& other) noexcept : slab_(other.slab_), index_(other.index_) { other.slab_ = nullptr; }
  Page& operator=(Page other) noexcept {
    std::swap(slab_, other.slab_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Page() { reset(); }

  explicit operator bool() const noexcept { return slab_ != nullptr; }
  std::byte* data() const noexcept { return slab_->data + std::size_t{index_} * kPageSize; }
  const Slab& slab() const noexcept { return *slab_; }
  /// True if there are other references. Only meaningful while no other thread can copy this one.
  bool shared() const noexcept;
  void reset() noexcept;

 private:
  friend class PageStore;
  Page(Slab* slab, std::uint32_t index) noexcept : slab_(slab), index_(index) {}
  Slab* slab_ = nullptr;
  std::uint32_t index_ = 0;
};

/// A part of a page.
struct PagePart {
  Page page;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  std::span<std::byte> octets() const noexcept { return {page.data() + offset, length}; }
};
/// Consecutive bytes of a file.
using PageRun = boost::container::small_vector<PagePart, 8>;

/// Holds the pages of all memory exports, up to a maximum size. Any thread may call its functions. The store must
/// outlive its pages. A slab keeps its address until the store is destroyed.
class PageStore {
 public:
  /// The store's pages take at most `max_octets` bytes, rounded up to whole slabs. Throws std::bad_alloc if
  /// `max_octets` is 0, or if there is no memory for the first slab.
  explicit PageStore(std::size_t max_octets);
  ~PageStore();
  PageStore(const PageStore&) = delete;
  PageStore& operator=(const PageStore&) = delete;

  /// Appends `count` pages with undefined content to `out` as empty parts. Takes the pages that were returned last,
  /// which may still be in the processor's cache. Returns false and appends nothing if there are too few.
  bool allocate(std::size_t count, PageRun& out);
  /// The page of zeros that stands for a hole; never written.
  Page zeros() const noexcept { return zeros_; }

  std::size_t capacity() const noexcept;  ///< bytes
  std::size_t in_use() const noexcept;    ///< bytes

 private:
  friend class Page;
  struct Free {
    Slab* slab;
    std::uint32_t index;
  };

  bool grow();
  void give_back(Slab& slab, std::uint32_t index) noexcept;

  std::size_t max_pages_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Free> free_;  // a stack, with room for all pages
  Page zeros_;
};

}  // namespace rpcrdma::nfsd
