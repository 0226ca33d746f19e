// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/wire/v2/characteristics.hpp"

namespace rpcrdma::wire::v2 {

/// Each function decodes one object; malformed input makes `in` fail.
void decode(Reader& in, Characteristic& out) noexcept;
void decode(Reader& in, CharacteristicList& out);
void decode(Reader& in, Subset& out);

void encode(Writer& out, const Characteristic& value) noexcept;
void encode(Writer& out, const CharacteristicList& list) noexcept;
void encode(Writer& out, const Subset& subset) noexcept;

}  // namespace rpcrdma::wire::v2
