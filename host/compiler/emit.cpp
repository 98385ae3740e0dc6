// Blobs, constants, tensor maps, streams and debug tables of the executable.
#include "host/compiler/emit.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "hw/encode.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

using executable::Program;

class Emitter {
 public:
  Emitter(const Parts& parts, const Options& options) : p_(parts), options_(options) {}

  executable::Executable run() {
    executable::Executable e;
    e.name = options_.name;
    e.platform_name = p_.platform.name;
    e.platform_hash = p_.platform.hash();
    e.platform_json = p_.platform.to_json();
    e.sram_bytes = p_.platform.sram_bytes;
    program_.tiles = p_.ir.graph.tiles();
    program_.tile_class = p_.code.tile_class;
    regions();
    shared();
    per_tile();
    constants();
    tensors();
    steps();
    debug();
    e.programs.push_back(std::move(program_));
    e.instances.push_back({options_.ipu, 0, 0});
    streams(e);
    return e;
  }

 private:
  std::uint32_t content(std::vector<std::uint32_t> words) {
    const auto [at, fresh] = contents_.try_emplace(words, static_cast<std::uint32_t>(program_.contents.size()));
    if (fresh) program_.contents.push_back(std::move(words));
    return at->second;
  }

  void regions() {
    const Plan& m = p_.plan;
    const Address end = p_.platform.sram_end();
    program_.regions = {{"start", m.start, m.control},  {"control", m.control, m.code},
                        {"code", m.code, m.steps},      {"steps", m.steps, m.lists},
                        {"lists", m.lists, m.exchange}, {"exchange", m.exchange, m.stacks},
                        {"stacks", m.stacks, m.data},   {"data", m.data, end}};
  }

  void shared() {
    const std::uint32_t last = program_.tiles - 1;
    std::uint16_t all = 0;
    for (const std::uint8_t c : p_.code.tile_class) all = static_cast<std::uint16_t>(all | 1U << c);
    program_.shared.push_back({"control", p_.control.base, content(p_.control.words), all, {{0, last}}});
    // The whole image as words, so that blobs that end within a word carry their neighbour's bytes.
    const LinkedImage& image = p_.code.image;
    std::vector<std::uint8_t> bytes((image.end - image.base + 3) / 4 * 4, 0);
    for (const LinkedBlob& b : image.blobs) {
      std::copy(b.bytes.begin(), b.bytes.end(), bytes.begin() + (b.address - image.base));
    }
    for (std::size_t b = 0; b < image.blobs.size(); ++b) {
      const LinkedBlob& blob = image.blobs[b];
      const Address begin = blob.address / 4 * 4;
      const Address end = (blob.address + static_cast<Address>(blob.bytes.size()) + 3) / 4 * 4;
      std::vector<std::uint32_t> words;
      for (Address a = begin; a < end; a += 4) {
        const std::uint8_t* x = &bytes[a - image.base];
        words.push_back(x[0] | x[1] << 8 | x[2] << 16 | static_cast<std::uint32_t>(x[3]) << 24);
      }
      executable::SharedBlob shared{blob.name, begin, content(std::move(words)), 0, {}};
      for (std::uint32_t t = 0; t < program_.tiles; ++t) {
        const auto& present = p_.code.blobs[t];
        if (!std::binary_search(present.begin(), present.end(), b)) continue;
        shared.class_mask = static_cast<std::uint16_t>(shared.class_mask | 1U << p_.code.tile_class[t]);
        if (!shared.tiles.empty() && shared.tiles.back().last + 1 == t) {
          shared.tiles.back().last = t;
        } else {
          shared.tiles.push_back({t, t});
        }
      }
      if (!shared.tiles.empty()) program_.shared.push_back(std::move(shared));
    }
  }

