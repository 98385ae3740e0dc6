// The part of chip and fabric, without either.
#include "verif/random/played_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"

namespace tessera::random {

Word word_from(const Program& program, Cycle c, unsigned source) {
  std::uint64_t z = program.exchange_seed + c * 0x9e3779b97f4a7c15u + source * 0xd1b54a32d192ed03u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  return static_cast<Word>(z >> 29);
}

TileConfig config_of(std::uint64_t seed) {
  TileConfig config;
  config.ipu = static_cast<unsigned>(seed % 5);
  config.tile = static_cast<unsigned>(seed % 3);
  config.tiles = 3;
  config.sram_bytes = Program::kSramBytes;
  config.hart_base = static_cast<std::uint32_t>(7 * (seed % 100));
  config.group1 = true;
  return config;
}

void load(TileModel& tile, const Program& program) {
  for (const Program::Block& block : program.blocks) {
    tile.write_memory(block.at, reinterpret_cast<const std::uint8_t*>(block.words.data()), 4 * block.words.size());
  }
}

namespace {

ExchangeResult play_phase(TileModel& tile, const TileConfig& config, const Program& program, const TileStop& stop,
                          Cycle release, unsigned phase_number) {
  ExchangeInputs inputs;
  inputs.sram = tile.sram();
  inputs.sram_bytes = config.sram_bytes;
  inputs.table = stop.value;
  inputs.issue = stop.cycle;
  inputs.release = release;
  for (unsigned k = 0; k < 3; ++k) inputs.xbase[k] = tile.supervisor_csr(csr::xbase1 + k);
  inputs.xsource = tile.supervisor_csr(csr::xsource);
  inputs.tiles = config.tiles;
  ExchangePhase phase = read_exchange_table(inputs);
  std::optional<ExchangeResult::Fault> receive_fault = phase.receive_fault;
  for (std::size_t n = 0; n < phase.receives.size(); ++n) {
    ReceiveRun& run = phase.receives[n];
    // One word is missing in each phase but the first of a program that says so.
    if (program.underrun && phase_number != 0 && n == phase.receives.size() / 2) {
      const std::uint32_t heard = run.words / 2;
      receive_fault = ExchangeResult::Fault{27, run.start + heard, run.descriptor};
      run.words = heard;
      phase.receives.resize(n + 1);
    }
    for (std::uint32_t k = 0; k < run.words; ++k) {
      const Word word = word_from(program, run.start + k, run.source);
      std::memcpy(tile.sram() + (run.address + 4 * k - kSramBase), &word, 4);
    }
    tile.memory_written(run.address, std::size_t{4} * run.words);
  }
  phase.receives.erase(std::remove_if(phase.receives.begin(), phase.receives.end(),
                                      [](const ReceiveRun& run) { return run.words == 0; }),
                       phase.receives.end());
  ExchangeResult result;
  result.last_word = last_cycle(phase, receive_fault, stop.cycle);
  result.fault = first_fault(phase.send_fault, receive_fault);
  if (receive_fault && receive_fault->cause == 27) result.underrun = receive_fault->cycle;
  return result;
}

}  // namespace

Played play(TileModel& tile, const TileConfig& config, const Program& program, Cycle limit, const OnHalt& on_halt) {
  Played played;
  tile.start(program.entry, program.exchange_seed % 12);
  Cycle release = 0;
  unsigned phases = 0;
  for (;;) {
    const TileStop stop = tile.run(limit, nullptr, nullptr);
    played.stops.push_back(stop);
    switch (stop.kind) {
      case TileStop::Kind::sync:
        release = stop.cycle + 20 + program.exchange_seed % 50;
        tile.release(release, (stop.value & 1) != 0);
        break;
      case TileStop::Kind::exchange:
        tile.finish_exchange(play_phase(tile, config, program, stop, release, phases++));
        break;
      case TileStop::Kind::limit:
        return played;
      case TileStop::Kind::halted:
        if (on_halt && on_halt(stop)) break;
        played.ended = true;
        return played;
      default:
        played.ended = true;
        return played;
    }
  }
}

void Coverage::retired(const RetireRecord& record) {
  if (record.trap) {
    ++traps;
    causes.insert(record.cause);
    return;
  }
  ++instructions;
  pairs += record.paired && record.pc % 8 != 0;
  flagged += record.fflags != 0;
  const auto op = static_cast<unsigned>(isa::decode(record.word));
  ops.insert(op);
  op_in_slot.insert({op, static_cast<unsigned>(record.cycle % 6)});
}

void Coverage::exchanged(const ExchangeWord&) { ++words; }

std::string Coverage::summary() const {
  return fmt::format(
      "{} instructions, {} traps of {} causes, {} pairs, {} instructions raised fflags, {} "
      "different instructions",
      instructions, traps, causes.size(), pairs, flagged, ops.size());
}

std::vector<std::string> Coverage::holes(Subset subset) const {
  std::vector<std::string> all;
  using isa::Op;
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    const auto op = static_cast<Op>(n);
    const bool never = op == Op::ecall || op == Op::ebreak;  // they trap
    if (in_subset(subset, op) && !never && ops.count(n) == 0)
      all.push_back(std::string(isa::info(op).name) + " never retired");
  }
  for (const Op op : {Op::x_exit, Op::x_sync, Op::x_delay, Op::x_run, Op::x_exchange}) {
    for (unsigned slot = 0; slot < 6; ++slot) {
      if (op_in_slot.count({static_cast<unsigned>(op), slot}) == 0) {
        all.push_back(fmt::format("{} never in slot {}", isa::info(op).name, slot));
      }
    }
  }
  for (const unsigned cause : {0, 1, 2, 3, 4, 5, 6, 7, 11, 25, 27, 28, 29}) {
    if (causes.count(cause) == 0) all.push_back(fmt::format("trap cause {} never taken", cause));
  }
  return all;
}

}  // namespace tessera::random
