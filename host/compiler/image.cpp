// Codelets at one address in the whole IPU, present where they are used.
#include "host/compiler/image.h"

#include <algorithm>
#include <map>
#include <set>

#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

constexpr std::size_t kClasses = 16;
constexpr std::uint32_t kStackReserve = 64;  // deepest chain plus 64

/// Free ranges between the blobs that a tile holds.
std::vector<AddressRange> holes_of(const LinkedImage& image, const std::vector<std::size_t>& present) {
  std::vector<AddressRange> holes;
  Address at = image.base;
  const auto add = [&](Address begin, Address end) {
    begin = (begin + kIntervalAlign - 1) / kIntervalAlign * kIntervalAlign;
    end = end / kIntervalAlign * kIntervalAlign;
    if (begin < end) holes.push_back({begin, end});
  };
  for (const std::size_t b : present) {
    // Loading writes whole words, so a blob takes its last word wholly.
    add(at, image.blobs[b].address / 4 * 4);
    at = (image.blobs[b].address + static_cast<Address>(image.blobs[b].bytes.size()) + 3) / 4 * 4;
  }
  add(at, image.end);
  return holes;
}

}  // namespace

CodeImage place_code(LinkedImage image, std::vector<std::set<std::size_t>> present) {
  CodeImage result;
  result.image = std::move(image);
  // Blobs that share a word (constants) are held together: a loaded word is whole.
  for (auto& tile : present) {
    for (std::size_t b = 0; b + 1 < result.image.blobs.size(); ++b) {
      const LinkedBlob& blob = result.image.blobs[b];
      const Address end = blob.address + static_cast<Address>(blob.bytes.size());
      const bool shared = end % 4 != 0 && result.image.blobs[b + 1].address / 4 == end / 4;
      if (shared && (tile.count(b) != 0 || tile.count(b + 1) != 0)) {
        tile.insert(b);
        tile.insert(b + 1);
      }
    }
  }
  // Classes by set of blobs; should there be more than a mask can tell, the last class holds all code.
  std::map<std::set<std::size_t>, std::uint8_t> classes;
  for (auto& tile : present) {
    const auto known = classes.find(tile);
    if (known == classes.end() && classes.size() + 1 >= kClasses) {
      for (std::size_t b = 0; b < result.image.blobs.size(); ++b) tile.insert(b);
    }
    const auto [at, fresh] = classes.try_emplace(tile, static_cast<std::uint8_t>(classes.size()));
    result.tile_class.push_back(at->second);
    result.blobs.emplace_back(tile.begin(), tile.end());
    result.holes.push_back(holes_of(result.image, result.blobs.back()));
  }
  return result;
}

FirmwareEntries CodeImage::firmware() const {
  const bool amp = image.needs.count(kFirmwareAmp) != 0;
  return {image.address_of(kFirmwareBoot), amp ? image.address_of(kFirmwareAmp) : 0};
}

std::uint32_t worker_stack_bytes(std::uint32_t deepest) {
  return (std::max<std::uint32_t>(deepest + kStackReserve, kWorkerStackMin) + 15) / 16 * 16;
}

CodeImage link_code(const Ir& ir, const CodeletLibrary& library, Address base) {
  std::vector<std::string> roots = {kFirmwareBoot, kFirmwareExit, kFirmwareDispatch};
  std::set<std::string> used;
  std::uint32_t stack = 0;
  bool amp = false;
  for (const ComputeStep& step : ir.computes) {
    for (const Calls& calls : step.calls) {
      amp = amp || calls.codelet->amp;
      if (!used.insert(calls.codelet->name).second) continue;
      stack = std::max(stack, calls.codelet->stack_bytes);
    }
  }
  if (amp) roots.emplace_back(kFirmwareAmp);
  const bool windows =
      std::any_of(ir.windows.begin(), ir.windows.end(), [](const Window& w) { return !w.blocks.empty(); });
  if (windows) roots.emplace_back(kFirmwareRebase);
  roots.insert(roots.end(), used.begin(), used.end());
  LinkedImage image = link(library, roots, base);

  std::vector<std::set<std::size_t>> present(ir.graph.tiles());
  for (auto& tile : present) {
    for (std::size_t r = 0; r < 3; ++r) {
      const auto& needs = image.needs.at(roots[r]);
      tile.insert(needs.begin(), needs.end());
    }
  }
  for (const ComputeStep& step : ir.computes) {
    for (const Calls& calls : step.calls) {
      if (step.window != kNone) {
        const auto& turning = image.needs.at(kFirmwareRebase);
        present[calls.tile].insert(turning.begin(), turning.end());
      }
      const auto& needs = image.needs.at(calls.codelet->name);
      present[calls.tile].insert(needs.begin(), needs.end());
      if (!calls.codelet->amp) continue;
      const auto& loop = image.needs.at(kFirmwareAmp);
      present[calls.tile].insert(loop.begin(), loop.end());
    }
  }
  CodeImage result = place_code(std::move(image), std::move(present));
  result.worker_stack = worker_stack_bytes(stack);
  return result;
}

}  // namespace tessera::compiler
