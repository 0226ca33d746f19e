// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/wait_policy.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace rpcrdma {
namespace {

using namespace std::chrono_literals;

/// The time in which a peer is assumed to answer a short call.
constexpr WaitPolicy::Duration kShortCall = 40us;
/// The allowance is the time that polls may still spend without finding work. It grows by 1/kShare of the elapsed time.
constexpr int kShare = 50;
/// The limit of the allowance, as a multiple of the time for which one poll may last. With a full allowance, the thread
/// may make kBurst polls that find nothing, one directly after the other.
constexpr int kBurst = 8;
constexpr WaitPolicy::Duration kLeastWakeUp = 2us;
constexpr WaitPolicy::Duration kMostWakeUp = 300us;
/// Each call of displaced() stops polling for a pause. The pause is kFirstPause at first, and doubles with each call.
/// Each poll that finds work shortens the next pause, but not below kFirstPause. A pause lasts at least kPauses times
/// as long as the thread had lost its processor. No pause is longer than kLongestPause.
constexpr int kPauses = 8;
constexpr WaitPolicy::Duration kFirstPause = 10ms;
constexpr WaitPolicy::Duration kLongestPause = 1s;
constexpr long kMostMicroseconds = 1'000'000;

}  // namespace

std::optional<Polling> parse_polling(std::string_view text) noexcept {
  if (text == "auto") return Polling{};
  if (text == "off") return Polling::off();
  long microseconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, microseconds);
  if (failed != std::errc() || stop != end || microseconds < 1 || microseconds > kMostMicroseconds) return std::nullopt;
  return Polling::fixed(std::chrono::microseconds(microseconds));
}

WaitPolicy::WaitPolicy(Polling polling, Duration wake_up, TimePoint now) noexcept
    : polling_(polling), last_(now), blocks_until_(now), pause_(kFirstPause) {
  set_wake_up(wake_up);
  allowance_ = kBurst * window_;
}

void WaitPolicy::set_wake_up(Duration wake_up) noexcept {
  wake_up_ = std::clamp(wake_up, kLeastWakeUp, kMostWakeUp);
  window_ = 2 * wake_up_ + kShortCall;
}

WaitPolicy::Duration WaitPolicy::window(TimePoint now) noexcept {
  if (polling_.mode == Polling::Mode::off || now < blocks_until_) return {};
  if (polling_.mode == Polling::Mode::fixed) return polling_.time;
  allowance_ = std::min(allowance_ + (now - last_) / kShare, kBurst * window_);
  last_ = now;
  return allowance_ >= window_ ? window_ : Duration{};
}

void WaitPolicy::found() noexcept {
  allowance_ += wake_up_;
  pause_ = std::max(kFirstPause, pause_ - pause_ / 64);
}

void WaitPolicy::missed(Duration polled) noexcept { allowance_ -= polled; }

void WaitPolicy::displaced(TimePoint now, Duration lost) noexcept {
  pause_ = std::min(std::max(pause_, kPauses * lost), kLongestPause);
  blocks_until_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
}

WaitPolicy::Duration measured_wake_up() noexcept {
  static const WaitPolicy::Duration measured = [] {
    constexpr long kSleepNs = 200'000;
    const int slack = ::prctl(PR_GET_TIMERSLACK);
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    std::array<WaitPolicy::Duration, 9> late{};
    for (auto& one : late) {
      const timespec pause{0, kSleepNs};
      const auto start = WaitPolicy::Clock::now();
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
      one = std::max(WaitPolicy::Clock::now() - start - std::chrono::nanoseconds(kSleepNs), WaitPolicy::Duration{});
    }
    if (slack > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
    std::nth_element(late.begin(), late.begin() + late.size() / 2, late.end());
    return late[late.size() / 2];
  }();
  return measured;
}

}  // namespace rpcrdma
