// See damaged.h.
#include "verif/system/damaged.h"

#include <algorithm>
#include <stdexcept>

#include "hw/platform.h"
#include "verif/support/run_command.h"

namespace tessera::test {

using executable::Program;

DamagedDigits::DamagedDigits(const std::string& directory, const std::string& platform) : directory_(directory) {
  const Outcome outcome = tessera({"compile", source_path("host/examples/digits/digits.onnx"), "--shape",
                                   "images=599,64", "--platform", platform, "-o", compiled()});
  if (outcome.exit_code != 0) throw std::runtime_error("digits do not compile: " + outcome.err);
  executable_ = executable::read_file(compiled());
  gather_transfers();
}

std::string DamagedDigits::write() const {
  const std::string path = directory_ + "/damaged.tsx";
  executable::write_file(executable_, path);
  return path;
}

std::uint32_t DamagedDigits::word(unsigned tile, Address address) const {
  const Program& p = executable_.programs.front();
  const auto inside = [&](Address begin, std::uint32_t content) {
    return address >= begin && address - begin < 4 * p.contents.at(content).size();
  };
  // As the loader goes: the last that writes a word wins.
  for (auto blob = p.blobs.rbegin(); blob != p.blobs.rend(); ++blob)
    if (blob->tile == tile && inside(blob->address, blob->content))
      return p.contents[blob->content][(address - blob->address) / 4];
  for (const executable::SharedBlob& blob : p.shared)
    for (const executable::TileRange& range : blob.tiles)
      if (tile >= range.first && tile <= range.last && inside(blob.address, blob.content))
        return p.contents[blob.content][(address - blob.address) / 4];
  throw std::runtime_error("nothing is loaded there");
}

void DamagedDigits::set_word(unsigned tile, Address address, std::uint32_t value) {
  Program& p = program();
  p.contents.push_back({value});
  p.blobs.push_back({tile, address, static_cast<std::uint32_t>(p.contents.size() - 1)});
}

std::uint64_t DamagedDigits::descriptor(unsigned tile, Address address) const {
  return word(tile, address) | std::uint64_t{word(tile, address + 4)} << 32;
}

void DamagedDigits::set_descriptor(unsigned tile, Address address, std::uint64_t value) {
  Program& p = program();
  p.contents.push_back({static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)});
  p.blobs.push_back({tile, address, static_cast<std::uint32_t>(p.contents.size() - 1)});
}

void DamagedDigits::gather_transfers() {
  const Program& p = executable_.programs.front();
  for (const executable::Step& step : steps(executable::Step::Kind::exchange))
    for (const executable::TileTable& table : p.tables) {
      if (table.phase != step.phase) continue;
      const auto header = ExchangeHeader::unpack(descriptor(table.tile, table.begin));
      Address at = table.begin + 8;
      for (const bool receive : {false, true}) {
        const Address end = at + 8 * static_cast<Address>(receive ? header.receives : header.sends);
        for (unsigned number = 0; at < end; ++number) {
          Transfer t{table.tile, receive, table.begin, at, number};
          t.descriptor = ExchangeDescriptor::unpack(descriptor(t.tile, at));
          t.words = t.descriptor.words == 0 ? kExchangeMaxWords : t.descriptor.words;
          if (t.descriptor.kind == kKindBlock) {
            const auto block = ExchangeBlock::unpack(descriptor(t.tile, at + 8));
            t.words *= block.count1 * block.count2;
          } else if (t.descriptor.kind == kKindSweep) {
            t.words *= ExchangeSweep::unpack(descriptor(t.tile, at + 8)).count;
          }
          at += t.descriptor.kind == kKindLinear ? 8 : 16;
          t.last = at == end;
          t.step = step;
          t.phase = p.phases.at(step.phase).name;
          t.phase_cycles = p.phases.at(step.phase).cycles;
          transfers_.push_back(t);
        }
      }
    }
}

Transfer DamagedDigits::transfer(const std::string& what, const std::function<bool(const Transfer&)>& like) const {
  const auto found = std::find_if(transfers_.begin(), transfers_.end(), like);
  if (found == transfers_.end()) throw std::runtime_error("digits have no such transfer: " + what);
  return *found;
}

unsigned DamagedDigits::delay(unsigned from, unsigned to) const {
  return load_platform_text(executable_.platform_json, compiled()).exchange_delay(from, to);
}

std::vector<executable::Step> DamagedDigits::steps(executable::Step::Kind kind) const {
  std::vector<executable::Step> found;
  for (const executable::Step& s : executable_.programs.front().steps)
    if (s.kind == kind) found.push_back(s);
  return found;
}

Vertices DamagedDigits::first_vertices(unsigned tile) const {
  const Program& p = executable_.programs.front();
  for (const executable::Step& step : steps(executable::Step::Kind::compute)) {
    Vertices found{step, {}, {}};
    for (const executable::VertexRecord& record : p.vertices) {
      const executable::VertexName& name = p.vertex_names.at(record.name);
      if (record.tile != tile || record.amp() || name.compute_set != step.name) continue;
      if (found.records.empty()) found.codelet = symbol(name.codelet);
      if (name.codelet == found.codelet.name) found.records.push_back(record);
    }
    if (!found.records.empty()) return found;
  }
  throw std::runtime_error("no vertices on the tile");
}

const executable::Region& DamagedDigits::region(const std::string& name) const {
  for (const executable::Region& r : executable_.programs.front().regions)
    if (r.name == name) return r;
  throw std::runtime_error("no region " + name);
}

const executable::Symbol& DamagedDigits::symbol(const std::string& name) const {
  for (const executable::Symbol& s : executable_.programs.front().symbols)
    if (s.name == name) return s;
  throw std::runtime_error("no symbol " + name);
}

Address DamagedDigits::find(const executable::Step& step, std::uint32_t mask, std::uint32_t match) const {
  for (Address at = step.begin; at < step.end; at += 4)
    if ((word(0, at) & mask) == match) return at;
  throw std::runtime_error("no such instruction in step " + step.name);
}

}  // namespace tessera::test
