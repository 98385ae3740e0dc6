// Placement and linking of codelets (linker.h).
#include "host/codelets/linker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "host/codelets/analysis.h"
#include "host/codelets/line_table.h"
#include "host/codelets/object.h"
#include "host/codelets/relocate.h"
#include "hw/error.h"

namespace tessera {
namespace {

/// Where sections stand and which blob they are.
class Layout {
 public:
  Layout(const ObjectSet& objects, LinkedImage& image) : objects_(objects), image_(image) {}

  void place(int section) {
    if (blob_.count(section) != 0) return;
    const auto& s = objects_.sections()[static_cast<std::size_t>(section)];
    if (s.constant_element) {
      const auto it = constants_.find({s.bytes, s.align});
      if (it != constants_.end()) {
        blob_[section] = it->second;
        return;
      }
    }
    const std::uint32_t align = s.code ? std::max<std::uint32_t>(8, s.align) : s.align;
    const Address address = (image_.end + align - 1) / align * align;
    blob_[section] = image_.blobs.size();
    if (s.constant_element && s.relocations.empty()) constants_[{s.bytes, s.align}] = image_.blobs.size();
    order_.push_back(section);
    image_.blobs.push_back({s.name, address, s.bytes});
    image_.end = address + static_cast<Address>(s.bytes.size());
  }

  [[nodiscard]] bool placed(int section) const { return blob_.count(section) != 0; }
  [[nodiscard]] std::size_t blob(int section) const { return blob_.at(section); }
  [[nodiscard]] Address address(int section) const { return image_.blobs[blob_.at(section)].address; }
  /// Sections in the order of their blobs (equal constants: the first one).
  [[nodiscard]] const std::vector<int>& order() const { return order_; }

 private:
  const ObjectSet& objects_;
  LinkedImage& image_;
  std::map<int, std::size_t> blob_;
  std::map<std::pair<std::vector<std::uint8_t>, std::uint32_t>, std::size_t> constants_;
  std::vector<int> order_;
};

void add_symbols(const ObjectSet& objects, const Layout& layout, LinkedImage& image) {
  for (const auto& symbol : objects.symbols()) {
    if (symbol.section < 0 || symbol.name.empty() || !layout.placed(symbol.section)) continue;
    if (!symbol.function && !symbol.object) continue;
    image.symbols.push_back({symbol.name, layout.address(symbol.section) + symbol.value, symbol.size, symbol.function});
  }
  std::sort(image.symbols.begin(), image.symbols.end(), [](const LinkedSymbol& a, const LinkedSymbol& b) {
    return a.address != b.address ? a.address < b.address : a.name < b.name;
  });
}

}  // namespace

LinkedImage link(const CodeletLibrary& library, const std::vector<std::string>& roots, Address base,
                 const std::map<std::string, Address>& extra) {
  if (base % 8 != 0) throw std::logic_error("link base is not 8-byte aligned");
  const ObjectSet& objects = library.objects();
  LinkedImage image;
  image.base = image.end = base;
  Layout layout(objects, image);
  for (const auto& root : roots) {
    const auto symbol = objects.global(root);
    if (!symbol) {
      (void)library.at(root);  // throws with the nearest name
      throw std::logic_error("codelet " + root + " has no symbol");
    }
    std::vector<std::uint32_t> undefined;
    const auto sections = reachable_sections(objects, objects.symbols()[*symbol].section, &undefined);
    for (const std::uint32_t missing : undefined) {
      const auto& name = objects.symbols()[missing].name;
      if (!name.empty() && extra.count(name) == 0)
        throw Error(Category::usage, fmt::format("{} uses {}, which is defined nowhere.", root, name), {},
                    "define it in the codelet source: there is no C library on a tile");
    }
    std::set<std::size_t> needs;
    for (const int section : sections) {
      layout.place(section);
      needs.insert(layout.blob(section));
    }
    image.needs[root].assign(needs.begin(), needs.end());
  }
  image.end = (image.end + 7) / 8 * 8;

  const auto value_or = [&](std::uint32_t symbol, std::int32_t addend, bool must) -> std::uint32_t {
    const auto target = objects.resolve(symbol, addend);
    if (target.section == ObjectSymbol::kAbsolute) return target.offset;
    if (target.section >= 0 && layout.placed(target.section)) return layout.address(target.section) + target.offset;
    const auto it = extra.find(objects.symbols()[symbol].name);
    if (it != extra.end()) return it->second + static_cast<std::uint32_t>(addend);
    if (must) throw std::logic_error("symbol " + objects.symbols()[symbol].name + " was not placed");
    return target.section == ObjectSymbol::kUndefined && objects.symbols()[symbol].name.empty() ? target.offset : 0;
  };
  const auto needed = [&](std::uint32_t symbol, std::int32_t addend) { return value_or(symbol, addend, true); };
  const auto if_placed = [&](std::uint32_t symbol, std::int32_t addend) { return value_or(symbol, addend, false); };
  for (std::size_t i = 0; i < layout.order().size(); ++i)
    relocate(image.blobs[i].bytes, image.blobs[i].address,
             objects.sections()[static_cast<std::size_t>(layout.order()[i])].relocations, needed);
  add_symbols(objects, layout, image);
  for (const auto& table : objects.line_tables()) decode_lines(table, if_placed, image);
  std::stable_sort(image.lines.begin(), image.lines.end(), [](const LinkedImage::Line& a, const LinkedImage::Line& b) {
    // At one address the end of a sequence stands before the start of the next.
    return a.address != b.address ? a.address < b.address : (a.line == 0) > (b.line == 0);
  });
  return image;
}

Address LinkedImage::address_of(const std::string& symbol) const {
  for (const auto& s : symbols)
    if (s.name == symbol) return s.address;
  throw std::logic_error("symbol " + symbol + " was not linked");
}

SourceLine LinkedImage::locate(Address pc) const {
  SourceLine result;
  for (const auto& s : symbols)
    if (s.function && s.address <= pc && pc < s.address + std::max<std::uint32_t>(s.size, 4)) result.function = s.name;
  const auto it =
      std::upper_bound(lines.begin(), lines.end(), pc, [](Address a, const Line& line) { return a < line.address; });
  if (it != lines.begin() && std::prev(it)->line != 0) {
    result.file = files.at(std::prev(it)->file);
    result.line = std::prev(it)->line;
  }
  return result;
}

}  // namespace tessera
