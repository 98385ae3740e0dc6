#include "host/cli/elf_runner.h"

#include <algorithm>

#include "hw/generated/machine.h"
#include "tlm/exchange/fabric.h"
#include "tlm/tile/exchange_engine.h"

namespace tessera::cli {

namespace {

/// The tile and the piece of chip around it.
class Alone {
 public:
  Alone(TileModel& tile, const TileConfig& config, const Platform& platform)
      : tile_(tile), config_(config), platform_(platform), fabric_(timing(platform)) {}

  /// Runs to `limit` or to a stop that this class does not answer.
  TileStop run(Cycle limit) {
    for (;;) {
      const TileStop stop = advance(limit);
      if (stop.kind == TileStop::Kind::sync)
        release(stop);
      else if (stop.kind == TileStop::Kind::exchange)
        exchange(stop);
      else if (stop.kind != TileStop::Kind::limit || stop.cycle >= limit)
        return stop;
    }
  }

  /// After run(limit) came to `limit`: what was issued before it retires and nothing later is issued, as in a tile
  /// without a pipeline. The run may turn out to have ended before the limit.
  TileStop cut(Cycle limit) {
    // More than a division and its way through the pipeline.
    constexpr Cycle kLongest = 60;
    constexpr std::uint8_t kAllContexts = 0x7f;
    const TileStop at_limit{TileStop::Kind::limit, limit};
    if (tile_.interval_based() || limit > kNever - kLongest) return at_limit;
    tile_.debug_halt(kAllContexts, limit);
    TileStop stop = at_limit;
    while (stop.kind == TileStop::Kind::limit && stop.cycle < limit + kLongest) stop = advance(limit + kLongest);
    using Kind = TileStop::Kind;
    const bool ended = stop.kind == Kind::tohost || stop.kind == Kind::exception || stop.kind == Kind::idle;
    return ended && stop.cycle < limit ? stop : at_limit;
  }

 private:
  static FabricTiming timing(const Platform& platform) {
    FabricTiming t;
    t.base = platform.exchange.base;
    t.send = {platform.send_delay(0)};
    t.receive = {platform.receive_delay(0)};
    return t;
  }

  TileStop advance(Cycle limit) {
    if (tile_.interval_based()) return tile_.run(limit, nullptr, nullptr);
    // A pin-level tile hears its own words no sooner than one fabric delay later; before the first release there are
    // none.
    const Cycle end = released_ ? std::min(limit, at_ + fabric_.timing().smallest()) : limit;
    const TileStop stop = tile_.run(end, &fabric_.port(0), nullptr);
    fabric_.commit();
    at_ = std::max(at_, stop.cycle);
    return stop;
  }

  void release(const TileStop& stop) {
    const auto& sync = platform_.sync;
    const Cycle wait = stop.zone == Zone::internal ? sync.internal
                       : stop.zone == Zone::host   ? sync.host
                                                   : sync.group_base;
    release_ = stop.cycle + wait;
    released_ = true;
    at_ = release_;
    fabric_.begin_phase();
    tile_.release(release_, (stop.value & 1) != 0);
  }

  void exchange(const TileStop& stop) {
    ExchangeInputs in;
    in.sram = tile_.sram();
    in.sram_bytes = config_.sram_bytes;
    in.table = stop.value;
    in.issue = stop.cycle;
    in.release = release_;
    for (unsigned k = 0; k < 3; ++k) in.xbase[k] = tile_.supervisor_csr(csr::xbase1 + k);
    in.xsource = tile_.supervisor_csr(csr::xsource);
    in.tiles = 1;
    fabric_.publish(0, tile_, stop.cycle, read_exchange_table(in));
    for (const PhaseOutcome& outcome : fabric_.resolve()) tile_.finish_exchange(outcome.result);
  }

  TileModel& tile_;
  TileConfig config_;
  const Platform& platform_;
  Fabric fabric_;
  Cycle release_ = 0, at_ = 0;
  bool released_ = false;
};

void load(TileModel& tile, const elf::Program& program) {
  for (const elf::Segment& segment : program.segments())
    if (!segment.bytes.empty()) tile.write_memory(segment.address, segment.bytes.data(), segment.bytes.size());
}

ElfEnd ended(const TileModel& tile, const TileStop& stop) {
  ElfEnd end;
  end.cycle = stop.cycle;
  end.value = stop.value;
  switch (stop.kind) {
    case TileStop::Kind::tohost:
      end.reason = ElfEnd::Reason::tohost;
      break;
    case TileStop::Kind::exception:
      end.reason = ElfEnd::Reason::exception;
      end.exception = tile.exception();
      break;
    case TileStop::Kind::packet:
      end.reason = ElfEnd::Reason::packet;
      break;
    case TileStop::Kind::limit:
      end.reason = ElfEnd::Reason::max_cycles;
      break;
    default:
      end.reason = ElfEnd::Reason::exit;
      end.value = tile.supervisor_csr(csr::xexit);
  }
  return end;
}

}  // namespace

const char* reason_name(ElfEnd::Reason reason) {
  switch (reason) {
    case ElfEnd::Reason::tohost:
      return "tohost";
    case ElfEnd::Reason::exit:
      return "exit";
    case ElfEnd::Reason::exception:
      return "exception";
    case ElfEnd::Reason::max_cycles:
      return "max-cycles";
    default:
      return "packet";
  }
}

TileConfig elf_tile_config(const elf::Program& program, const Platform& platform, ContextId context) {
  constexpr std::uint64_t kStep = 65536;
  TileConfig config;
  const std::uint64_t needed = program.end() - kSramBase;
  config.sram_bytes = platform.sram_bytes;
  if (needed > config.sram_bytes)
    config.sram_bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>((needed + 2 * kStep - 1) / kStep * kStep, kElfSramMax));
  config.hart_base = 0u - context;
  config.tohost = program.symbol("tohost").value_or(0);
  return config;
}

ElfEnd run_elf(TileModel& tile, const TileConfig& config, const elf::Program& program, const Platform& platform,
               ContextId context, Cycle max_cycles, bool observed, const std::function<void(Cycle)>& between) {
  // A traced RTL tile with its wave does some ten thousand cycles in a second, and a signal waits for the stretch.
  constexpr Cycle kFast = Cycle{1} << 28, kSlow = Cycle{1} << 14;
  const Cycle stretch = tile.mode() == TileMode::tlm && !observed ? kFast : kSlow;
  load(tile, program);
  tile.start_context(context, program.entry(), 0);
  Alone alone(tile, config, platform);
  Cycle limit = 0;
  for (;;) {
    limit = std::min(max_cycles, limit + stretch);
    TileStop stop = alone.run(limit);
    if (stop.kind == TileStop::Kind::limit && limit == max_cycles) stop = alone.cut(limit);
    if (stop.kind != TileStop::Kind::limit || limit == max_cycles) return ended(tile, stop);
    between(limit);
  }
}

}  // namespace tessera::cli
