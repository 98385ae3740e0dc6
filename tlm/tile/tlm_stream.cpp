// 64- and 128-bit accesses with post-increment, and the three streams of a worker (docs/machine/tile.md and isa.md).
// All addresses are checked before anything happens; pointers wrap and may rest anywhere.
#include <cstring>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

using isa::Op;

namespace {

std::uint64_t pair(const TileContext& c, unsigned number) { return c.f[number] | std::uint64_t{c.f[number + 1]} << 32; }

void write_pair(TileContext& c, unsigned number, std::uint64_t bits, RetireRecord::FWrite& record) {
  c.f[number] = static_cast<std::uint32_t>(bits);
  c.f[number + 1] = static_cast<std::uint32_t>(bits >> 32);
  record = {2, static_cast<std::uint8_t>(number), bits};
}

/// Bytes by which stream k moves.
std::uint32_t step_bytes(const TileContext& c, std::uint32_t word, unsigned k) {
  switch (isa::stream_step(word, k)) {
    case 0:
      return 8;
    case 1:
      return 8u * static_cast<std::uint32_t>(static_cast<std::int16_t>(c.stride[k]));
    case 2:
      return 8u * static_cast<std::uint32_t>(static_cast<std::int16_t>(c.stride[k] >> 16));
    default:
      return 0;
  }
}

}  // namespace

std::uint64_t TlmTile::doubleword(Address address) const {
  std::uint64_t value = 0;
  std::memcpy(&value, sram_.data() + (address - kSramBase), sizeof value);
  return value;
}

void TlmTile::write_doubleword(Address address, std::uint64_t value, Step& step) {
  const std::uint32_t offset = address - kSramBase;
  std::memcpy(sram_.data() + offset, &value, sizeof value);
  step.record.mem_write = true;
  step.record.write_addr = address;
  step.record.write_mask = 0xff;
  step.record.write_data = value;
  if (line_flags_[offset >> kLineBits] != 0) stored(address, sizeof value, step.record.cycle);
}

TlmTile::Outcome TlmTile::execute_wide(TileContext& c, const Decoded& in, Step& step) {
  if (!c.fs) return step.raise(trap::illegal_instruction, in.word);
  const auto op = static_cast<Op>(in.op);
  const bool store = op == Op::x_st64 || op == Op::x_st64_r;
  const bool quad = op == Op::x_ld128 || op == Op::x_ld128_r;
  const bool by_register = op == Op::x_ld64_r || op == Op::x_ld128_r || op == Op::x_st64_r;
  const Address address = c.x[in.rs1];
  const std::uint32_t by = by_register ? c.x[in.rs2] : static_cast<std::uint32_t>(in.imm);
  const std::uint32_t bytes = quad ? 16 : 8;
  if (address % 8 != 0) return step.raise(store ? trap::store_misaligned : trap::load_misaligned, address);
  if (address - kSramBase > sram_.size() - bytes)
    return step.raise(store ? trap::store_access : trap::load_access, address);
  if (store) {
    write_doubleword(address, pair(c, op == Op::x_st64 ? in.rs2 : in.rd), step);
  } else {
    step.record.mem_read = true;
    for (unsigned k = 0; k < bytes / 8; ++k) {
      step.record.read_addr[k] = address + 8 * k;
      write_pair(c, in.rd + 2 * k, doubleword(address + 8 * k), step.record.fwrite[k]);
    }
  }
  write_x(c, in.rs1, address + by, step);
  return Outcome::done;
}

TlmTile::Outcome TlmTile::execute_streams(TileContext& c, const Decoded& in, Step& step) {
  if (!c.fs) return step.raise(trap::illegal_instruction, in.word);
  const auto op = static_cast<Op>(in.op);
  const unsigned loads = op == Op::x_ldst ? 1 : 2;  // S0, then S1
  const bool store = op != Op::x_ld2;
  const auto inside = [this](Address address) { return address - kSramBase <= sram_.size() - 8; };
  for (unsigned k = 0; k < loads; ++k) {
    if (c.stream[k] % 8 != 0) return step.raise(trap::load_misaligned, c.stream[k]);
    if (!inside(c.stream[k])) return step.raise(trap::load_access, c.stream[k]);
  }
  if (store && c.stream[2] % 8 != 0) return step.raise(trap::store_misaligned, c.stream[2]);
  if (store && !inside(c.stream[2])) return step.raise(trap::store_access, c.stream[2]);

  // Loads see memory before the store; the store's data is read before the loads write.
  RetireRecord& record = step.record;
  const std::uint64_t out = store ? pair(c, in.rs2) : 0;
  const unsigned target[2] = {in.rd, in.rs1};
  const auto advance = [&](unsigned k) {
    c.stream[k] += step_bytes(c, in.word, k);
    record.streams |= static_cast<std::uint8_t>(1u << k);
    record.stream_addr[k] = c.stream[k];
  };
  record.mem_read = true;
  for (unsigned k = 0; k < loads; ++k) {
    record.read_addr[k] = c.stream[k];
    write_pair(c, target[k], doubleword(c.stream[k]), record.fwrite[k]);
    advance(k);
  }
  if (store) {
    write_doubleword(c.stream[2], out, step);
    advance(2);
  }
  return Outcome::done;
}

TlmTile::Outcome TlmTile::set_stream(TileContext& c, const Decoded& in, Step& step) {
  const unsigned k = in.word >> 25 & 3;
  c.stream[k] = c.x[in.rs1];
  c.stride[k] = c.x[in.rs2];
  step.record.streams = static_cast<std::uint8_t>(1u << k);
  step.record.stream_addr[k] = c.stream[k];
  return Outcome::done;
}

}  // namespace tessera
