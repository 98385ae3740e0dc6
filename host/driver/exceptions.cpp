// What the exception registers of a chip say, and where its tiles stand. See driver.h.
#include <algorithm>
#include <map>
#include <utility>

#include "host/driver/driver_impl.h"

namespace tessera::driver {

std::vector<Stand> Driver::Impl::where_tiles_stand(const Device& d) {
  static const char* const kStatus[] = {"held",       "running", "in x.exchange", "in x.packet",
                                        "in x.sync ", "idle",    "excepted",      "ended"};
  static const char* const kZone[] = {"local", "internal", "group 1", "group 2", "host", "?", "?", "?"};
  std::map<std::pair<std::string, Address>, std::vector<unsigned>> groups;
  for (unsigned tile = 0; tile < d.info.tiles; ++tile) {
    const std::uint32_t state = read(d, chip::kTileState + 4 * tile);
    if (chip::kTileStateActive.get(state) == 0) continue;
    std::string what = kStatus[chip::kTileStateStatus.get(state) & 7];
    if (chip::kTileStateStatus.get(state) == 4) what += kZone[chip::kTileStateZone.get(state)];
    groups[{what, read(d, chip::kTilePc + 4 * tile)}].push_back(tile);
  }
  std::vector<Stand> stands;
  for (const auto& [what, tiles] : groups) {
    std::string line = tiles.size() == 1 ? "tile" : "tiles";
    for (std::size_t i = 0; i < tiles.size();) {
      std::size_t last = i;
      while (last + 1 < tiles.size() && tiles[last + 1] == tiles[last] + 1) ++last;
      line += fmt::format("{} {}", i == 0 ? "" : ",", tiles[i]);
      if (last > i) line += fmt::format("-{}", tiles[last]);
      i = last + 1;
    }
    stands.push_back({tiles, line + ": " + what.first, what.second});
  }
  std::sort(stands.begin(), stands.end(),
            [](const Stand& a, const Stand& b) { return a.tiles.front() < b.tiles.front(); });
  return stands;
}

std::optional<ExceptionInfo> Driver::Impl::exception(unsigned ipu) {
  Device& d = at(ipu);
  const std::uint32_t cause = read(d, chip::kExceptionCause);
  if (chip::kExceptionCauseValid.get(cause) == 0) return std::nullopt;
  ExceptionInfo info;
  info.ipu = ipu;
  info.tile = static_cast<unsigned>(chip::kExceptionCauseTile.get(cause));
  info.context = static_cast<unsigned>(chip::kExceptionCauseContext.get(cause));
  info.cause = static_cast<std::uint32_t>(chip::kExceptionCauseCause.get(cause));
  info.pc = read(d, chip::kExceptionPc);
  info.value = read(d, chip::kExceptionValue);
  info.cycle = read(d, chip::kExceptionCycleLow);
  info.cycle |= Cycle{read(d, chip::kExceptionCycleHigh)} << 32;
  if (info.tile < d.info.tiles) info.supervisor_pc = read(d, chip::kTilePc + 4 * info.tile);
  std::string sender;
  if (const std::uint32_t source = read(d, chip::kExceptionSource); chip::kExceptionSourceValid.get(source) != 0)
    sender = fmt::format("the packet came from IPU {} tile {}: {} words from 0x{:05x}",
                         chip::kExceptionSourceIpu.get(source), chip::kExceptionSourceTile.get(source),
                         chip::kExceptionSourceWords.get(source), kSramBase + read(d, chip::kExceptionSourceLocal));
  if (chip::kExceptionCauseChipFault.get(cause) == 0) {
    info.detail = cause_name(info.cause) + (sender.empty() ? "" : "; " + sender);
    return info;
  }
  using Kind = ExceptionInfo::Kind;
  static constexpr Kind kKinds[] = {Kind::zones_differ,   Kind::no_progress, Kind::host_access, Kind::link_failed,
                                    Kind::no_destination, Kind::card,        Kind::pcie};
  if (info.cause >= std::size(kKinds))
    throw Error(Category::device_exception, fmt::format("the chip reports a fault of no known number: {}", info.cause),
                name(d));
  info.kind = kKinds[info.cause];
  info.cause = 0;
  if (info.kind == Kind::link_failed && (info.value & 0xff) < chip::kLinkStatusCount)
    info.detail = link_text(info.value >> 8, link(at(info.value >> 8), info.value & 0xff));
  if (info.kind == Kind::card) info.reason = cards.at(d.info.card).trouble();
  if (info.kind == Kind::pcie) info.reason = logged(d);
  info.stands = where_tiles_stand(d);
  for (const Stand& stand : info.stands)
    info.detail += fmt::format("{}{}, pc 0x{:08x}", info.detail.empty() ? "" : "\n", stand.text, stand.pc);
  return info;
}

std::optional<ExceptionInfo> Driver::exception(unsigned ipu) { return impl_->exception(ipu); }

std::string cause_name(std::uint32_t cause) {
  switch (cause) {
    case 0:
      return "jump to a misaligned address";
    case 1:
      return "fetch outside SRAM";
    case 2:
      return "illegal instruction";
    case 3:
      return "ebreak";
    case 4:
      return "misaligned load";
    case 5:
      return "load outside SRAM";
    case 6:
      return "misaligned store";
    case 7:
      return "store outside SRAM";
    case 11:
      return "ecall";
    case 25:
      return "x.exchange, x.packet or x.sync out of place";
    case 26:
      return "control transfer inside x.rpt";
    case 27:
      return "exchange underrun: no word in a listening cycle";
    case 28:
      return "exchange overrun: a descriptor starts too early";
    case 29:
      return "bad descriptor or address";
    case 30:
      return "packet outside its window or beyond the expected words";
    default:
      return fmt::format("cause {}", cause);
  }
}

}  // namespace tessera::driver
