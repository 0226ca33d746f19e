// SPDX-License-Identifier: BSD-3-Clause
#include "commands/options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>

#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/cli/help.hpp"
#include "rpcrdma/cli/poll.hpp"

namespace rpcrdma::commands {
namespace {

constexpr const char* kAbout =
    "Accesses files on an NFSv3 server over RPC-over-RDMA.\n\n"
    "A URL is nfs://HOST[:PORT]/EXPORT[/PATH]; the default port is 20049.";

std::vector<cli::Section> help_sections() {
  return {{"Environment",
           {{"RPCRDMA_LOG", "debug, info, warn or error: log the connection to standard error"},
            {"RPCRDMA_LOG_FORMAT", "json: one JSON object a line, instead of text"},
            {"RPCRDMA_PLUGIN_DIR", "folder of librpcrdma-verbs.so, which drives RDMA devices"}}},
          capture::help_section_of_capture(),
          {"Examples",
           {{"rpcrdma-nfs ls -l nfs://localhost/data",
             "lists the export of a server started by 'rpcrdma-nfsd --export /srv/data'"},
            {"rpcrdma-nfs put -r photos nfs://localhost/data", "copies a directory tree to the server"},
            {"rpcrdma-nfs get nfs://localhost/data/photos/cat.jpg .", "copies a file from the server"}}}};
}

/// The command line before its values are checked.
struct Text {
  std::string url, target, local, fabric = "auto", version = "1", crc, root, mode, size;
  double timeout = 60;
};

CLI::App* command(CLI::App& app, Options& options, const char* name, const char* about, const char* example) {
  CLI::App* sub = app.add_subcommand(name, about);
  sub->callback([&options, name] { options.command = name; });
  sub->footer(std::string("rpcrdma-nfs ") + name + ' ' + example);
  return sub;
}

void add_url(CLI::App* sub, Text& text) {
  sub->add_option("URL", text.url, "nfs://HOST[:PORT]/EXPORT[/PATH]")->required()->type_name("");
}

void add_local(CLI::App* sub, Text& text) {
  sub->add_option("LOCAL", text.local, "local file or directory")->required()->type_name("");
}

void add_transfer_flags(CLI::App* sub, Options& options) {
  sub->add_flag("-r", options.recursive, "Copy a directory recursively, with modes and times");
  sub->add_flag("--resume", options.resume, "Resume an interrupted transfer; skip complete files");
  sub->add_option("--connections", options.connections,
                  "Number of connections for the data; each can use another thread of the server")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 16));
}

void add_global_options(CLI::App& app, Options& options, Text& text) {
  app.add_option("--fabric", text.fabric, "verbs is an RDMA device, iwarp the userspace stack on TCP")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember(fabric::provider_names()));
  app.add_option("--crc", text.crc, "iWARP CRCs")
      ->type_name("on|off")
      ->default_str("off between loopback addresses, else on")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--rdma-version", text.version,
                 "Version of RPC-over-RDMA; auto offers 2, and uses 1 if the server lacks 2")
      ->type_name("NAME")
      ->capture_default_str()
      ->check(CLI::IsMember(transport::version_names()));
  app.add_option("--timeout", text.timeout, "Time limit of a call, reconnecting included")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6));
  cli::add_poll_option(app, options.poll);
  capture::add_capture_option(app, options.capture);
  app.add_option("--mount-port", options.mount_port, "Use the MOUNT service on this TCP port")
      ->type_name("N")
      ->default_str("over RDMA, on the same connection")
      ->check(CLI::Range(1, 65535));
  app.add_option("--root-handle", text.root, "File handle of EXPORT, the URL's first component; MOUNT is not used")
      ->type_name("HEX");
  CLI::Option* uid = app.add_option("--uid", options.uid, "User id in calls")->type_name("N");
  CLI::Option* gid = app.add_option("--gid", options.gid, "Group id in calls")->type_name("N");
  uid->needs(gid)->default_str("that of the process");
  gid->needs(uid)->default_str("that of the process");
}

