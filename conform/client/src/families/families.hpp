// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The families of cases. To add a family, add a function here, its definition in a source, and its name in
// add_families().
#include "trial.hpp"

namespace rpcrdma::conform::client {

/// The cases of one family. Each case has a Trial, except those of add_plain().
class ClientFamily {
 public:
  using Body = std::function<void(Trial&)>;  ///< the code of a case
  ClientFamily(Suite& suite, Stage& stage, std::string name) : suite_(suite), stage_(stage), name_(std::move(name)) {}

  void must(std::string name, std::string rules, std::string sends, std::string required, Body body) {
    add(Level::must, name, std::move(rules), std::move(sends), std::move(required), std::move(body));
  }
  void should(std::string name, std::string rules, std::string sends, std::string required, Body body) {
    add(Level::should, name, std::move(rules), std::move(sends), std::move(required), std::move(body));
  }
  void robust(std::string name, std::string rules, std::string sends, std::string required, Body body) {
    add(Level::robustness, name, std::move(rules), std::move(sends), std::move(required), std::move(body));
  }
  void add(Level level, const std::string& name, std::string rules, std::string sends, std::string required, Body body);
  /// Adds a case that does not run the command.
  void add_plain(Level level, const std::string& name, std::string rules, std::string sends, std::string required,
                 std::function<void(Record&, const Stage&)> body);

 private:
  Suite& suite_;
  Stage& stage_;
  std::string name_;
};

/// Makes a family of this name.
using MakeFamily = std::function<ClientFamily(const char* name)>;

// Requirements that many cases share, in words for the report.
inline constexpr const char* kSucceeds = "the message is discarded: the command succeeds";
inline constexpr const char* kCopes = "the command succeeds or fails; it reports success only if the files are right";
inline constexpr const char* kFails = "the command fails";
inline constexpr const char* kEnds = "the command ends, whether it succeeds or fails";

void add_private_data(const MakeFamily& make);
void add_connections(const MakeFamily& make);
void add_stalls(const MakeFamily& make);
void add_headers(const MakeFamily& make);
void add_errors(const MakeFamily& make);
void add_credits(const MakeFamily& make);
void add_write_chunks(const MakeFamily& make);
void add_reply_chunks(const MakeFamily& make);
void add_memory(const MakeFamily& make);
void add_invalidation(const MakeFamily& make);
void add_reverse(const MakeFamily& make);
void add_rpc(const MakeFamily& make);
void add_mount(const MakeFamily& make);
void add_names(const MakeFamily& make);
void add_listings(const MakeFamily& make);
void add_attributes(const MakeFamily& make);
void add_handles(const MakeFamily& make);
void add_links(const MakeFamily& make);
void add_data(const MakeFamily& make);
void add_limits(const MakeFamily& make);
void add_always(const MakeFamily& make);

/// Adds all families. The family "always" is the last, as it reports on the messages of all other cases.
void add_families(Suite& suite, Stage& stage);

}  // namespace rpcrdma::conform::client
