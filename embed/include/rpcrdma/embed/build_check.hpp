// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Asio is compiled into the library: a program that uses these headers defines the same macros. The CMake targets and
// the pkg-config file of the library set them.
#if !defined(BOOST_ASIO_SEPARATE_COMPILATION)
#error \
    "define BOOST_ASIO_SEPARATE_COMPILATION, as the library does: link rpcrdma::rpc, or use pkg-config --cflags rpcrdma"
#endif
#if !defined(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE) || BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 16
#error "define BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=16, as the library does: it changes the layout of Asio's types"
#endif