void add_reading_commands(CLI::App& app, Options& options, Text& text) {
  add_url(command(app, options, "ping", "Check that the server answers", "nfs://server"), text);
  add_url(command(app, options, "cat", "Write a file to standard output", "nfs://server/data/notes.txt"), text);
  add_url(command(app, options, "stat", "Show a file's attributes", "nfs://server/data/notes.txt"), text);
  add_url(command(app, options, "readlink", "Show the target of a symbolic link", "nfs://server/data/latest"), text);
  add_url(command(app, options, "df", "Show the space on the export", "nfs://server/data"), text);
  CLI::App* ls = command(app, options, "ls", "List a directory", "-l nfs://server/data");
  ls->add_flag("-l", options.long_format, "Show attributes too");
  add_url(ls, text);
  CLI::App* get = command(app, options, "get", "Copy a file from the server", "-r nfs://server/data/photos .");
  add_transfer_flags(get, options);
  add_url(get, text);
  add_local(get, text);
  CLI::App* stats =
      command(app, options, "stats", "Show the statistics of a server at intervals", "http://127.0.0.1:9110");
  stats->add_flag("--once", options.once, "Print the totals since the start of the server, and end");
  stats->add_flag("--json", options.json, "Print one JSON object for each interval instead of a table");
  stats->add_option("URL", text.url, "http://ADDR:PORT, the server's --metrics")->required()->type_name("");
}

void add_writing_commands(CLI::App& app, Options& options, Text& text) {
  CLI::App* put = command(app, options, "put", "Copy a file to the server", "-r --resume photos nfs://server/data");
  add_transfer_flags(put, options);
  add_local(put, text);
  add_url(put, text);
  CLI::App* mkdir = command(app, options, "mkdir", "Create a directory", "-p nfs://server/data/2024/may");
  mkdir->add_flag("-p", options.parents, "Create parent directories as well; ignore an existing one");
  add_url(mkdir, text);
  CLI::App* rm = command(app, options, "rm", "Remove a file", "-r nfs://server/data/old");
  rm->add_flag("-r", options.recursive, "Remove a directory recursively");
  add_url(rm, text);
  CLI::App* mv = command(app, options, "mv", "Rename a file, or move it into a directory",
                         "nfs://server/data/draft nfs://server/data/final");
  add_url(mv, text);
  mv->add_option("NEW", text.target, "URL on the same server")->required()->type_name("");
  CLI::App* ln = command(app, options, "ln", "Create a link", "-s notes.txt nfs://server/data/latest");
  ln->add_flag("-s", options.symbolic, "Create a symbolic link; TARGET is any text");
  ln->add_option("TARGET", text.target, "URL of the existing file; with -s the text of the link")
      ->required()
      ->type_name("");
  add_url(ln, text);
  CLI::App* chmod = command(app, options, "chmod", "Change a file's permissions", "644 nfs://server/data/notes.txt");
  chmod->add_option("OCTAL", text.mode, "such as 644")->required()->type_name("");
  add_url(chmod, text);
  CLI::App* truncate = command(app, options, "truncate", "Set a file's size", "1G nfs://server/data/image");
  truncate->add_option("SIZE", text.size, "bytes; suffixes K, M, G and T")->required()->type_name("");
  add_url(truncate, text);
}

/// nfs://HOST/ names the export "/", but only in ls, stat and df.
bool may_name_root_export(std::string_view text, std::string_view command) {
  return text.ends_with('/') && !text.ends_with("//") && (command == "ls" || command == "stat" || command == "df");
}

/// The error in a command line, as a message for the user.
struct UsageError {
  std::string what;
};
using Checked = boost::system::result<void, UsageError>;

boost::system::result<nfs::Url, UsageError> parse_url(const std::string& text, const std::string& command) {
  auto url = nfs::parse_url(text);
  if (!url) return UsageError{fmt::format("{}: {}", text, url.error().why)};
  if (url->path.empty() && command != "ping" && !may_name_root_export(text, command))
    return UsageError{fmt::format("{}: no export in the URL", text)};
  return *std::move(url);
}

