// SPDX-License-Identifier: BSD-3-Clause
#include "commands/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rpcrdma::commands {

using nfs::FileType;

namespace {

char type_letter(FileType type) noexcept {
  switch (type) {
    case FileType::regular: return '-';
    case FileType::directory: return 'd';
    case FileType::block: return 'b';
    case FileType::character: return 'c';
    case FileType::symlink: return 'l';
    case FileType::socket: return 's';
    case FileType::fifo: return 'p';
  }
  return '?';
}

std::string format_time(std::time_t seconds, const char* format) {
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 64> out{};
  return {out.data(), std::strftime(out.data(), out.size(), format, &local)};
}

std::string size_text(const nfs::Attributes& attributes) {
  const bool device = attributes.type == FileType::block || attributes.type == FileType::character;
  if (device) return fmt::format("{}, {}", attributes.device.major, attributes.device.minor);
  return std::to_string(attributes.size);
}

}  // namespace

std::string mode_text(FileType type, std::uint32_t mode) {
  std::string out(1, type_letter(type));
  for (const int shift : {6, 3, 0}) {
    const std::uint32_t bits = mode >> shift;
    out += (bits & 4) != 0 ? 'r' : '-';
    out += (bits & 2) != 0 ? 'w' : '-';
    out += (bits & 1) != 0 ? 'x' : '-';
  }
  const auto special = [&](std::size_t at, std::uint32_t bit, char with_x, char without) {
    if ((mode & bit) != 0) out[at] = out[at] == 'x' ? with_x : without;
  };
  special(3, 04000, 's', 'S');
  special(6, 02000, 's', 'S');
  special(9, 01000, 't', 'T');
  return out;
}

std::string_view type_text(FileType type) noexcept {
  switch (type) {
    case FileType::regular: return "regular file";
    case FileType::directory: return "directory";
    case FileType::block: return "block device";
    case FileType::character: return "character device";
    case FileType::symlink: return "symbolic link";
    case FileType::socket: return "socket";
    case FileType::fifo: return "fifo";
  }
  return "unknown";
}

std::string list_time(nfs::Time time, std::time_t now) {
  constexpr std::time_t kHalfYear = 31556952 / 2;
  const std::time_t seconds = time.seconds;
  const bool recent = seconds <= now && seconds > now - kHalfYear;
  return format_time(seconds, recent ? "%b %e %H:%M" : "%b %e  %Y");
}

std::string full_time(nfs::Time time) {
  const std::time_t seconds = time.seconds;
  return fmt::format("{}.{:09} {}", format_time(seconds, "%Y-%m-%d %H:%M:%S"), time.nanoseconds,
                     format_time(seconds, "%z"));
}

namespace {

/// Returns the number of bytes of the character at the beginning of `text`, which must not be empty. Returns 0 if the
/// bytes there are not valid UTF-8, or if the character is a control character. Terminals interpret U+0080 to U+009F,
/// so these count as control characters.
std::size_t printable_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
  const std::size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0u) != 0x80) return 0;
  // Other second bytes belong to control characters, overlong encodings, surrogates and code points above U+10FFFF.
  const unsigned least = first == 0xc2 || first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return byte(1) < least || byte(1) > most ? 0 : size;
}

}  // namespace

std::string printable(std::string_view name, bool terminal) {
  if (!terminal) return std::string(name);
  std::string out;
  for (std::size_t size = 1; !name.empty(); name.remove_prefix(size)) {
    size = 1;
    switch (name.front()) {
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '\\': out += "\\\\"; break;
      default:
        if (const std::size_t known = printable_character(name); known != 0) {
          size = known;
          out += name.substr(0, size);
        } else {
          out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(name.front())));
        }
    }
  }
  return out;
}

void ListWidths::include(const nfs::Attributes& attributes, Owners& owners) {
  links = std::max(links, std::to_string(attributes.links).size());
  uid = std::max(uid, owners.user(attributes.uid).size());
  gid = std::max(gid, owners.group(attributes.gid).size());
  size = std::max(size, size_text(attributes).size());
}

std::string list_line(const nfs::Attributes& attributes, const ListWidths& widths, Owners& owners, std::time_t now) {
  return fmt::format("{} {:>{}} {:<{}} {:<{}} {:>{}} {}", mode_text(attributes.type, attributes.mode), attributes.links,
                     widths.links, owners.user(attributes.uid), widths.uid, owners.group(attributes.gid), widths.gid,
                     size_text(attributes), widths.size, list_time(attributes.mtime, now));
}

}  // namespace rpcrdma::commands
