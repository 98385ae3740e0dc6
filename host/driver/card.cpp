// See card.h.
#include "host/driver/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hw/error.h"

namespace tessera::driver {

namespace chip = reg::chip;
namespace card = reg::card;

namespace {

constexpr std::uint64_t kShortestPollNs = 2000, kLongestPollNs = 200000;
const char* const kAdvice = "reset the card and boot it again; if that does not help, its IPUs cannot be used";

std::string command_text(std::uint32_t code) { return card::text(static_cast<card::Command>(code)); }

}  // namespace

CardController::CardController(CardAccess access, CardLimits limits) : access_(std::move(access)), limits_(limits) {}

card::State CardController::state() {
  return static_cast<card::State>(chip::kMailboxStatusState.get(access_.read(chip::kMailboxStatus)));
}

bool CardController::present() {
  const std::uint32_t status = access_.read(chip::kMailboxStatus);
  return status != static_cast<std::uint32_t>(card::State::off);
}

std::string CardController::standing(std::uint32_t status) const {
  const auto state = static_cast<card::State>(chip::kMailboxStatusState.get(status));
  std::string text = fmt::format("{}: {}", access_.name, card::text(state));
  const auto progress = static_cast<std::uint32_t>(chip::kMailboxStatusProgress.get(status));
  if (progress != 0) text += fmt::format("; last command begun: {}", command_text(progress));
  if (const std::uint64_t restarts = chip::kMailboxStatusRestarts.get(status))
    text += fmt::format("; reset by its watchdog {} times", restarts);
  return text;
}

std::optional<Error> CardController::failure(std::uint32_t status, const std::string& doing) {
  const auto state = static_cast<card::State>(chip::kMailboxStatusState.get(status));
  if (state == card::State::failed) {
    const auto failure = static_cast<card::Failure>(chip::kMailboxStatusFailure.get(status));
    return Error(Category::device_exception,
                 fmt::format("{}, but the card controller has failed: {}", doing, card::text(failure)),
                 standing(status), kAdvice);
  }
  if (state != card::State::crashed) return std::nullopt;
  std::array<std::uint32_t, 8> record{};
  for (unsigned i = 0; i < record.size(); ++i) record[i] = access_.read(chip::kMailboxResult + 4 * i);
  return Error(
      Category::device_exception,
      fmt::format("{}, but the card controller's firmware has crashed: trap {} at pc 0x{:08x}, value 0x{:08x}, "
                  "return address 0x{:08x}, {} us after power-on",
                  doing, record[0], record[1], record[2], record[3], record[5]),
      standing(status), kAdvice);
}

void CardController::check(std::uint32_t status, const std::string& doing) {
  if (const std::optional<Error> error = failure(status, doing)) throw *error;
}

std::string CardController::trouble() {
  const std::optional<Error> error = failure(access_.read(chip::kMailboxStatus), "a program ran");
  return error ? fmt::format("{} ({})", error->message(), error->where()) : std::string();
}

std::uint32_t CardController::poll(std::uint64_t deadline_ns, const std::string& doing,
                                   const std::function<bool(std::uint32_t)>& wanted) {
  for (std::uint64_t step = kShortestPollNs;; step = std::min(2 * step, kLongestPollNs)) {
    const std::uint32_t status = access_.read(chip::kMailboxStatus);
    if (wanted(status)) return status;
    check(status, doing);
    const std::uint64_t now = access_.now_ns();
    if (now >= deadline_ns) return status;
    access_.elapse(std::min(step, deadline_ns - now));
  }
}

void CardController::wait_ready() {
  const auto ready = [](std::uint32_t status) {
    return static_cast<card::State>(chip::kMailboxStatusState.get(status)) == card::State::ready;
  };
  const std::uint32_t status = poll(access_.now_ns() + 1000 * limits_.ready_us, "the card was to be booted", ready);
  if (!ready(status))
    throw Error(Category::device_exception,
                fmt::format("the card controller was not ready within {} us", limits_.ready_us), standing(status),
                kAdvice);
}

bool CardController::attempt(card::Command command, const std::array<std::uint32_t, 4>& arguments, Answer& answer,
                             std::string& why) {
  const std::string doing = fmt::format("the command '{}' was sent", card::text(command));
  const std::uint64_t deadline = access_.now_ns() + 1000 * limits_.command_us;
  const auto timeout = [&](std::uint32_t status) {
    return Error(Category::device_exception,
                 fmt::format("the card controller did not answer the command '{}' within {} us", card::text(command),
                             limits_.command_us),
                 standing(status), kAdvice);
  };
  // A command that an earlier time-out left behind.
  const auto idle = [](std::uint32_t s) { return chip::kMailboxStatusBusy.get(s) == 0; };
  std::uint32_t status = poll(deadline, doing, idle);
  if (!idle(status)) throw timeout(status);
  check(status, doing);
  const std::uint8_t tag = ++tag_;
  const auto code = static_cast<std::uint32_t>(command);
  access_.write(chip::kMailboxCommand, static_cast<std::uint32_t>(chip::kMailboxCommandTag.set(code, tag)));
  for (unsigned i = 0; i < arguments.size(); ++i) access_.write(chip::kMailboxArgument + 4 * i, arguments[i]);
  access_.write(chip::kMailboxDoorbell, 1);
  status = poll(deadline, doing, [](std::uint32_t s) {
    return chip::kMailboxStatusDone.get(s) != 0 || chip::kMailboxStatusRefused.get(s) != 0;
  });
  if (chip::kMailboxStatusRefused.get(status) != 0) {
    why = "it refused the command";
    return false;
  }
  if (chip::kMailboxStatusDone.get(status) == 0) throw timeout(status);
  const std::uint32_t response = access_.read(chip::kMailboxResponse);
  if (chip::kMailboxResponseCode.get(response) != code || chip::kMailboxResponseTag.get(response) != tag) {
    why = fmt::format("it answered command {} with tag {}, not {} with tag {}",
                      chip::kMailboxResponseCode.get(response), chip::kMailboxResponseTag.get(response), code, tag);
    return false;
  }
  answer.error = static_cast<card::Error>(chip::kMailboxResponseError.get(response));
  for (unsigned i = 0; i < answer.result.size(); ++i) answer.result[i] = access_.read(chip::kMailboxResult + 4 * i);
  if (answer.error == card::Error::failed) check(access_.read(chip::kMailboxStatus), doing);
  if (answer.error != card::Error::restarted) return true;
  why = "it was restarted while it worked on it";
  // It takes commands again when it is back.
  wait_ready();
  return false;
}

CardController::Answer CardController::call(card::Command command, const std::array<std::uint32_t, 4>& arguments) {
  Answer answer;
  std::string why;
  for (unsigned n = 0; n < 2; ++n)
    if (attempt(command, arguments, answer, why)) return answer;
  throw Error(Category::device_exception,
              fmt::format("the card controller did not do the command '{}', tried twice: {}", card::text(command), why),
              standing(access_.read(chip::kMailboxStatus)), kAdvice);
}

CardController::Answer CardController::must(card::Command command, const std::array<std::uint32_t, 4>& arguments) {
  const Answer answer = call(command, arguments);
  if (answer.error == card::Error::ok) return answer;
  throw Error(Category::device_exception,
              fmt::format("the card controller's answer to '{}' ({}, {}): {}", card::text(command), arguments[0],
                          arguments[1], card::text(answer.error)),
              access_.name);
}

bool CardController::ping(std::uint32_t value) { return must(card::Command::ping, {value}).result[0] == value; }

CardInfo CardController::info() {
  const auto r = must(card::Command::info).result;
  CardInfo info;
  info.serial = r[0];
  info.number = r[1];
  info.ipus = r[2];
  info.firmware = r[3];
  info.links_up = r[4] & 0xffff;
  info.links_down = r[4] >> 16;
  info.controller_hz = r[5];
  info.ready_us = r[6];
  info.reset_cause = static_cast<std::uint32_t>(card::kResetCauseCause.get(r[7]));
  info.restarts = static_cast<std::uint32_t>(card::kResetCauseRestarts.get(r[7]));
  return info;
}

bool CardController::power(unsigned ipu) { return must(card::Command::power, {ipu, 0}).result[0] != 0; }
void CardController::set_power(unsigned ipu, bool on) { must(card::Command::power, {ipu, on ? 1u : 2u}); }
std::uint32_t CardController::clock(unsigned ipu) { return must(card::Command::clock, {ipu, 0}).result[0]; }
void CardController::set_clock(unsigned ipu, std::uint32_t mhz) { must(card::Command::clock, {ipu, mhz}); }
void CardController::reset_ipu(unsigned ipu) { must(card::Command::reset_ipu, {ipu}); }
void CardController::train_link(unsigned ipu, unsigned port) { must(card::Command::link_train, {ipu, port}); }
void CardController::disable_link(unsigned ipu, unsigned port) { must(card::Command::link_disable, {ipu, port}); }

CardLink CardController::link(unsigned ipu, unsigned port) {
  const auto r = must(card::Command::link_status, {ipu, port}).result;
  return {static_cast<card::Link>(r[0]), r[1], r[2]};
}

CardSensors CardController::sensors(unsigned ipu) {
  const auto r = must(card::Command::sensors, {ipu}).result;
  return {r[0], r[1], r[2], r[3] != 0};
}

void CardController::set_alarm(unsigned ipu, std::uint32_t millidegrees) {
  must(card::Command::set_alarm, {ipu, millidegrees});
}

std::vector<CardLogEntry> CardController::log() {
  std::vector<CardLogEntry> entries;
  for (std::uint32_t i = 0;; ++i) {
    const Answer answer = call(card::Command::read_log, {i});
    if (answer.error != card::Error::ok) return entries;
    entries.push_back({answer.result[1], static_cast<card::Log>(answer.result[2]), answer.result[3], answer.result[4]});
    if (i + 1 == answer.result[0]) return entries;
  }
}

std::uint32_t CardController::self_test() { return call(card::Command::self_test).result[0]; }

}  // namespace tessera::driver
