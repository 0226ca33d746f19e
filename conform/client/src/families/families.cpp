// SPDX-License-Identifier: BSD-3-Clause
#include "families/families.hpp"

namespace rpcrdma::conform::client {

void ClientFamily::add(Level level, const std::string& name, std::string rules, std::string sends, std::string required,
                       Body body) {
  const std::string id = name_ + '/' + name;
  suite_.add({{id, level, std::move(rules), std::move(sends), std::move(required)},
              [&stage = stage_, id, body = std::move(body)](Record& record) {
                Trial trial(stage, record, id);
                body(trial);
              }});
}

void ClientFamily::add_plain(Level level, const std::string& name, std::string rules, std::string sends,
                             std::string required, std::function<void(Record&, const Stage&)> body) {
  suite_.add({{name_ + '/' + name, level, std::move(rules), std::move(sends), std::move(required)},
              [&stage = stage_, body = std::move(body)](Record& record) { body(record, stage); }});
}

void add_families(Suite& suite, Stage& stage) {
  const MakeFamily make = [&](const char* name) { return ClientFamily(suite, stage, name); };
  for (const auto add :
       {add_private_data, add_connections, add_stalls,       add_headers, add_errors, add_credits, add_write_chunks,
        add_reply_chunks, add_memory,      add_invalidation, add_reverse, add_rpc,    add_mount,   add_names,
        add_listings,     add_attributes,  add_handles,      add_links,   add_data,   add_limits,  add_always})
    add(make);
}

}  // namespace rpcrdma::conform::client
