// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What get and put share.
#include <string>

#include "commands/context.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::commands {

/// Draws the progress bar and reports what could not be copied.
class TransferObserver final : public nfs::CopyObserver {
 public:
  /// Paths in a tree are reported below `base`.
  TransferObserver(Reporter& report, std::string base) : report_(report), base_(std::move(base)) {
    report_.set_progress(&progress_);
  }
  ~TransferObserver() { report_.set_progress(nullptr); }
  TransferObserver(const TransferObserver&) = delete;
  TransferObserver& operator=(const TransferObserver&) = delete;

  void on_found(std::uint64_t octets) override { progress_.expect(octets); }
  void on_moved(std::uint64_t octets) override { progress_.moved(octets); }
  void on_file_done() override { progress_.file_done(); }
  void on_kept(std::uint64_t octets) override { progress_.keep(octets); }
  void on_unfinished() override { report_.remark(" (unfinished, and nobody may write to it: --resume goes on)"); }
  void on_problem(std::string_view path, const error_code& why) override {
    report_.fail(path.empty() ? base_ : base_ + '/' + std::string(path), why);
  }
  /// "3 files, 4096 bytes, 12.3 MB/s", a line; what was there already is told apart. Takes the progress bar away.
  std::string summary() {
    progress_.finish();
    return progress_.summary();
  }

 private:
  Reporter& report_;
  Progress progress_;
  std::string base_;
};

/// The last component of a local path; empty when it names no entry of a directory ("/", ".", "a/..").
std::string entry_name(std::string_view path);
/// All before the last component: "a" for "a/b", "." for "b", "/" for "/b".
std::string parent_path(std::string_view path);

}  // namespace rpcrdma::commands
