// Reads exchange tables: header, linear, block and sweep descriptors (docs/machine/exchange.md).
#include "tlm/tile/exchange_engine.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace tessera {

namespace {

constexpr Address kBase = 0x0004'0000;
constexpr std::uint32_t kFirstStart = 12;  // first start of a list >= X + 12
constexpr std::uint32_t kUnderrun = 27, kOverrun = 28, kBad = 29;

struct Descriptor {
  unsigned kind, base;
  std::uint32_t time, words, address, peer;
};

Descriptor unpack(std::uint64_t bits) {
  Descriptor d{};
  d.kind = bits & 3;
  d.base = (bits >> 2) & 3;
  d.time = (bits >> 4) & 0x3ffff;
  d.words = (bits >> 22) & 0xfff;
  if (d.words == 0) d.words = 4096;
  d.address = (bits >> 34) & 0x3ffff;
  d.peer = static_cast<std::uint32_t>(bits >> 52);
  return d;
}

std::int32_t signed_field(std::uint64_t bits, unsigned low, unsigned width) {
  const auto raw = static_cast<std::int32_t>((bits >> low) & ((1u << width) - 1));
  return raw >= (1 << (width - 1)) ? raw - (1 << width) : raw;
}

/// One list being read: where it stands, and what it has produced.
class ListReader {
 public:
  ListReader(const ExchangeInputs& in, bool sends) : in_(in), sends_(sends) {}

  /// Reads `count` table words from byte address `at`; stops at the first fault.
  void read(Address at, std::uint32_t count, ExchangePhase& phase);

  std::optional<ExchangeResult::Fault> fault;

 private:
  [[nodiscard]] std::uint64_t table_word(Address at) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, in_.sram + (at - kBase), sizeof bits);
    return bits;
  }

  void fail(std::uint32_t cause, Cycle cycle) { fault = ExchangeResult::Fault{cause, cycle, descriptor_}; }

  /// A contiguous piece; false if a word of it is bad.
  bool piece(Address address, std::uint32_t words, std::int64_t source, bool unheard, ExchangePhase& phase);
  bool block(const Descriptor& d, std::uint64_t second, Address address, unsigned source, ExchangePhase& phase);
  bool sweep(const Descriptor& d, std::uint64_t second, Address address, unsigned source, ExchangePhase& phase);
  void descriptor(const Descriptor& d, std::uint64_t second, ExchangePhase& phase);

  const ExchangeInputs& in_;
  bool sends_;
  Address descriptor_ = 0;
  Cycle now_ = 0;  // cycle of the next word of this descriptor
};

bool ListReader::piece(Address address, std::uint32_t words, std::int64_t source, bool unheard, ExchangePhase& phase) {
  const bool source_ok = sends_ || (source >= 0 && source < static_cast<std::int64_t>(in_.tiles));
  std::uint32_t good = 0;
  if (source_ok && address % 4 == 0 && address >= kBase && address - kBase < in_.sram_bytes)
    good = std::min(words, (in_.sram_bytes - (address - kBase)) / 4);
  if (good != 0) {
    if (sends_) {
      SendRun* last = phase.sends.empty() ? nullptr : &phase.sends.back();
      if (last != nullptr && last->descriptor == descriptor_ && last->address + 4 * last->words == address)
        last->words += good;
      else
        phase.sends.push_back({now_, good, address, descriptor_, unheard});
    } else {
      ReceiveRun* last = phase.receives.empty() ? nullptr : &phase.receives.back();
      if (last != nullptr && last->descriptor == descriptor_ && last->address + 4 * last->words == address &&
          last->source == source)
        last->words += good;
      else
        phase.receives.push_back({now_, good, address, descriptor_, static_cast<unsigned>(source)});
    }
  }
  now_ += good;
  if (good == words) return true;
  fail(kBad, now_);
  return false;
}

bool ListReader::block(const Descriptor& d, std::uint64_t second, Address address, unsigned source,
                       ExchangePhase& phase) {
  const auto stride1 = static_cast<std::uint32_t>(signed_field(second, 0, 19));
  const std::uint32_t count1 = (second >> 19) & 0xfff;
  const auto stride2 = static_cast<std::uint32_t>(signed_field(second, 31, 19));
  const std::uint32_t count2 = (second >> 50) & 0xfff;
  for (std::uint32_t outer = 0; outer < count2; ++outer)
    for (std::uint32_t inner = 0; inner < count1; ++inner)
      if (!piece(address + 4 * (outer * stride2 + inner * stride1), d.words, source, (d.peer & 1) != 0, phase))
        return false;
  return true;
}

