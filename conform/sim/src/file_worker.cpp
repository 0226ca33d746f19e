// SPDX-License-Identifier: BSD-3-Clause
// Operation: makes each operation, compares its outcome with the outcomes that the model allows, and updates the model.
// Ownership: buffers belong to the operation's frame.
// Error handling: an outcome that the model does not allow is a violation.
#include "file_worker.hpp"

#include <cstring>

namespace rpcrdma::sim {

namespace asio = boost::asio;
using nfs::Status;

namespace {

constexpr std::uint32_t kMaxFile = 40000;

std::string_view text(std::span<const std::byte> octets) {
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

}  // namespace

asio::awaitable<void> FileWorker::run(nfs::Client& client, nfs::FileHandle root, const bool& lost) {
  client_ = &client;
  lost_ = &lost;
  begin("MKDIR", "");
  const Result<nfs::Node> made = co_await client.mkdir(root, name_, 0777);
  if (end(made ? error_code() : made.error(), Status::exist) != Outcome::done) co_return;
  directory_ = made->handle;
  made_ = true;
  for (std::uint32_t left = stage_.setup().operations; left > 0 && !lost && !stage_.trace.failed(); --left)
    co_await operate();
  client_ = nullptr;
}

void FileWorker::begin(std::string_view what, std::string_view name) {
  operation_ = fmt::format("{} {}/{}", what, name_, name);
  lives_ = stage_.server_lives;
  stage_.trace.note("file: {}", operation_);
}

FileWorker::Outcome FileWorker::end(error_code status, error_code already) {
  stage_.trace.note("file: {}: {}", operation_, status.message());
  if (!status) return Outcome::done;
  const bool repeated = already && status == already && lives_ != stage_.server_lives;
  stage_.trace.require(repeated || !stage_.plan.liveness || *lost_, invariant::kAlive, "{} fails: {}", operation_,
                       status.message());
  if (!nfs::is_status(status)) return Outcome::uncertain;
  if (status == Status::jukebox) return Outcome::nothing;
  if (repeated) return Outcome::repeated;
  stage_.trace.require(false, already && status == already ? invariant::kExecutedOnce : invariant::kBytes, "{}: {}",
                       operation_, status.message());
  return Outcome::uncertain;
}

void FileWorker::check_memory(const memory::RegisteredBuffer& memory) {
  const auto octets = memory.octets();
  for (const fabric::LoopbackExposure& exposure : fabric_.exposures()) {
    const bool apart = exposure.memory.data >= octets.data() + octets.size() ||
                       exposure.memory.data + exposure.memory.size <= octets.data();
    stage_.trace.require(apart, invariant::kInvalidated, "memory of {} remains exposed", operation_);
  }
}

void FileWorker::doubt(const std::string& name) {
  files_.erase(name);
  links_.erase(name);
  directories_.erase(name);
  uncertain_.insert(name);
}

const std::string* FileWorker::any_file() {
  if (files_.empty()) return nullptr;
  return &std::next(files_.begin(), random_.below(static_cast<std::uint32_t>(files_.size())))->first;
}

void FileWorker::require_bytes(bool right, std::string_view what, std::string_view name) {
  stage_.trace.require(right, invariant::kBytes, "{} of {}/{}", what, name_, name);
}

asio::awaitable<void> FileWorker::operate() {
  const std::string* const file = any_file();
  const std::uint32_t choice = random_.below(100);
  if (file == nullptr || choice < 15) co_return co_await create();
  const std::string name = *file;
  if (choice < 40) co_return co_await write(name);
  if (choice < 60) co_return co_await read(name);
  if (choice < 65) co_return co_await truncate(name);
  if (choice < 73) co_return co_await remove(name);
  if (choice < 80) co_return co_await rename(name);
  if (choice < 85) co_return co_await make_directory();
  if (choice < 90) co_return co_await make_symlink();
  if (choice < 93) co_return co_await read_link();
  co_await list();
}

asio::awaitable<void> FileWorker::create() {
  const std::string name = new_name();
  begin("CREATE", name);
  nfs::SetAttributes attributes;
  attributes.mode = 0644;
  const Result<nfs::Node> made = co_await client_->create(directory_, name, attributes, true);
  const Outcome outcome = end(made ? error_code() : made.error(), Status::exist);
  if (outcome == Outcome::done) files_[name] = {made->handle, {}};
  if (outcome == Outcome::uncertain || outcome == Outcome::repeated) doubt(name);
}

asio::awaitable<void> FileWorker::write(const std::string& name) {
  const std::uint32_t offset = random_.below(kMaxFile / 2);
  const std::uint32_t size = random_.between(1, stage_.setup().max_bulk);
  auto memory = client_->pool().allocate(size);
  if (!memory) co_return;
  fill(memory->octets(), random_.next());
  const std::string data(text(memory->octets()));
  begin("WRITE", name);
  const auto written = co_await client_->write(files_[name].handle, offset, memory->ref(), nfs::Stable::unstable);
  const Outcome outcome = end(written ? error_code() : written.error(), {});
  check_memory(*memory);
  if (outcome == Outcome::nothing) co_return;
  if (outcome != Outcome::done) co_return doubt(name);
  require_bytes(written->count == size, "count of WRITE", name);
  std::string& octets = files_[name].octets;
  if (octets.size() < offset + size) octets.resize(offset + size);
  octets.replace(offset, size, data);
}

asio::awaitable<void> FileWorker::read(const std::string& name) {
  const std::uint32_t offset = random_.below(kMaxFile / 2);
  const std::uint32_t size = random_.between(1, stage_.setup().max_bulk);
  auto memory = client_->pool().allocate(size);
  if (!memory) co_return;
  begin("READ", name);
  const auto got = co_await client_->read(files_[name].handle, offset, memory->ref());
  const Outcome outcome = end(got ? error_code() : got.error(), {});
  check_memory(*memory);
  if (outcome != Outcome::done) co_return;
  const std::string& octets = files_[name].octets;
  const std::string_view expected =
      offset < octets.size() ? std::string_view(octets).substr(offset, size) : std::string_view();
  require_bytes(text(memory->octets()).substr(0, got->count) == expected, "bytes from READ", name);
  require_bytes(got->eof == (offset + expected.size() >= octets.size()), "end of file from READ", name);
}

asio::awaitable<void> FileWorker::truncate(const std::string& name) {
  const std::uint32_t size = random_.below(kMaxFile);
  begin("SETATTR", name);
  nfs::SetAttributes attributes;
  attributes.size = size;
  const Result<void> changed = co_await client_->setattr(files_[name].handle, attributes);
  const Outcome outcome = end(changed ? error_code() : changed.error(), {});
  if (outcome == Outcome::uncertain) doubt(name);
  if (outcome == Outcome::done) files_[name].octets.resize(size);
}

asio::awaitable<void> FileWorker::remove(const std::string& name) {
  begin("REMOVE", name);
  const Result<void> removed = co_await client_->remove(directory_, name);
  const Outcome outcome = end(removed ? error_code() : removed.error(), Status::noent);
  if (outcome == Outcome::uncertain) doubt(name);
  if (outcome == Outcome::done || outcome == Outcome::repeated) files_.erase(name);
}

asio::awaitable<void> FileWorker::rename(const std::string& name) {
  const std::string to = new_name();
  begin("RENAME", name);
  const Result<void> renamed = co_await client_->rename(directory_, name, directory_, to);
  const Outcome outcome = end(renamed ? error_code() : renamed.error(), Status::noent);
  if (outcome == Outcome::uncertain) {
    doubt(name);
    doubt(to);
  }
  if (outcome != Outcome::done && outcome != Outcome::repeated) co_return;
  files_[to] = std::move(files_[name]);
  files_.erase(name);
}

asio::awaitable<void> FileWorker::make_directory() {
  const std::string name = new_name();
  begin("MKDIR", name);
  const Result<nfs::Node> made = co_await client_->mkdir(directory_, name, 0755);
  const Outcome outcome = end(made ? error_code() : made.error(), Status::exist);
  if (outcome == Outcome::uncertain) doubt(name);
  if (outcome == Outcome::done || outcome == Outcome::repeated) directories_.insert(name);
}

asio::awaitable<void> FileWorker::make_symlink() {
  const std::string name = new_name();
  const std::string target(random_.between(1, 900), static_cast<char>('a' + random_.below(26)));
  begin("SYMLINK", name);
  const Result<void> made = co_await client_->symlink(directory_, name, target);
  const Outcome outcome = end(made ? error_code() : made.error(), Status::exist);
  if (outcome == Outcome::uncertain) doubt(name);
  if (outcome == Outcome::done || outcome == Outcome::repeated) links_[name] = target;
}

asio::awaitable<void> FileWorker::read_link() {
  if (links_.empty()) co_return;
  const std::string name = links_.begin()->first;
  begin("LOOKUP", name);
  const Result<nfs::Node> found = co_await client_->lookup(directory_, name);
  if (end(found ? error_code() : found.error(), {}) != Outcome::done) co_return;
  begin("READLINK", name);
  const Result<std::string> target = co_await client_->readlink(found->handle);
  if (end(target ? error_code() : target.error(), {}) != Outcome::done) co_return;
  require_bytes(*target == links_[name], "target from READLINK", name);
}

asio::awaitable<void> FileWorker::list() {
  begin("READDIR", "");
  std::set<std::string> names;
  nfs::Client::Position position;
  for (bool more = true; more;) {
    const auto page = co_await client_->read_directory(directory_, position, true);
    if (end(page ? error_code() : page.error(), {}) != Outcome::done) co_return;
    for (const nfs::DirectoryEntry& entry : page->entries) names.insert(entry.name);
    position = page->next;
    more = !page->end;
  }
  for (const std::string& name : uncertain_) names.erase(name);
  std::set<std::string> expected = directories_;
  for (const auto& [name, file] : files_) expected.insert(name);
  for (const auto& [name, target] : links_) expected.insert(name);
  require_bytes(names == expected, "listing", "");
}

void FileWorker::check(nfsd::FileSystem& files) {
  if (!made_) return;
  nfsd::Caller root;
  const nfsd::NodeKey directory = files.lookup(root, files.root(), name_).node;
  std::set<std::string> names;
  files.read_directory(root, directory, {}, [&names](const nfsd::DirectoryEntry& entry) {
    if (entry.name != "." && entry.name != "..") names.emplace(entry.name);
    return true;
  });
  for (const std::string& name : uncertain_) names.erase(name);
  std::set<std::string> expected = directories_;
  for (const auto& [name, target] : links_) expected.insert(name);
  for (const auto& [name, file] : files_) {
    expected.insert(name);
    const nfsd::NodeResult found = files.lookup(root, directory, name);
    std::string octets(file.octets.size() + 1, '\0');
    const BufferRef into{reinterpret_cast<std::byte*>(octets.data()), static_cast<std::uint32_t>(octets.size()), 0};
    const nfsd::ReadResult got = files.read(root, found.node, 0, {&into, 1});
    octets.resize(got.count);
    require_bytes(octets == file.octets, "bytes at the end", name);
  }
  for (const auto& [name, target] : links_)
    require_bytes(files.read_link(files.lookup(root, directory, name).node).target == target, "target at the end",
                  name);
  require_bytes(names == expected, "names at the end", "");
}

}  // namespace rpcrdma::sim
