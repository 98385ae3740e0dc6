// Formats records; no comparison of its own beyond first_difference.
#include "verif/cosim/mismatch.h"

#include <fmt/format.h>

#include <cstring>

#include "hw/disassembler.h"

namespace tessera {
namespace {

const char* context_name(ContextId context) {
  static constexpr const char* kNames[] = {"supervisor", "worker 1", "worker 2", "worker 3",
                                           "worker 4",   "worker 5", "worker 6"};
  return context < 7 ? kNames[context] : "?";
}

std::string hex(std::uint64_t v) { return fmt::format("0x{:x}", v); }

std::string text(const RetireRecord::FWrite& w) {
  if (w.valid == 0) return "none";
  return fmt::format("{}{} = 0x{:x}", f_register_name(w.reg), w.valid == 2 ? " (pair)" : "", w.bits);
}

constexpr const char* kRng[] = {"s0 low", "s0 high", "s1 low", "s1 high"};

/// Word k of RetireRecord::amp_words of which `count` hold something.
std::string amp_name(unsigned count, std::size_t k) {
  if (count == 64) return fmt::format("AMP weights at byte {}", 4 * k);
  return fmt::format("AMP sum {}[{}]", k < 8 ? 'A' : 'B', k % 8);
}

/// The value as f32, which AMP sums are, beside its bits.
std::string sum(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return fmt::format("{:g}(0x{:x})", value, bits);
}

}  // namespace

void ShadowRegisters::apply(const RetireRecord& record) {
  if (record.xrd != 0) x[record.xrd & 31] = record.xval;
  for (const RetireRecord::FWrite& w : record.fwrite) {
    if (w.valid >= 1) f[w.reg & 31] = static_cast<std::uint32_t>(w.bits);
    if (w.valid == 2) f[(w.reg + 1) & 31] = static_cast<std::uint32_t>(w.bits >> 32);
  }
  fflags |= record.fflags;
}

std::optional<FieldDifference> first_difference(const RetireRecord& a, const RetireRecord& b) {
  std::optional<FieldDifference> found;
  const auto number = [&](const char* field, std::uint64_t x, std::uint64_t y) {
    if (!found && x != y) found = FieldDifference{field, hex(x), hex(y)};
  };
  if (a.cycle != b.cycle) return FieldDifference{"cycle", std::to_string(a.cycle), std::to_string(b.cycle)};
  number("context", a.context, b.context);
  number("pc", a.pc, b.pc);
  number("word", a.word, b.word);
  number("paired", a.paired, b.paired);
  number("trap", a.trap, b.trap);
  number("trap cause", a.cause, b.cause);
  number("trap value", a.tval, b.tval);
  number("next pc", a.next_pc, b.next_pc);
  number("x register number", a.xrd, b.xrd);
  number("x register value", a.xval, b.xval);
  for (std::size_t k = 0; k < a.fwrite.size(); ++k) {
    if (!found && !(a.fwrite[k] == b.fwrite[k])) {
      found = FieldDifference{fmt::format("f write {}", k), text(a.fwrite[k]), text(b.fwrite[k])};
    }
  }
  number("fflags", a.fflags, b.fflags);
  number("memory read", a.mem_read, b.mem_read);
  number("read address 0", a.read_addr[0], b.read_addr[0]);
  number("read address 1", a.read_addr[1], b.read_addr[1]);
  number("memory write", a.mem_write, b.mem_write);
  number("write address", a.write_addr, b.write_addr);
  number("write byte mask", a.write_mask, b.write_mask);
  number("write data", a.write_data, b.write_data);
  number("CSR number", a.csr, b.csr);
  number("CSR value", a.csr_value, b.csr_value);
  static constexpr const char* kRun[] = {"worker", "pc", "a0", "a1", "xwstack", "xwstksz", "xwra"};
  for (std::size_t k = 0; k < a.run.size(); ++k) {
    number(fmt::format("x.run {}", kRun[k]).c_str(), a.run[k], b.run[k]);
  }
  number("stream mask", a.streams, b.streams);
  for (std::size_t k = 0; k < a.stream_addr.size(); ++k) {
    number(fmt::format("stream S{}", k).c_str(), a.stream_addr[k], b.stream_addr[k]);
  }
  number("random number drawn", a.drew, b.drew);
  for (std::size_t k = 0; k < a.rng.size(); ++k) {
    number(fmt::format("random number state {}", kRng[k]).c_str(), a.rng[k], b.rng[k]);
  }
  number("words of AMP state", a.amp, b.amp);
  for (std::size_t k = 0; k < a.amp && !found; ++k) {
    if (a.amp_words[k] != b.amp_words[k]) number(amp_name(a.amp, k).c_str(), a.amp_words[k], b.amp_words[k]);
  }
  return found;
}

std::string describe(const RetireRecord& r) {
  std::string line = fmt::format("{:>10} {:<10} {:08x}: {:08x}  {:<28}", r.cycle, context_name(r.context), r.pc, r.word,
                                 disassemble(r.word, r.pc));
  if (r.paired) line += " pair";
  if (r.trap) line += fmt::format(" TRAP cause {} value 0x{:x}", r.cause, r.tval);
  if (r.xrd != 0) line += fmt::format(" {}=0x{:x}", x_register_name(r.xrd), r.xval);
  for (const auto& w : r.fwrite) {
    if (w.valid != 0) line += " " + text(w);
  }
  if (r.fflags != 0) line += fmt::format(" fflags+0x{:02x}", r.fflags);
  if (r.mem_read) line += fmt::format(" read 0x{:x}", r.read_addr[0]);
  if (r.read_addr[1] != 0) line += fmt::format(" and 0x{:x}", r.read_addr[1]);
  if (r.mem_write)
    line += fmt::format(" write 0x{:x} mask 0x{:x} data 0x{:x}", r.write_addr, r.write_mask, r.write_data);
  if (r.csr != 0) line += fmt::format(" csr 0x{:x}=0x{:x}", r.csr, r.csr_value);
  if (r.run[0] != 0)
    line += fmt::format(" run worker {} pc 0x{:x} a0 0x{:x} a1 0x{:x}", r.run[0], r.run[1], r.run[2], r.run[3]);
  for (unsigned k = 0; k < r.stream_addr.size(); ++k) {
    if ((r.streams >> k & 1) != 0) line += fmt::format(" S{}=0x{:x}", k, r.stream_addr[k]);
  }
  if (r.drew)
    line += fmt::format(" random s0=0x{:08x}{:08x} s1=0x{:08x}{:08x}", r.rng[1], r.rng[0], r.rng[3], r.rng[2]);
  if (r.amp == 16) {
    line += " A";
    for (unsigned k = 0; k < 16; ++k) line += (k == 8 ? " B " : k == 0 ? " " : ",") + sum(r.amp_words[k]);
  } else if (r.amp == 64) {
    line += fmt::format(" weights {:08x} {:08x} .. {:08x}", r.amp_words[0], r.amp_words[1], r.amp_words[63]);
  }
  line += fmt::format(" -> {:08x}", r.next_pc);
  return line;
}

namespace {

void add_registers(std::string& out, const char* title, const std::array<std::uint32_t, 32>& a,
                   const std::array<std::uint32_t, 32>& b, const char* (*name)(unsigned)) {
  out += fmt::format("  {}\n", title);
  for (unsigned k = 0; k < 32; ++k) {
    if (a[k] == b[k]) {
      out += fmt::format("   {:>5} {:08x}            ", name(k), a[k]);
    } else {
      out += fmt::format("  *{:>5} {:08x} | {:08x} ", name(k), a[k], b[k]);
    }
    if (k % 4 == 3) out += "\n";
  }
}

}  // namespace

std::string mismatch_report(const RetireRecord* tlm, const RetireRecord* rtl, const std::vector<RetireRecord>& before,
                            const ShadowRegisters& before_state, const std::function<std::string(Address)>& symbol) {
  std::string out;
  if (tlm != nullptr && rtl != nullptr) {
    if (const auto d = first_difference(*tlm, *rtl)) {
      out += fmt::format("first difference: {}: TLM {}, RTL {}\n", d->field, d->tlm, d->rtl);
    }
  }
  const RetireRecord& at = tlm != nullptr ? *tlm : *rtl;
  if (symbol) {
    if (const std::string place = symbol(at.pc); !place.empty()) out += fmt::format("at: {}\n", place);
  }
  out += fmt::format("TLM: {}\n", tlm != nullptr ? describe(*tlm) : "retired nothing");
  out += fmt::format("RTL: {}\n", rtl != nullptr ? describe(*rtl) : "retired nothing");
  out += fmt::format("last {} instructions of the context, in both:\n", before.size());
  for (const RetireRecord& r : before) out += "  " + describe(r) + "\n";
  ShadowRegisters a = before_state, b = before_state;
  if (tlm != nullptr) a.apply(*tlm);
  if (rtl != nullptr) b.apply(*rtl);
  out += "registers after it (* differs: TLM | RTL)\n";
  add_registers(out, "x", a.x, b.x, x_register_name);
  if (at.context != 0) add_registers(out, "f", a.f, b.f, f_register_name);
  if (a.fflags != b.fflags) out += fmt::format("  *fflags raised so far {:02x} | {:02x}\n", a.fflags, b.fflags);
  return out;
}

}  // namespace tessera
