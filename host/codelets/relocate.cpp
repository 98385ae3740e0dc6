// RV32 relocations of the psABI, without relaxation (relocate.h).
#include "host/codelets/relocate.h"

#include <fmt/format.h>

#include <stdexcept>

#include "host/codelets/riscv.h"

namespace tessera {

using namespace riscv;

namespace {

std::int32_t reach(std::uint32_t target, std::uint32_t pc, unsigned bits) {
  const auto delta = static_cast<std::int32_t>(target - pc);
  const std::int32_t limit = std::int32_t{1} << (bits - 1);
  if (delta < -limit || delta >= limit || delta % 2 != 0)
    throw std::logic_error(fmt::format("relocation at {:#x} does not reach {:#x}", pc, target));
  return delta;
}

void patch(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint32_t keep, std::uint32_t set) {
  store32(bytes, at, (load32(bytes, at) & keep) | set);
}

std::uint32_t load_bytes(const std::vector<std::uint8_t>& bytes, std::size_t at, unsigned count) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(bytes.at(at + i)) << (8 * i);
  return value;
}

void store_bytes(std::vector<std::uint8_t>& bytes, std::size_t at, unsigned count, std::uint32_t value) {
  for (unsigned i = 0; i < count; ++i) bytes.at(at + i) = static_cast<std::uint8_t>(value >> (8 * i));
}

}  // namespace

void relocate(std::vector<std::uint8_t>& bytes, Address address, const std::vector<Relocation>& relocations,
              const SymbolValue& value) {
  // A PCREL_LO12 names the label of its AUIPC; the distance is that of the PCREL_HI20 there.
  const auto pcrel_low = [&](const Relocation& low) -> std::uint32_t {
    const std::uint32_t hi_pc = value(low.symbol, 0);
    for (const auto& hi : relocations)
      if (hi.type == kPcrelHi20 && address + hi.offset == hi_pc) return value(hi.symbol, hi.addend) - hi_pc;
    throw std::logic_error(fmt::format("PCREL_LO12 at {:#x} without its PCREL_HI20", address + low.offset));
  };
  for (const auto& r : relocations) {
    const std::uint32_t pc = address + r.offset;
    const std::size_t at = r.offset;
    if (r.type == kNone || r.type == kRelax || r.type == kAlign) continue;
    if (r.type == kPcrelLo12I || r.type == kPcrelLo12S) {
      const std::uint32_t low = pcrel_low(r);
      patch(bytes, at, r.type == kPcrelLo12I ? kMaskI : kMaskS, r.type == kPcrelLo12I ? encode_i(low) : encode_s(low));
      continue;
    }
    const std::uint32_t v = value(r.symbol, r.addend);
    switch (r.type) {
      case k32:
      case kSet32:
        store32(bytes, at, v);
        break;
      case k32Pcrel:
        store32(bytes, at, v - pc);
        break;
      case kBranch:
        patch(bytes, at, kMaskB, encode_b(reach(v, pc, 13)));
        break;
      case kJal:
        patch(bytes, at, kMaskJ, encode_j(reach(v, pc, 21)));
        break;
      case kCall:
      case kCallPlt:
        patch(bytes, at, kMaskU, hi20(v - pc));
        patch(bytes, at + 4, kMaskI, encode_i(v - pc));
        break;
      case kPcrelHi20:
        patch(bytes, at, kMaskU, hi20(v - pc));
        break;
      case kHi20:
        patch(bytes, at, kMaskU, hi20(v));
        break;
      case kLo12I:
        patch(bytes, at, kMaskI, encode_i(v));
        break;
      case kLo12S:
        patch(bytes, at, kMaskS, encode_s(v));
        break;
      case kAdd8:
        store_bytes(bytes, at, 1, load_bytes(bytes, at, 1) + v);
        break;
      case kAdd16:
        store_bytes(bytes, at, 2, load_bytes(bytes, at, 2) + v);
        break;
      case kAdd32:
        store32(bytes, at, load32(bytes, at) + v);
        break;
      case kSub8:
        store_bytes(bytes, at, 1, load_bytes(bytes, at, 1) - v);
        break;
      case kSub16:
        store_bytes(bytes, at, 2, load_bytes(bytes, at, 2) - v);
        break;
      case kSub32:
        store32(bytes, at, load32(bytes, at) - v);
        break;
      case kSet6:
        store_bytes(bytes, at, 1, (load_bytes(bytes, at, 1) & 0xc0) | (v & 0x3f));
        break;
      case kSub6: {
        const std::uint32_t old = load_bytes(bytes, at, 1);
        store_bytes(bytes, at, 1, (old & 0xc0) | ((old - v) & 0x3f));
        break;
      }
      case kSet8:
        store_bytes(bytes, at, 1, v);
        break;
      case kSet16:
        store_bytes(bytes, at, 2, v);
        break;
      default:
        throw std::logic_error(fmt::format("relocation type {} at {:#x} is not known", r.type, pc));
    }
  }
}

}  // namespace tessera