bool ListReader::sweep(const Descriptor& d, std::uint64_t second, Address address, unsigned source,
                       ExchangePhase& phase) {
  const std::uint32_t count = second & 0xfff;
  const std::int32_t step = signed_field(second, 12, 12);
  const auto wrap = static_cast<std::int64_t>((second >> 24) & 0xfff);
  const auto stride = static_cast<std::uint32_t>(signed_field(second, 36, 19));
  std::int64_t from = source;
  for (std::uint32_t k = 0; k < count; ++k) {
    if (!piece(address + 4 * k * stride, d.words, from, false, phase)) return false;
    from += step;
    if (wrap != 0 && from >= wrap)
      from -= wrap;
    else if (wrap != 0 && from < 0)
      from += wrap;
  }
  return true;
}

void ListReader::descriptor(const Descriptor& d, std::uint64_t second, ExchangePhase& phase) {
  if (d.kind == 3 || (sends_ && d.kind == 2)) return fail(kBad, now_);
  const Address address = d.address * 4 + (d.base == 0 ? kBase : in_.xbase[d.base - 1]);
  const std::uint32_t source = d.peer == 0xfff ? in_.xsource : d.peer;
  switch (d.kind) {
    case 0:
      piece(address, d.words, source, (d.peer & 1) != 0, phase);
      break;
    case 1:
      block(d, second, address, source, phase);
      break;
    default:
      sweep(d, second, address, source, phase);
  }
}

void ListReader::read(Address at, std::uint32_t count, ExchangePhase& phase) {
  const Address end = at + 8 * count;
  Cycle earliest = in_.issue + kFirstStart, previous_start = 0;
  bool first = true;
  while (at < end && !fault) {
    descriptor_ = at;
    const Descriptor d = unpack(table_word(at));
    const bool two = d.kind == 1 || d.kind == 2;
    const Cycle start = in_.release + d.time;
    if (!first) earliest = std::max(earliest, previous_start + (two ? 4 : 2));
    if (start < earliest) return fail(kOverrun, start);
    now_ = start;
    if (two && at + 8 == end) return fail(kBad, start);
    descriptor(d, two ? table_word(at + 8) : 0, phase);
    if (now_ == start && !fault) (sends_ ? phase.send_quiet : phase.receive_quiet) = start;
    at += two ? 16 : 8;
    previous_start = start;
    earliest = now_;
    first = false;
  }
}

}  // namespace

ExchangePhase read_exchange_table(const ExchangeInputs& in) {
  ExchangePhase phase;
  std::uint64_t header = 0;
  std::memcpy(&header, in.sram + (in.table - kBase), sizeof header);
  const std::uint32_t sends = header & 0xffff, receives = (header >> 16) & 0xffff;
  phase.length = (header >> 32) & 0x3ffff;
  const std::uint64_t end = std::uint64_t{in.table - kBase} + 8 + 8 * (std::uint64_t{sends} + receives);
  if (end > in.sram_bytes) {
    phase.receive_fault = ExchangeResult::Fault{kBad, in.issue + kFirstStart, in.table};
    return phase;
  }
  ListReader send_list(in, true), receive_list(in, false);
  send_list.read(in.table + 8, sends, phase);
  receive_list.read(in.table + 8 + 8 * sends, receives, phase);
  phase.send_fault = send_list.fault;
  phase.receive_fault = receive_list.fault;
  return phase;
}

std::optional<ExchangeResult::Fault> first_fault(const std::optional<ExchangeResult::Fault>& send,
                                                 const std::optional<ExchangeResult::Fault>& receive) {
  if (!send) return receive;
  if (!receive) return send;
  return send->cycle < receive->cycle ? send : receive;
}

Cycle last_cycle(const ExchangePhase& phase, const std::optional<ExchangeResult::Fault>& receive_fault, Cycle issue) {
  Cycle last = std::max(issue, phase.send_quiet);
  const auto& [sends, receives] = std::tie(phase.sends, phase.receives);
  if (!sends.empty()) last = std::max(last, sends.back().start + sends.back().words - 1);
  if (!receives.empty()) last = std::max(last, receives.back().start + receives.back().words - 1);
  if (phase.send_fault) last = std::max(last, phase.send_fault->cycle);
  if (receive_fault) last = std::max(last, receive_fault->cycle);
  if (!receive_fault || receive_fault->cause != kUnderrun) last = std::max(last, phase.receive_quiet);
  return last;
}

}  // namespace tessera
