#include "host/cli/machine_dump.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/disassembler.h"
#include "hw/generated/machine.h"

namespace tessera::cli {

namespace {

constexpr unsigned kCodeBefore = 3, kCodeAfter = 2;  // instructions around the pc
constexpr unsigned kStackWords = 8;
constexpr std::size_t kMostTiles = 16;

constexpr std::array<const char*, 5> kRun = {"idle", "running", "waiting", "halted", "excepted"};

TileModel& model(Machine& machine, TileRef tile) { return machine.system().chip(tile.ipu).ipu().tile(tile.tile); }

/// A word of the tile's memory; false outside of it.
bool read_word(Machine& machine, TileRef tile, Address address, std::uint32_t& word) {
  const std::uint32_t bytes = machine.platform().sram_bytes;
  if (address < kSramBase || address % 4 != 0 || address - kSramBase > bytes - 4) return false;
  std::array<std::uint8_t, 4> raw{};
  model(machine, tile).read_memory(address, raw.data(), raw.size());
  word = raw[0] | raw[1] << 8 | raw[2] << 16 | static_cast<std::uint32_t>(raw[3]) << 24;
  return true;
}

std::string code_text(Machine& machine, TileRef tile, Address pc) {
  std::string text;
  for (unsigned i = 0; i <= kCodeBefore + kCodeAfter; ++i) {
    const Address at = pc - 4 * kCodeBefore + 4 * i;
    std::uint32_t word = 0;
    if (!read_word(machine, tile, at, word)) continue;
    text += fmt::format("\n    {} 0x{:05x}: {:08x}  {}", at == pc ? ">" : " ", at, word, disassemble(word, at));
  }
  return text;
}

/// Registers that are not zero, eight a line.
std::string registers_text(const std::array<std::uint32_t, 32>& values, const char* (*name)(unsigned)) {
  std::string text;
  unsigned count = 0;
  for (unsigned r = 0; r < values.size(); ++r) {
    if (values[r] == 0) continue;
    text += fmt::format("{}{:>4}={:08x}", count % 8 == 0 ? "\n   " : " ", name(r), values[r]);
    ++count;
  }
  return text;
}

std::string stack_text(Machine& machine, TileRef tile, Address sp) {
  std::string text;
  for (unsigned i = 0; i < kStackWords; ++i) {
    std::uint32_t word = 0;
    if (!read_word(machine, tile, sp + 4 * i, word)) break;
    text += fmt::format(" {:08x}", word);
  }
  return text.empty() ? text : fmt::format("\n    stack at 0x{:05x}:{}", sp, text);
}

std::string tile_text(Machine& machine, TileRef tile) {
  std::string text;
  for (ContextId c = 0; c < kContexts; ++c) {
    ContextState state = model(machine, tile).context(c);
    // What is on its way through a pipeline counts: the chip has been told of it.
    const auto& first = std::as_const(machine.system()).chip(tile.ipu).ipu().exception();
    if (first && first->tile == tile.tile && first->exception.context == c) {
      state.run = ContextState::Run::excepted;
      state.mcause = first->exception.cause;
      state.mepc = first->exception.pc;
      state.mtval = first->exception.tval;
    }
    if (c != 0 && state.run == ContextState::Run::idle) continue;
    text +=
        fmt::format("IPU {} tile {} {}: {}", tile.ipu, tile.tile, c == 0 ? "supervisor" : fmt::format("worker {}", c),
                    kRun.at(static_cast<std::size_t>(state.run)));
    const std::string symbol = machine.symbol(tile, state.pc);
    text += fmt::format(", pc 0x{:05x}{}", state.pc, symbol.empty() ? "" : " (" + symbol + ")");
    if (state.run == ContextState::Run::excepted)
      text += fmt::format(", cause {} ({}), mepc 0x{:05x}, mtval 0x{:x}", state.mcause,
                          driver::cause_name(state.mcause), state.mepc, state.mtval);
    text += context_dump(machine, tile, c) + stack_text(machine, tile, state.x[2]) + "\n";
  }
  return text;
}

/// Tiles to look at: the excepted one, or one of each group that stands alike.
std::vector<unsigned> tiles_of_interest(const Ipu& ipu) {
  if (const auto& first = ipu.exception()) return {first->tile};
  std::map<std::tuple<TileStatus, Address>, unsigned> groups;
  for (unsigned t = 0; t < ipu.tiles(); ++t)
    if (ipu.active(t)) groups.try_emplace({ipu.status(t), ipu.tile(t).context(0).pc}, t);
  std::vector<unsigned> tiles;
  for (const auto& [stand, t] : groups)
    if (tiles.size() < kMostTiles) tiles.push_back(t);
  return tiles;
}

}  // namespace

std::string context_dump(Machine& machine, TileRef tile, ContextId context) {
  const ContextState state = model(machine, tile).context(context);
  const Address pc = state.run == ContextState::Run::excepted ? state.mepc : state.pc;
  std::string text = code_text(machine, tile, pc) + registers_text(state.x, x_register_name);
  if (context != 0) text += registers_text(state.f, f_register_name);
  return text;
}

std::string machine_dump(Machine& machine) {
  std::string text = fmt::format("Tessera machine dump, cycle {}\n", machine.system().now());
  for (unsigned i = 0; i < machine.system().ipus(); ++i) {
    const Ipu& ipu = std::as_const(machine.system().chip(i)).ipu();
    const std::string stands = machine.system().chip(i).describe();
    if (stands.empty()) continue;
    text += "\n" + stands + "\n\n";
    for (const unsigned t : tiles_of_interest(ipu))
      text += tile_text(machine, {static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(t)});
  }
  return text;
}

}  // namespace tessera::cli
