// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The families of cases, one source each. To add a family, add a function here, a source, and a line in add_families().
#include "session.hpp"

namespace rpcrdma::conform {

using ServerFamily = Family<Session>;
/// Makes a family. Each of its cases gets a Session.
using MakeFamily = std::function<ServerFamily(const char* name)>;

void add_private_data(const MakeFamily& make);
void add_thresholds(const MakeFamily& make);
void add_credits(const MakeFamily& make);
void add_header(const MakeFamily& make);
void add_chunk_lists(const MakeFamily& make);
void add_read_chunks(const MakeFamily& make);
void add_write_chunks(const MakeFamily& make);
void add_reply_chunks(const MakeFamily& make);
void add_long_calls(const MakeFamily& make);
void add_invalidation(const MakeFamily& make);
void add_errors(const MakeFamily& make);
void add_reverse(const MakeFamily& make);
void add_rpc(const MakeFamily& make);
void add_mount(const MakeFamily& make);
void add_nfs(const MakeFamily& make);
void add_limits(const MakeFamily& make);
void add_stalls(const MakeFamily& make);
void add_reconnect(const MakeFamily& make);
void add_always(const MakeFamily& make);

/// Adds all families. The family "always" is the last, as it reports on the messages of all other cases.
void add_families(const MakeFamily& make);

}  // namespace rpcrdma::conform
