// Happens-before by vector clocks, one epoch a context and start; accesses by doubleword with a mask of bytes.
#include "tlm/tile/race_checker.h"

#include <algorithm>

#include "hw/generated/isa.h"

namespace tessera {

using isa::Op;

namespace {

/// Bytes of each read of a load.
unsigned read_bytes(Op op) {
  switch (op) {
    case Op::lb:
    case Op::lbu:
      return 1;
    case Op::lh:
    case Op::lhu:
      return 2;
    case Op::lw:
    case Op::flw:
      return 4;
    default:
      return 8;
  }
}

bool reads_twice(Op op) { return op == Op::x_ld128 || op == Op::x_ld128_r || op == Op::x_ld2 || op == Op::x_ld2st; }

}  // namespace

void RaceChecker::retired(const RetireRecord& record) {
  if (race_ || record.trap) return;
  fetch(record);
  if (record.mem_read) {
    const Op op = isa::decode(record.word);
    touch(record, record.read_addr[0], read_bytes(op), false, false);
    if (reads_twice(op)) touch(record, record.read_addr[1], 8, false, false);
  }
  if (record.mem_write)
    touch(record, record.write_addr, static_cast<unsigned>(__builtin_popcount(record.write_mask)), true, false);
  const unsigned which = record.run[0];
  if (which == 0) return;
  for (unsigned w = 1; w < 7; ++w)
    if (which == 7 || which == w) started(w);
  ++seen_[0][0];  // what the supervisor does from now on is not ordered before them
}

void RaceChecker::fetch(const RetireRecord& record) {
  const Address doubleword = record.pc & ~7u;
  const auto mask = static_cast<std::uint8_t>(0xfu << (record.pc & 7));
  const std::uint32_t epoch = seen_[record.context][record.context];
  Fetched& lately = fetched_[record.context][doubleword / 8 % kFetched];
  const bool same = lately.doubleword == doubleword && lately.epoch == epoch && lately.generation == generation_;
  if (same && (lately.mask & mask) == mask) return;
  touch(record, record.pc, 4, false, true);
  lately = {doubleword, generation_, epoch, static_cast<std::uint8_t>(same ? lately.mask | mask : mask)};
}

void RaceChecker::touch(const RetireRecord& record, Address address, unsigned bytes, bool write, bool fetch) {
  // Accesses are aligned to their size, so none crosses a doubleword.
  const auto mask = static_cast<std::uint8_t>(((1u << bytes) - 1) << (address & 7));
  touch_doubleword(record.cycle, address & ~7u,
                   {mask, record.context, write, fetch, seen_[record.context][record.context], record.pc, kNone});
}

std::size_t RaceChecker::place(Address doubleword) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (doubleword / 8 * 0x9E3779B1u >> 7) & mask;
  while (slots_[at].generation == generation_ && slots_[at].doubleword != doubleword) at = (at + 1) & mask;
  return at;
}

void RaceChecker::grow() {
  std::vector<Slot> old(std::max<std::size_t>(256, 2 * slots_.size()));
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.generation == generation_) slots_[place(slot.doubleword)] = slot;
}

RaceChecker::Slot& RaceChecker::slot(Address doubleword) {
  if (2 * used_ >= slots_.size()) grow();
  Slot& slot = slots_[place(doubleword)];
  if (slot.generation != generation_) {
    slot = {doubleword, generation_};
    ++used_;
  }
  return slot;
}

void RaceChecker::append(Slot& slot, const Access& access) {
  std::uint32_t number = free_;
  if (number == kNone) {
    number = static_cast<std::uint32_t>(accesses_.size());
    accesses_.push_back(access);
  } else {
    free_ = accesses_[number].next;
    accesses_[number] = access;
  }
  (slot.last == kNone ? slot.first : accesses_[slot.last].next) = number;
  slot.last = number;
}

void RaceChecker::remove_covered(Slot& slot, const Access& now) {
  std::uint32_t kept = kNone;
  for (std::uint32_t number = slot.first, next = kNone; number != kNone; number = next) {
    Access& a = accesses_[number];
    next = a.next;
    if (a.context != now.context || a.write != now.write || (a.mask & ~now.mask) != 0) {
      kept = number;
      continue;
    }
    (kept == kNone ? slot.first : accesses_[kept].next) = next;
    a.next = free_;
    free_ = number;
  }
  slot.last = kept;
}

void RaceChecker::forget_all() {
  ++generation_;  // 2^32 syncs are more than a tile lives to see
  used_ = 0;
  accesses_.clear();
  free_ = kNone;
}

void RaceChecker::touch_doubleword(Cycle cycle, Address doubleword, const Access& now) {
  Slot& touched = slot(doubleword);
  bool known = false, covers = false;
  for (std::uint32_t number = touched.first; number != kNone; number = accesses_[number].next) {
    const Access& before = accesses_[number];
    if (before.context == now.context) {
      if (before.write != now.write) continue;
      known = known || (before.epoch == now.epoch && (now.mask & ~before.mask) == 0);
      covers = covers || (before.mask & ~now.mask) == 0;
      continue;
    }
    const std::uint8_t common = before.mask & now.mask;
    if (common == 0 || !(before.write || now.write)) continue;
    if (before.epoch <= seen_[now.context][before.context]) continue;
    race_ = TileRace{};
    race_->cycle = cycle;
    race_->address = doubleword + static_cast<Address>(__builtin_ctz(common));
    race_->first = {before.context, before.pc, before.write, before.fetch};
    race_->second = {now.context, now.pc, now.write, now.fetch};
    return;
  }
  if (known) return;
  // What covers an older access of the same context and kind is enough to know: whoever is ordered behind it is
  // ordered behind the older one.
  if (covers) remove_covered(touched, now);
  append(touched, now);
}

void RaceChecker::waited(std::uint8_t workers) {
  for (unsigned w = 1; w < 7; ++w) {
    if ((workers >> (w - 1) & 1) == 0) continue;
    for (unsigned d = 0; d < 7; ++d) seen_[0][d] = std::max(seen_[0][d], seen_[w][d]);
  }
  // Whatever comes now is ordered behind all that was: of the supervisor itself, or of a worker that it starts.
  if (workers == 0x3f) forget_all();
}

void RaceChecker::started(unsigned worker) {
  ++seen_[worker][worker];
  for (unsigned d = 0; d < 7; ++d)
    if (d != worker) seen_[worker][d] = std::max(seen_[worker][d], seen_[0][d]);
}

}  // namespace tessera
