// Points of the exchange engine, packet windows and the debug port: read off the tables that the tile is about to run.
#include <fmt/format.h>

#include <cstring>

#include "hw/generated/machine.h"
#include "verif/coverage/collector.h"

namespace tessera::coverage {

namespace {

std::uint64_t word_at(const std::uint8_t* sram, Address at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, sram + (at - kSramBase), 8);
  return bits;
}

/// One list of an exchange table, walked as docs/machine/exchange.md says.
class List {
 public:
  List(Collector& collector, const ExchangeInputs& in, bool receive)
      : collector_(collector), in_(in), receive_(receive), name_(receive ? "receive" : "send") {}

  void walk(Address at, std::uint64_t words) {
    const Address end = at + static_cast<Address>(8 * words);
    const Address sram_end = kSramBase + in_.sram_bytes;
    while (at < end && at + 8 <= sram_end) {
      const auto d = ExchangeDescriptor::unpack(word_at(in_.sram, at));
      const bool two = d.kind == 1 || d.kind == 2;
      if (!starts(d, two)) return;
      if (d.kind == 3 || (d.kind == 2 && !receive_)) return bad("kind");
      if (two && at + 16 > end) return bad("cut-in-two");
      const std::uint64_t second = two && at + 16 <= sram_end ? word_at(in_.sram, at + 8) : 0;
      if (!describe(d, second)) return;
      at += two ? 16 : 8;
    }
  }

 private:
  void hit(const std::string& what) { collector_.hit(fmt::format("exchange/{}/{}", name_, what)); }
  void bad(const char* what) { hit(fmt::format("bad/{}", what)); }

  /// The start rule; false if it is broken.
  bool starts(const ExchangeDescriptor& d, bool two) {
    const Cycle start = in_.release + d.start;
    if (first_) {
      if (start < in_.issue + 12) {
        hit("overrun/first");
        return false;
      }
      hit(start == in_.issue + 12 ? "first-start/at-x+12" : "first-start/later");
    } else {
      const Cycle gap = two ? 4 : 2;
      if (start < start_ + gap) {
        hit(two ? "overrun/spacing-two-words" : "overrun/spacing");
        return false;
      }
      if (start < end_) {
        hit("overrun/before-end");
        return false;
      }
      if (start == end_) hit("next-start/at-end");
      if (start == start_ + gap) hit(two ? "next-start/at-4-two-words" : "next-start/at-2");
      if (start > end_ && start > start_ + gap) hit("next-start/later");
    }
    first_ = false;
    start_ = start;
    return true;
  }

  /// Kind, length, base; false at an address outside.
  bool describe(const ExchangeDescriptor& d, std::uint64_t second) {
    const std::uint64_t words = d.words == 0 ? 4096 : d.words;
    const std::uint64_t base = d.base == 0 ? kSramBase : in_.xbase[d.base - 1];
    const std::uint64_t first = (base + 4 * d.address) & 0xffffffffu;
    const std::uint64_t sram_end = kSramBase + in_.sram_bytes;
    const bool self = receive_ && d.kind != 2 && d.peer == collector_self_;
    hit(fmt::format("kind/{}", d.kind == 0 ? "linear" : d.kind == 1 ? "block" : "sweep"));
    hit(fmt::format("base/{}", d.base));
    hit(fmt::format("words/{}", words == 1 ? "1" : words == 2 ? "2" : words < 16 ? "3-to-15" : "above"));
    if (receive_ && d.kind != 2 && d.peer == 0xfff) collector_.hit("exchange/who/xsource");
    if (self) collector_.hit("exchange/who/itself");
    std::uint64_t moved = words;
    if (d.kind == 1) {
      const auto b = ExchangeBlock::unpack(second);
      if (b.count1 == 0 || b.count2 == 0) hit("block/count-0");
      if (b.stride1 < 0) hit("block/negative-stride1");
      if (b.stride2 < 0) hit("block/negative-stride2");
      if (b.count2 > 1) hit("block/count2-above-1");
      moved = words * b.count1 * b.count2;
    } else if (d.kind == 2) {
      const auto s = ExchangeSweep::unpack(second);
      if (s.count == 0) collector_.hit("exchange/sweep/count-0");
      if (s.step < 0) collector_.hit("exchange/sweep/negative-step");
      collector_.hit(s.wrap != 0 ? "exchange/sweep/wrap" : "exchange/sweep/no-wrap");
      if (s.stride < 0) collector_.hit("exchange/sweep/negative-stride");
      moved = words * s.count;
    }
    const std::uint64_t source = d.peer == 0xfff && d.kind != 2 ? in_.xsource : d.peer;
    if (receive_ && moved != 0 && source >= in_.tiles) {
      bad("source");
      return false;
    }
    if (moved != 0 && (first < kSramBase || first >= sram_end)) {
      bad("address");
      return false;
    }
    if (d.kind == 0 && first + 4 * words > sram_end) {
      bad("address-in-run");
      return false;
    }
    end_ = start_ + moved;
    return true;
  }

 public:
  unsigned collector_self_ = 0;

 private:
  Collector& collector_;
  const ExchangeInputs& in_;
  bool receive_;
  const char* name_;
  bool first_ = true;
  Cycle start_ = 0, end_ = 0;
};

}  // namespace

