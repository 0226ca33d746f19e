// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Common parts of get and put.
#include <string>

#include "commands/context.hpp"
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::commands {

/// Draws the progress bar and reports files that could not be copied.
class TransferObserver final : public nfs::CopyObserver {
 public:
  /// `base` is the path of the file or tree that is copied. on_problem() appends its `path` to `base`, because that
  /// path is relative to the tree. An empty `path` means `base` itself.
  TransferObserver(Reporter& report, std::string base) : report_(report), base_(std::move(base)) {
    report_.set_progress(&progress_);
  }
  ~TransferObserver() { report_.set_progress(nullptr); }
  TransferObserver(const TransferObserver&) = delete;
  TransferObserver& operator=(const TransferObserver&) = delete;

  void on_found(std::uint64_t bytes) override { progress_.expect(bytes); }
  void on_moved(std::uint64_t bytes) override { progress_.moved(bytes); }
  void on_file_done() override { progress_.file_done(); }
  void on_kept(std::uint64_t bytes) override { progress_.keep(bytes); }
  void on_unfinished() override { report_.remark(" (incomplete and write-protected: continue with --resume)"); }
  void on_problem(std::string_view path, const error_code& why) override {
    report_.fail(path.empty() ? base_ : base_ + '/' + std::string(path), why);
  }
  /// Ends the line of the bar; returns the summary "3 files, 4096 bytes, 12.3 MB/s". Bytes that an earlier transfer
  /// copied are given separately.
  std::string summary() {
    progress_.finish();
    return progress_.summary();
  }

 private:
  Reporter& report_;
  Progress progress_;
  std::string base_;
};

/// An error of a local file, by its errno value.
inline error_code local_error(int number) { return {number, boost::system::generic_category()}; }

/// The last component of a local path; empty if it names no entry of a directory ("/", ".", "a/..").
std::string entry_name(std::string_view path);
/// The part before the last component: "a" for "a/b", "." for "b", "/" for "/b".
std::string parent_path(std::string_view path);

}  // namespace rpcrdma::commands