  void per_tile() {
    for (std::uint32_t t = 0; t < program_.tiles; ++t) {
      blob(t, p_.plan.start, start_region(t));
      blob(t, p_.plan.steps, step_table(t));
      blob(t, p_.plan.lists, p_.tables.lists[t]);
      blob(t, p_.plan.exchange, p_.tables.exchange[t]);
    }
  }

  void blob(std::uint32_t tile, Address address, std::vector<std::uint32_t> words) {
    if (!words.empty()) program_.blobs.push_back({tile, address, content(std::move(words))});
  }

  std::vector<std::uint32_t> start_region(std::uint32_t tile) const {
    const Plan& m = p_.plan;
    std::vector<std::uint32_t> words(start_region::kBytes / 4, 0);
    const auto put = [&](std::uint32_t offset, std::uint32_t value) { words[offset / 4] = value; };
    // jal x0 to the first entry's stub, which goes on to boot.
    const std::uint32_t distance = p_.control.base - m.start;
    if (distance >= 0x100000) throw std::logic_error("control program is out of reach of the start region");
    put(start_region::jump, isa::place(isa::Imm::j, static_cast<std::int32_t>(distance)) | 0x6F);
    put(start_region::version, kImageVersion);
    put(start_region::tile, tile);
    put(start_region::ipu, options_.ipu);
    put(start_region::replica, 0);
    put(start_region::control, p_.control.dispatch_entry);
    put(start_region::steps, m.steps + kStepTableBias);
    put(start_region::stacks, m.stacks);
    put(start_region::stack_bytes, p_.code.worker_stack);
    put(start_region::code, m.code);
    put(start_region::lists, m.lists);
    put(start_region::exchange, m.exchange);
    put(start_region::data, m.data);
    put(start_region::end, p_.platform.sram_end());
    return words;
  }

  std::vector<std::uint32_t> step_table(std::uint32_t tile) const {
    std::vector<std::uint32_t> words;
    for (const Slot& s : p_.control.slots) words.push_back(slot_value(s, tile));
    return words;
  }

  std::uint32_t slot_value(const Slot& s, std::uint32_t tile) const {
    switch (s.kind) {
      case Slot::Kind::exchange:
        return p_.tables.phase_at[s.index][s.phase][tile];
      case Slot::Kind::list:
        return p_.tables.list_at[s.index][tile];
      case Slot::Kind::amp:
        return p_.tables.amp_at[s.index][tile];
      case Slot::Kind::window:
        return p_.tables.window_at[s.index][tile];
      case Slot::Kind::packets:
        return p_.tables.packets_at[s.index][tile];
      case Slot::Kind::predicate:
        // Tiles without an opinion vote 1: the version word is never 0, nor is its low byte.
        return s.place.tile == tile ? p_.allocation.at(s.place) : p_.plan.start + start_region::version;
      case Slot::Kind::index: {
        const std::uint32_t v = p_.ir.exchanges[s.index].index_variable;
        return p_.allocation.has(v, tile) ? p_.allocation.base(v, tile) : p_.plan.start + start_region::version;
      }
      case Slot::Kind::index_stride:
        return p_.ir.exchanges[s.index].index_stride[tile];
      case Slot::Kind::variable:
        return p_.allocation.base(s.index, tile);
      case Slot::Kind::value:
        return p_.tables.values[s.index][tile];
      case Slot::Kind::table:
        return p_.plan.steps + 4 * s.index;
    }
    throw std::logic_error("unknown slot");
  }

