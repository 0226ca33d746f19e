// SPDX-License-Identifier: BSD-3-Clause
// Compiles Asio's own code. No other file compiles it.
#include <boost/asio/impl/src.hpp>
