// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// RPCRDMA_EXPORT marks the symbols that librpcrdma.so exports: the classes and functions of installed headers that are
// not inline. All other symbols are compiled with hidden visibility.
#define RPCRDMA_EXPORT __attribute__((visibility("default")))
// RPCRDMA_HIDDEN keeps a private class that is declared within an exported class from being exported.
#define RPCRDMA_HIDDEN __attribute__((visibility("hidden")))
