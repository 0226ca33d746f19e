// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

namespace rpcrdma::proxy {

Director::Director(Script script, std::uint64_t seed) : script_(std::move(script)), seed_(seed) {
  for (const Rule& rule : script_.rules) left_.push_back(rule.times);
}

Plan::Plan(Director& director, std::uint32_t connection)
    : director_(director), connection_(connection), rules_(director.script_.rules) {
  if (director.script_.random) {
    const auto chosen = random_rules(*director.script_.random, director.seed_, connection);
    rules_.insert(rules_.end(), chosen.begin(), chosen.end());
  }
  seen_.resize(rules_.size());
  turns_.resize(rules_.size());
}

std::vector<Fault> Plan::judge(Side side, const Frame& frame) {
  std::vector<Fault> out;
  const auto answered = remember(side, frame);
  if (!frame.first) return out;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (!matches(rule, side, frame, answered)) continue;
    const std::uint32_t number = ++seen_[i][static_cast<std::size_t>(side)];
    if (number < rule.nth || number - rule.nth >= rule.count || !takes_turn(i)) continue;
    out.push_back({rule, Dice(director_.seed_, {connection_, i + 1, static_cast<std::uint64_t>(side), number}), number,
                   number == rule.nth});
  }
  return out;
}

/// Whether the rule may act on this connection. A rule of the script may act on at most Rule::times connections. Its
/// first action on a connection uses up one of them, and its later actions on that connection use up none.
bool Plan::takes_turn(std::size_t index) {
  // left_ covers the rules of the script. The rules after them were generated from the seed for this connection alone,
  // and `times` does not limit them.
  if (index >= director_.left_.size()) return true;
  std::uint32_t& left = director_.left_[index];
  if (turns_[index] == Turn::open) {
    turns_[index] = left == 0 ? Turn::used_up : Turn::acts;
    if (left != 0) --left;
  }
  return turns_[index] == Turn::acts;
}

bool Plan::matches(const Rule& rule, Side side, const Frame& frame, const std::optional<Procedure>& answered) const {
  if (rule.connection != 0 && rule.connection != connection_) return false;
  if (rule.action == Action::drop_reply)
    return answered && is_non_idempotent(*answered) && (!rule.procedure || *rule.procedure == answered->number);
  return (!rule.kind || *rule.kind == frame.kind) && (!rule.side || *rule.side == side);
}

/// Remembers the procedure of a call. For a reply, returns the procedure of its call, if known, and forgets it.
std::optional<Procedure> Plan::remember(Side side, const Frame& frame) {
  if (!frame.rpc) return std::nullopt;
  const RpcMessage& rpc = *frame.rpc;
  if (side == Side::to_server && rpc.is_call && rpc.procedure) {
    if (calls_.insert_or_assign(rpc.xid, *rpc.procedure).second) order_.push_back(rpc.xid);
    if (order_.size() > kMaxCalls) {
      calls_.erase(order_.front());
      order_.pop_front();
    }
  }
  if (side != Side::to_client || rpc.is_call) return std::nullopt;
  const auto found = calls_.find(rpc.xid);
  if (found == calls_.end()) return std::nullopt;
  const Procedure procedure = found->second;
  calls_.erase(found);
  std::erase(order_, rpc.xid);
  return procedure;
}

}  // namespace rpcrdma::proxy
