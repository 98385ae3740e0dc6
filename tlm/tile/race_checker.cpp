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
  if (lately.doubleword == doubleword && lately.epoch == epoch && (lately.mask & mask) == mask) return;
  touch(record, record.pc, 4, false, true);
  const bool same = lately.doubleword == doubleword && lately.epoch == epoch;
  lately = {doubleword, epoch, static_cast<std::uint8_t>(same ? lately.mask | mask : mask)};
}

void RaceChecker::touch(const RetireRecord& record, Address address, unsigned bytes, bool write, bool fetch) {
  // Accesses are aligned to their size, so none crosses a doubleword.
  const auto mask = static_cast<std::uint8_t>(((1u << bytes) - 1) << (address & 7));
  touch_doubleword(record.cycle, address & ~7u,
                   {mask, record.context, write, fetch, seen_[record.context][record.context], record.pc});
}

void RaceChecker::touch_doubleword(Cycle cycle, Address doubleword, const Access& now) {
  std::vector<Access>& accesses = doublewords_[doubleword];
  bool known = false;
  for (const Access& before : accesses) {
    if (before.context == now.context) {
      known = known || (before.write == now.write && before.epoch == now.epoch && (now.mask & ~before.mask) == 0);
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
  const auto covered = [&now](const Access& a) {
    return a.context == now.context && a.write == now.write && (a.mask & ~now.mask) == 0;
  };
  accesses.erase(std::remove_if(accesses.begin(), accesses.end(), covered), accesses.end());
  accesses.push_back(now);
}

void RaceChecker::waited(std::uint8_t workers) {
  for (unsigned w = 1; w < 7; ++w) {
    if ((workers >> (w - 1) & 1) == 0) continue;
    for (unsigned d = 0; d < 7; ++d) seen_[0][d] = std::max(seen_[0][d], seen_[w][d]);
  }
  // Whatever comes now is ordered behind all that was: of the supervisor itself, or of a worker that it starts.
  if (workers == 0x3f) {
    doublewords_.clear();
    fetched_ = {};
  }
}

void RaceChecker::started(unsigned worker) {
  ++seen_[worker][worker];
  for (unsigned d = 0; d < 7; ++d)
    if (d != worker) seen_[worker][d] = std::max(seen_[worker][d], seen_[0][d]);
}

}  // namespace tessera