  /// Equal intervals are stored once, with the constant that has them first.
  void constants() {
    for (std::uint32_t v = 0; v < p_.ir.graph.variables().size(); ++v) {
      const graph::Variable& variable = p_.ir.graph.variables()[v];
      if (!variable.constant() || !p_.liveness.ever_live(v)) continue;
      const std::size_t own = program_.constants.size();
      program_.constants.push_back({variable.name, {}, {}});
      // Copies of a repeated constant that are cut alike need no look at their bytes.
      std::map<std::pair<std::uint64_t, std::uint64_t>, Stored> cuts;
      const std::uint64_t period = variable.elements() / variable.copies;
      for (const Layout::Interval& i : p_.ir.layout.intervals(v)) {
        const std::uint64_t length = i.end - i.begin;
        if (length == 0) continue;
        const auto [cut, fresh] = cuts.try_emplace({i.begin % period, length});
        if (fresh) cut->second = store(own, interval_words(variable, i.begin, length));
        const Stored& at = cut->second;
        program_.constants[at.constant].pieces.push_back(
            {i.tile, p_.allocation.base(v, i.tile) + i.offset, at.offset, at.words});
      }
    }
    const auto empty = [](const executable::Constant& c) { return c.pieces.empty(); };
    auto& all = program_.constants;
    all.erase(std::remove_if(all.begin(), all.end(), empty), all.end());
  }

  /// Where the words of an interval are: constant (by number), first word, count.
  struct Stored {
    std::size_t constant = 0;
    std::uint32_t offset = 0, words = 0;
  };

  /// Elements begin .. begin + length of a constant's copies as words, the last one padded.
  static std::vector<std::uint32_t> interval_words(const graph::Variable& v, std::uint64_t begin,
                                                   std::uint64_t length) {
    const unsigned size = graph::size_of(v.type);
    std::vector<std::uint32_t> words((length * size + 3) / 4, 0);
    auto* to = reinterpret_cast<std::uint8_t*>(words.data());  // hosts are little endian, like the tiles
    std::uint64_t at = begin * size % v.data->size();
    for (std::uint64_t done = 0; done < length * size;) {
      const std::uint64_t n = std::min(length * size - done, v.data->size() - at);
      std::memcpy(to + done, v.data->data() + at, n);
      done += n;
      at = 0;
    }
    return words;
  }

  Stored store(std::size_t own, const std::vector<std::uint32_t>& words) {
    std::uint64_t hash = 0xCBF29CE484222325ULL ^ words.size();
    for (const std::uint32_t w : words) hash = (hash ^ w) * 0x100000001B3ULL, hash ^= hash >> 29;
    std::vector<Stored>& same = stored_[hash];
    for (const Stored& s : same) {
      const std::vector<std::uint32_t>& all = program_.constants[s.constant].words;
      if (s.words == words.size() && std::equal(words.begin(), words.end(), all.begin() + s.offset)) return s;
    }
    std::vector<std::uint32_t>& all = program_.constants[own].words;
    same.push_back({own, static_cast<std::uint32_t>(all.size()), static_cast<std::uint32_t>(words.size())});
    all.insert(all.end(), words.begin(), words.end());
    return same.back();
  }

  /// Under which name the tensor of a print stands among the program's tensors.
  static std::string shown_name(std::size_t host_step) { return "print " + std::to_string(host_step + 1); }

  void add_tensor(const std::string& name, const std::string& node, const graph::Tensor& tensor) {
    executable::TensorMap map;
    map.name = name;
    map.node = node;
    map.type = tensor.type();
    map.shape = tensor.shape();
    for_each_piece(p_.ir.layout, tensor, [&](const TensorPiece& piece) {
      map.runs.push_back({piece.place.tile, p_.allocation.at(piece.place), static_cast<std::int32_t>(piece.step),
                          piece.begin, piece.count});
    });
    program_.tensors.push_back(std::move(map));
  }

  void tensors() {
    for (const graph::Exposed& x : p_.ir.graph.exposed()) add_tensor(x.name, x.node, x.tensor);
    for (std::size_t h = 0; h < p_.ir.hosts.size(); ++h) {
      if (p_.ir.hosts[h].shown.valid()) add_tensor(shown_name(h), {}, p_.ir.hosts[h].shown);
    }
    for (const auto& [sync, tap] : p_.control.taps) {
      const std::string name = "tap " + std::to_string(tap + 1);
      add_tensor(name, {}, p_.ir.taps[tap].tensor);
      program_.taps.push_back({sync, p_.ir.taps[tap].names, name});
    }
  }

