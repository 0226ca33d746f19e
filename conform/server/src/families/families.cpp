// SPDX-License-Identifier: BSD-3-Clause
#include "families/families.hpp"

namespace rpcrdma::conform {

void add_families(const MakeFamily& make) {
  add_private_data(make);
  add_thresholds(make);
  add_credits(make);
  add_header(make);
  add_chunk_lists(make);
  add_read_chunks(make);
  add_write_chunks(make);
  add_reply_chunks(make);
  add_long_calls(make);
  add_invalidation(make);
  add_errors(make);
  add_reverse(make);
  add_rpc(make);
  add_mount(make);
  add_nfs(make);
  add_limits(make);
  add_stalls(make);
  add_reconnect(make);
  add_always(make);
}

}  // namespace rpcrdma::conform
