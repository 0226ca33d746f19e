// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Memory for the results of handlers that are plain functions.
#include <fmt/format.h>

#include <cstring>
#include <memory_resource>
#include <span>
#include <string_view>

namespace rpcrdma {

/// Memory to which the result of a handler may point. The memory is valid until the reply has been encoded, and is then
/// reused for later calls. A handler receives a Scratch as its second parameter. The first 1 KiB is a member of this
/// object, so only results that need more memory cause an allocation. Not synchronized.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The formatted text with a terminating zero, for a text_data, or a `string<>` as rpcgen declares it.
  template <class... Args>
  char* format(fmt::format_string<Args...> format, Args&&... args) {
    fmt::memory_buffer text;
    fmt::vformat_to(std::back_inserter(text), format, fmt::make_format_args(args...));
    return copy({text.data(), text.size()});
  }
  /// A copy of `text` with a terminating zero.
  char* copy(std::string_view text) {
    char* const at = array<char>(text.size() + 1).data();
    std::memcpy(at, text.data(), text.size());
    at[text.size()] = '\0';
    return at;
  }
  /// An array of `count` elements, all zero, for an array as rpcgen declares it.
  template <class T>
  requires std::is_trivial_v<T> std::span<T> array(std::size_t count) {
    void* const at = memory_.allocate(count * sizeof(T), alignof(T));
    std::memset(at, 0, count * sizeof(T));
    return {static_cast<T*>(at), count};
  }
  /// Frees all memory. Called when the reply has been encoded.
  void release() noexcept { memory_.release(); }

 private:
  std::byte first_[1024];
  std::pmr::monotonic_buffer_resource memory_{first_, sizeof first_};
};

}  // namespace rpcrdma