void Collector::released(Cycle z) {
  release_ = z;
  hit(fmt::format("exchange/release-slot/{}", z % 6));
}

void Collector::exchange(const ExchangeInputs& in) {
  exchange_issue_ = in.issue;
  const Cycle behind = in.issue - in.release;
  hit(behind == 0 ? "exchange/issue/at-release" : behind <= 30 ? "exchange/issue/within-30" : "exchange/issue/later");
  const auto header = ExchangeHeader::unpack(word_at(in.sram, in.table));
  hit(header.sends == 0 && header.receives == 0 ? "exchange/table/empty"
      : header.receives == 0                    ? "exchange/table/send-only"
      : header.sends == 0                       ? "exchange/table/receive-only"
                                                : "exchange/table/both");
  List send(*this, in, false), receive(*this, in, true);
  send.collector_self_ = receive.collector_self_ = config_.tile;
  const Address first = in.table + 8;
  send.walk(first, header.sends);
  receive.walk(first + static_cast<Address>(8 * header.sends), header.receives);
  const ExchangePhase phase = read_exchange_table(in);
  if (phase.send_fault && phase.receive_fault) {
    hit("exchange/fault/both-lists");
    hit(phase.send_fault->cycle < phase.receive_fault->cycle ? "exchange/fault/send-first"
                                                             : "exchange/fault/receive-first");
  }
}

void Collector::exchange_ended(const ExchangeResult& result) {
  if (result.underrun) hit("exchange/fault/27-underrun");
  hit(exchange_issue_ + 12 >= result.last_word + 4 ? "exchange/ends/x+12" : "exchange/ends/l+4");
}

void Collector::packet(Address table, const std::uint8_t* sram) {
  const Address end = kSramBase + config_.sram_bytes;
  if (table < kSramBase || table + 8 > end || table % 8 != 0) return;
  const auto header = PacketHeader::unpack(word_at(sram, table));
  hit(header.expected != 0 ? "packet/expects/some" : "packet/expects/none");
  if (header.descriptors == 0) hit("packet/window/empty");
  for (std::uint64_t n = 0; n < header.descriptors; ++n) {
    const Address at = table + 8 + static_cast<Address>(16 * n);
    if (at + 16 > end) return;
    const auto d = PacketDescriptor::unpack(word_at(sram, at));
    const auto remote = PacketRemote::unpack(word_at(sram, at + 8));
    if (d.kind == 1 || d.kind == 2) hit(d.kind == 1 ? "packet/kind/write" : "packet/kind/read");
    hit(fmt::format("packet/local-base/{}", d.local_base));
    hit(fmt::format("packet/remote-base/{}", d.remote_base));
    if (d.words != 0)
      hit(fmt::format("packet/words/{}", d.words == 1 ? "1" : d.words <= 256 ? "2-to-256" : "above-256"));
    if (remote.kind == 0 || remote.kind == 2) hit(remote.kind == 0 ? "packet/remote/tile" : "packet/remote/host");
    if (remote.offset % 1024 + 4 * d.words > 1024) hit("packet/crosses/1-KiB");
  }
}

void Collector::packet_ended(bool fault) { hit(fault ? "packet/window/fault" : "packet/window/complete"); }

void Collector::debug_halt(unsigned context, Cycle at, ContextState::Run state) {
  const Cycle slot = context == 0 ? at % 6 : (at + 6 - (context - 1)) % 6;
  hit(fmt::format("debug/halt/{}/{}", context == 0 ? "supervisor" : "worker", slot));
  switch (state) {
    case ContextState::Run::idle:
      return hit("debug/halt-meets/idle");
    case ContextState::Run::running:
      return hit("debug/halt-meets/running");
    case ContextState::Run::excepted:
      return hit("debug/halt-meets/excepted");
    case ContextState::Run::halted:
      return hit("debug/halt-meets/halted");
    case ContextState::Run::waiting:
      return hit("debug/halt-meets/sync-wait");
  }
}

void Collector::debug_write(unsigned context, DebugSpace space, unsigned number, std::uint32_t value) {
  if (space == DebugSpace::x) hit("debug/write/x");
  if (space == DebugSpace::f) hit("debug/write/f");
  if (space == DebugSpace::csr) hit("debug/write/csr");
  if (space == DebugSpace::pc) hit("debug/write/pc");
  if (space == DebugSpace::csr && number == csr::xdcsr) contexts_[context].stepping = (value & 4) != 0;
}

void Collector::debug_read(unsigned context, DebugSpace space, unsigned number, std::uint32_t value) {
  // A halt at a breakpoint leaves no record; its cause can be read.
  if (space == DebugSpace::csr && number == csr::xdcsr && (value >> 6 & 7) == 1)
    hit(context == 0 ? "debug/breakpoint/supervisor" : "debug/breakpoint/worker");
}

void Collector::debug_resume(unsigned context, Cycle at) {
  const Cycle slot = context == 0 ? at % 6 : (at + 6 - (context - 1)) % 6;
  hit(fmt::format("debug/resume/{}/{}", context == 0 ? "supervisor" : "worker", slot));
}

}  // namespace tessera::coverage
