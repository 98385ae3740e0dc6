#include "host/cli/tile_list.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "hw/error.h"

namespace tessera::cli {

namespace {

[[noreturn]] void refuse(const std::string& part, const std::string& why) {
  throw Error(Category::usage, "tile list: '" + part + "' " + why, "",
              "tiles are written 0 or 0,17,40-47 or 1:5 (IPU:tile) or all");
}

unsigned number(const std::string& part, const std::string& digits) {
  unsigned value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value);
  if (digits.empty() || error != std::errc() || at != end) refuse(part, "is no tile number");
  return value;
}

void check_below(const std::string& part, unsigned value, unsigned count, const std::string& what) {
  if (value >= count) {
    refuse(part, "names " + what + " " + std::to_string(value) + ", but this platform has " + what + "s 0 to " +
                     std::to_string(count - 1));
  }
}

void add_part(const std::string& part, unsigned ipus, unsigned tiles, std::vector<TileRef>& list) {
  std::string range = part;
  unsigned ipu = 0;
  if (const std::size_t colon = range.find(':'); colon != std::string::npos) {
    ipu = number(part, range.substr(0, colon));
    range = range.substr(colon + 1);
  }
  check_below(part, ipu, ipus, "IPU");
  const std::size_t dash = range.find('-');
  const unsigned first = number(part, range.substr(0, dash));
  const unsigned last = dash == std::string::npos ? first : number(part, range.substr(dash + 1));
  if (last < first) refuse(part, "runs backwards");
  check_below(part, last, tiles, "tile");
  for (unsigned tile = first; tile <= last; ++tile)
    list.push_back({static_cast<std::uint16_t>(ipu), static_cast<std::uint16_t>(tile)});
}

}  // namespace

std::vector<TileRef> parse_tile_list(const std::string& text, unsigned ipus, unsigned tiles) {
  std::vector<TileRef> list;
  if (text == "all") {
    for (unsigned ipu = 0; ipu < ipus; ++ipu)
      add_part(std::to_string(ipu) + ":0-" + std::to_string(tiles - 1), ipus, tiles, list);
    return list;
  }
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) add_part(part, ipus, tiles, list);
  if (list.empty() || text.back() == ',') refuse(text, "names no tile");
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

bool in_spread(unsigned tile, unsigned tiles, unsigned count, unsigned ipu) {
  if (count >= tiles) return true;
  if (count == 0) return false;
  // Part k begins at the first tile t with t * count >= k * tiles.
  const std::uint64_t part = std::uint64_t{tile} * count / tiles;
  const auto begin_of = [&](std::uint64_t k) { return (k * tiles + count - 1) / count; };
  const std::uint64_t begin = begin_of(part), size = begin_of(part + 1) - begin;
  constexpr std::uint32_t kGoldenSection = 0x9E3779B9;                               // of 2^32
  const std::uint32_t fraction = static_cast<std::uint32_t>(part) * kGoldenSection;  // modulo 1
  const std::uint64_t place = part > 0 && part + 1 == count ? size - 1 : std::uint64_t{fraction} * size >> 32;
  return tile - begin == (place + ipu) % size;
}

}  // namespace tessera::cli
