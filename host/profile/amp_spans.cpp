#include "host/profile/amp_spans.h"

#include <algorithm>

namespace tessera::profile {

AmpSpans::AmpSpans(unsigned ipus, unsigned tiles, const executable::Executable& executable)
    : tiles_(tiles), programs_(ipus, 0), tile_(std::size_t{ipus} * tiles), ipus_(ipus) {
  std::map<std::string, std::uint32_t> numbers;
  for (const executable::Program& program : executable.programs) {
    states_.emplace_back(tiles);
    auto& states = states_.back();
    for (const executable::VertexRecord& record : program.vertices) {
      if (!record.amp() || record.tile >= tiles) continue;
      const std::string& name = program.vertex_names.at(record.name).compute_set;
      const auto [at, is_new] = numbers.emplace(name, static_cast<std::uint32_t>(names_.size()));
      if (is_new) names_.push_back(name);
      const std::uint32_t count = record.stride == 0 ? 1 : record.count;
      for (std::uint32_t i = 0; i < count; ++i)
        states[record.tile].emplace_back(record.state + i * record.stride, at->second);
    }
    for (auto& list : states) std::sort(list.begin(), list.end());
  }
  for (const executable::Instance& instance : executable.instances)
    if (instance.ipu < ipus) programs_[instance.ipu] = instance.program;
  spans_.resize(names_.size());
}

std::uint32_t AmpSpans::set_of(std::size_t program, unsigned tile, Address state) const {
  if (program >= states_.size()) return kNone;
  const auto& list = states_[program][tile];
  const auto at = std::lower_bound(list.begin(), list.end(), std::make_pair(state, std::uint32_t{0}));
  return at == list.end() || at->first != state ? kNone : at->second;
}

void AmpSpans::event(const MachineEvent& event) {
  using Kind = MachineEvent::Kind;
  TileState& tile = tile_.at(std::size_t{event.ipu} * tiles_ + event.tile);
  Ipu& ipu = ipus_[event.ipu];
  switch (event.kind) {
    case Kind::start:
    case Kind::sync_release:
      if (!ipu.any || event.cycle != ipu.release) close(ipu);  // all tiles are released in one cycle
      ipu.any = true;
      ipu.release = event.cycle;
      tile = TileState();
      tile.behind = event.cycle;
      break;
    case Kind::exchange_end:
      tile.behind = std::max(tile.behind, event.cycle + 1);
      break;
    case Kind::run: {
      if (event.context >= tile.amp.size()) break;
      const std::uint32_t set = set_of(programs_[event.ipu], event.tile, event.a0);
      tile.amp[event.context] = set != kNone;
      if (set == kNone || set == tile.set) break;
      tile.set = set;
      tile.begin = tile.behind;
      ++ipu.open[set].tiles;
      break;
    }
    case Kind::exit: {
      const Cycle end = event.cycle + 6;  // the slot of the x.exit
      tile.behind = std::max(tile.behind, end);
      if (event.context >= tile.amp.size() || !tile.amp[event.context] || tile.set == kNone) break;
      Open& open = ipu.open[tile.set];
      open.longest = std::max(open.longest, end - std::min(end, tile.begin));
      break;
    }
    default:
      break;
  }
}

void AmpSpans::close(Ipu& ipu) {
  for (const auto& [set, open] : ipu.open) {
    AmpSpan& span = spans_[set];
    ++span.executions;
    span.cycles += open.longest;
    span.tile_cycles += open.longest * open.tiles;
    span.tiles = std::max(span.tiles, open.tiles);
  }
  ipu.open.clear();
}

void AmpSpans::finish() {
  for (Ipu& ipu : ipus_) close(ipu);
}

std::map<std::string, AmpSpan> AmpSpans::spans() const {
  std::map<std::string, AmpSpan> result;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (spans_[i].executions != 0) result[names_[i]] = spans_[i];
  return result;
}

}  // namespace tessera::profile