  void steps() {
    program_.entries = p_.control.entries;
    program_.steps = p_.control.steps;
    std::sort(program_.steps.begin(), program_.steps.end(),
              [](const executable::Step& a, const executable::Step& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < p_.ir.exchanges.size(); ++i) {
      std::uint64_t sent = words_of(p_.ir.exchanges[i]);
      for (const exchange::Phase& phase : p_.tables.schedules[i].phases) {
        program_.phases.push_back({p_.ir.exchanges[i].name, phase.cycles, phase.bound, sent, phase.words});
        sent = 0;  // of a step that is cut: told with its first phase
      }
    }
    for (executable::Step& s : program_.steps) {
      if (s.phase != kNone) s.predicted_cycles = program_.phases[s.phase].cycles;
    }
    program_.tables = p_.tables.ranges;
    std::sort(program_.tables.begin(), program_.tables.end(),
              [](const executable::TileTable& a, const executable::TileTable& b) {
                return a.tile != b.tile ? a.tile < b.tile : a.begin < b.begin;
              });
  }

  static std::uint64_t words_of(const ExchangeStep& step) {
    std::uint64_t words = 0;
    for (const WordMove& m : step.moves) words += std::uint64_t{m.words} * m.rows;
    return words;
  }

  void debug() {
    for (const VertexName& n : p_.ir.vertex_names) {
      program_.vertex_names.push_back({n.vertex, n.codelet, n.compute_set});
    }
    program_.vertices = p_.tables.records;
    std::sort(program_.vertices.begin(), program_.vertices.end(),
              [](const executable::VertexRecord& a, const executable::VertexRecord& b) {
                return a.tile != b.tile ? a.tile < b.tile : a.record < b.record;
              });
    program_.symbols.push_back({"control", p_.control.base, static_cast<std::uint32_t>(4 * p_.control.words.size())});
    for (const LinkedSymbol& s : p_.code.image.symbols) {
      if (s.function) program_.symbols.push_back({s.name, s.address, s.size});
    }
    std::stable_sort(program_.symbols.begin(), program_.symbols.end(),
                     [](const executable::Symbol& a, const executable::Symbol& b) { return a.address < b.address; });
    program_.files = p_.code.image.files;
    for (const LinkedImage::Line& l : p_.code.image.lines) program_.lines.push_back({l.address, l.file, l.line});
  }

  void streams(executable::Executable& e) const {
    for (std::uint32_t s = 0; s < p_.ir.graph.streams().size(); ++s) {
      const graph::Stream& source = p_.ir.graph.streams()[s];
      const StreamLayout& layout = p_.ir.streams[s];
      executable::Stream stream;
      stream.name = source.name;
      stream.input = source.input;
      stream.type = source.type;
      stream.elements = source.elements;
      stream.buffer = s;
      stream.bytes = layout.bytes;
      stream.layout = layout.layout;
      for (const HostWords& w : layout.words) {
        stream.words.push_back({w.place.tile, p_.allocation.at(w.place), w.offset, w.words});
      }
      e.streams.push_back(std::move(stream));
    }
    for (std::uint32_t h = 0; h < p_.ir.hosts.size(); ++h) {
      const HostStep& step = p_.ir.hosts[h];
      e.host_steps.push_back({h + 1, step.path, step.reads, step.writes, step.kind, step.text,
                              step.shown.valid() ? shown_name(h) : std::string()});
    }
  }

  const Parts& p_;
  const Options& options_;
  Program program_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> contents_;
  std::unordered_map<std::uint64_t, std::vector<Stored>> stored_;  // by hash; looked up only
};

}  // namespace

executable::Executable emit(const Parts& parts, const Options& options) { return Emitter(parts, options).run(); }

}  // namespace tessera::compiler
