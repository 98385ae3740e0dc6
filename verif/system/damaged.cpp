// See damaged.h.
#include "verif/system/damaged.h"

#include <stdexcept>

#include "verif/support/run_command.h"

namespace tessera::test {

using executable::Program;

DamagedDigits::DamagedDigits(const std::string& directory) : directory_(directory) {
  const Outcome outcome = tessera({"compile", source_path("host/examples/digits/digits.onnx"), "--shape",
                                   "images=599,64", "--platform", "pocket", "-o", compiled()});
  if (outcome.exit_code != 0) throw std::runtime_error("digits do not compile: " + outcome.err);
  executable_ = executable::read_file(compiled());
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
  set_word(tile, address, static_cast<std::uint32_t>(value));
  set_word(tile, address + 4, static_cast<std::uint32_t>(value >> 32));
}

const executable::TileTable& DamagedDigits::table(unsigned tile, const std::string& phase) const {
  const Program& p = executable_.programs.front();
  for (const executable::TileTable& t : p.tables)
    if (t.tile == tile && p.phases.at(t.phase).name.find(phase) != std::string::npos) return t;
  throw std::runtime_error("no exchange table for " + phase);
}

const executable::Step& DamagedDigits::step(const std::string& name) const {
  for (const executable::Step& s : executable_.programs.front().steps)
    if (s.name.find(name) != std::string::npos) return s;
  throw std::runtime_error("no step " + name);
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
