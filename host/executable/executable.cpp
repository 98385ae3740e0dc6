// Look-ups in an executable, for reports and exceptions.
#include "host/executable/executable.h"

#include <algorithm>
#include <iterator>

namespace tessera::executable {

const Stream* Executable::find_stream(const std::string& stream_name) const {
  for (const Stream& s : streams) {
    if (s.name == stream_name) return &s;
  }
  return nullptr;
}

const Step* find_step(const Program& program, Address pc) {
  const auto at = std::upper_bound(program.steps.begin(), program.steps.end(), pc,
                                   [](Address p, const Step& s) { return p < s.begin; });
  if (at == program.steps.begin()) return nullptr;
  const Step& step = *std::prev(at);
  return pc < step.end ? &step : nullptr;
}

const TensorMap* find_tensor(const Program& program, const std::string& name) {
  for (const TensorMap& t : program.tensors) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

const Symbol* find_symbol(const Program& program, Address pc) {
  const auto at = std::upper_bound(program.symbols.begin(), program.symbols.end(), pc,
                                   [](Address p, const Symbol& s) { return p < s.address; });
  if (at == program.symbols.begin()) return nullptr;
  const Symbol& symbol = *std::prev(at);
  return pc < symbol.address + symbol.size ? &symbol : nullptr;
}

std::string find_source(const Program& program, Address pc) {
  const auto at = std::upper_bound(program.lines.begin(), program.lines.end(), pc,
                                   [](Address p, const Line& l) { return p < l.address; });
  if (at == program.lines.begin() || std::prev(at)->line == 0) return {};
  const Line& line = *std::prev(at);
  return line.file < program.files.size() ? program.files[line.file] + ":" + std::to_string(line.line) : "";
}

const VertexRecord* find_vertex(const Program& program, std::uint32_t tile, ContextId worker, Address state) {
  const auto first = std::lower_bound(program.vertices.begin(), program.vertices.end(), tile,
                                      [](const VertexRecord& v, std::uint32_t t) { return v.tile < t; });
  for (auto v = first; v != program.vertices.end() && v->tile == tile; ++v) {
    if ((v->workers >> (worker - 1) & 1) == 0 || state < v->state) continue;
    const std::uint32_t offset = state - v->state;
    const bool hit = v->stride == 0 ? offset == 0 : offset % v->stride == 0 && offset / v->stride < v->count;
    if (hit) return &*v;
  }
  return nullptr;
}

const TileTable* find_table(const Program& program, std::uint32_t tile, Address descriptor) {
  const auto at = std::upper_bound(program.tables.begin(), program.tables.end(), std::make_pair(tile, descriptor),
                                   [](const std::pair<std::uint32_t, Address>& key, const TileTable& t) {
                                     return key.first != t.tile ? key.first < t.tile : key.second < t.begin;
                                   });
  if (at == program.tables.begin()) return nullptr;
  const TileTable& table = *std::prev(at);
  return table.tile == tile && descriptor < table.end ? &table : nullptr;
}

}  // namespace tessera::executable
