// SPDX-License-Identifier: BSD-3-Clause
// The one place where Asio's own code is compiled.
#include <boost/asio/impl/src.hpp>
