// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/handle_codec.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>
#include <stdexcept>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHead = 6;
constexpr std::size_t kTag = 16;
static_assert(kHead + NodeKey::kMax + kTag <= FileHandle::kMaxSize);

}  // namespace

HandleCodec::HandleCodec(const HandleSecret& secret) : secret_(secret), context_(nullptr) {
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  if (mac != nullptr) context_ = EVP_MAC_CTX_new(mac);
  EVP_MAC_free(mac);
  if (context_ == nullptr) throw std::runtime_error("the crypto library has no SipHash");
}

HandleCodec::~HandleCodec() { EVP_MAC_CTX_free(context_); }

/// The reference is valid until the next call.
const HandleCodec::Tag& HandleCodec::tag(std::span<const std::byte> octets) const {
  const std::string_view text(reinterpret_cast<const char*>(octets.data()), octets.size());
  Known& known = known_[std::hash<std::string_view>{}(text) % known_.size()];
  if (known.length == octets.size() && std::memcmp(known.octets.data(), octets.data(), octets.size()) == 0)
    return known.tag;
  known.tag = compute(octets);
  std::memcpy(known.octets.data(), octets.data(), octets.size());
  known.length = octets.size();
  return known.tag;
}

HandleCodec::Tag HandleCodec::compute(std::span<const std::byte> octets) const {
  Tag tag{};
  std::size_t length = 0;
  const auto* key = reinterpret_cast<const unsigned char*>(secret_.data());
  const bool done =
      EVP_MAC_init(context_, key, secret_.size(), nullptr) == 1 &&
      EVP_MAC_update(context_, reinterpret_cast<const unsigned char*>(octets.data()), octets.size()) == 1 &&
      EVP_MAC_final(context_, reinterpret_cast<unsigned char*>(tag.data()), &length, tag.size()) == 1;
  if (!done || length != tag.size()) throw std::runtime_error("SipHash failed");
  return tag;
}

FileHandle HandleCodec::encode(std::uint32_t export_id, const NodeKey& node) const {
  std::array<std::byte, FileHandle::kMaxSize> handle{};
  Writer writer(handle);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>(node.octets().size()));
  writer.u32(export_id);
  writer.octets(node.octets());
  writer.octets(tag(writer.written()));
  return FileHandle(writer.written());
}

std::optional<DecodedHandle> HandleCodec::decode(std::span<const std::byte> handle) const {
  Reader reader(handle);
  const std::uint8_t version = reader.u8();
  const std::uint8_t length = reader.u8();
  DecodedHandle decoded;
  decoded.export_id = reader.u32();
  decoded.node = NodeKey(reader.octets(length));
  const Octets given = reader.octets(kTag);
  if (!reader.ok() || reader.remaining() != 0 || version != kVersion || length > NodeKey::kMax) return std::nullopt;
  const Tag& right = tag(handle.first(handle.size() - kTag));
  // In constant time: the duration of the comparison must not help to guess a tag.
  if (CRYPTO_memcmp(right.data(), given.data(), kTag) != 0) return std::nullopt;
  return decoded;
}

std::uint32_t export_id_of(std::string_view name) noexcept {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash == 0 ? 1 : hash;
}

}  // namespace rpcrdma::nfsd
