// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// RPCRDMA_EXPORT marks the classes and functions of installed C++ headers that librpcrdma.so exports: those that are
// not inline. The library is compiled with hidden visibility.
#define RPCRDMA_EXPORT __attribute__((visibility("default")))
// RPCRDMA_HIDDEN keeps a member of an exported class, such as a nested class, from being exported.
#define RPCRDMA_HIDDEN __attribute__((visibility("hidden")))
