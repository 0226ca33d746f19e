// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <utility>

namespace rpcrdma {

/// Formats a message of a program, and writes it to stderr. Unlike fmt::print(), does not throw if stderr cannot be
/// written, for example because its disk is full: a program that serves or copies continues.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace rpcrdma