/// The ADDR:PORT of http://ADDR:PORT[/].
boost::system::result<std::string, UsageError> parse_statistics_url(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = url;
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  const std::size_t colon = rest.rfind(':');
  std::uint16_t port = 0;
  const char* const end = rest.data() + rest.size();
  const bool sound = url.starts_with(kScheme) && colon != rest.npos && colon != 0 && rest.find('/') == rest.npos &&
                     std::from_chars(rest.data() + colon + 1, end, port).ptr == end && port != 0;
  if (!sound) return UsageError{fmt::format("{}: not http://ADDR:PORT", url)};
  return {boost::system::in_place_value, rest};  // in_place_value: `rest` is the result, not the text of a UsageError
}

Checked take_global_options(const Text& text, Options& options) {
  fabric::parse_provider(text.fabric, options.fabric.provider);
  options.version = transport::parse_version(text.version).value_or(options.version);
  if (!text.crc.empty()) options.fabric.crc = text.crc == "on" ? fabric::CrcPolicy::on : fabric::CrcPolicy::off;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(text.timeout * 1000));
  if (!text.root.empty()) {
    options.root = nfs::parse_handle(text.root);
    if (!options.root) return UsageError{"--root-handle: expected 1 to 64 bytes in hexadecimal"};
  }
  return {};
}

Checked take_arguments(const Text& text, Options& options) {
  if (options.command == "stats") {
    auto address = parse_statistics_url(text.url);
    if (!address) return address.error();
    options.statistics = *std::move(address);
    return {};
  }
  auto url = parse_url(text.url, options.command);
  if (!url) return url.error();
  options.url = *std::move(url);
  options.local = text.local;
  if (options.command == "mv" || (options.command == "ln" && !options.symbolic)) {
    auto target = parse_url(text.target, options.command);
    if (!target) return target.error();
    options.target = *std::move(target);
  } else if (options.command == "ln") {
    options.local = text.target;
    if (options.local.empty()) return UsageError{"ln: TARGET is empty"};
  }
  if (options.command == "chmod") {
    const auto mode = parse_mode(text.mode);
    if (!mode) return UsageError{fmt::format("chmod: '{}' is not an octal mode", text.mode)};
    options.mode = *mode;
  }
  if (options.command == "truncate") {
    const auto size = parse_size(text.size);
    if (!size) return UsageError{fmt::format("truncate: '{}' is not a size", text.size)};
    options.size = *size;
  }
  if ((options.command == "get" || options.command == "put") && options.local.empty())
    return UsageError{"LOCAL is empty"};
  return {};
}

Exit usage_error(const std::string& what) {
  print_error("rpcrdma-nfs: {} (see rpcrdma-nfs --help)\n", what);
  return {2};
}

}  // namespace

std::variant<Options, Exit> parse_options(int argc, const char* const* argv) {
  Options options;
  Text text;
  CLI::App app{kAbout, "rpcrdma-nfs"};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "rpcrdma-nfs " RPCRDMA_VERSION, "Print the version and exit");
  add_global_options(app, options, text);
  add_reading_commands(app, options, text);
  add_writing_commands(app, options, text);
  cli::finish(app, help_sections());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return Exit{app.exit(help)};
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app.remaining(true);
    if (app.get_subcommands().empty())
      return usage_error(unknown.empty() ? "missing command" : fmt::format("{}: no such command", unknown.front()));
    if (!unknown.empty()) return usage_error(fmt::format("{}: unexpected argument", unknown.front()));
    return usage_error(error.what());
  }
  Checked checked = take_global_options(text, options);
  if (checked) checked = take_arguments(text, options);
  if (!checked) return usage_error(checked.error().what);
  return options;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc()) return std::nullopt;
  if (stop == end) return value;
  const std::size_t unit = kUnits.find(*stop);
  if (unit == std::string_view::npos || stop + 1 != end) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (unit + 1));
  if (value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

std::optional<std::uint32_t> parse_mode(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value, 8);
  if (text.size() > 5 || status != std::errc() || stop != end || value > 07777) return std::nullopt;
  return value;
}

}  // namespace rpcrdma::commands
