// See container_check.h.
#include "host/executable/container_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "hw/error.h"

namespace tessera::executable {

void bad_file(const std::string& origin, const std::string& what, const std::string& where) {
  throw Error(Category::usage, "not a usable executable: " + what, origin + (where.empty() ? "" : ", " + where),
              "compile the model again");
}

namespace {

/// Contents that fit the container but make no sense: indices, addresses, tiles out of range.
class Checker {
 public:
  Checker(const Executable& e, std::string origin) : e_(e), origin_(std::move(origin)) {}

  void run() const {
    if (e_.sram_bytes == 0 || e_.sram_bytes > kMaxSram) bad("SRAM size", e_.sram_bytes, "platform");
    for (const Program& p : e_.programs) program(p);
    for (const Instance& i : e_.instances) {
      if (i.program >= e_.programs.size()) bad("program index", i.program, "instances");
      if (i.ipu > 255) bad("IPU", i.ipu, "instances");  // of a remote address
    }
    for (const Stream& s : e_.streams) stream(s);
    for (std::size_t i = 0; i < e_.host_steps.size(); ++i) {
      const HostStep& h = e_.host_steps[i];
      if (h.code != i + 1) bad("step code", h.code, "host steps");
      if (h.kind == HostStep::Kind::print) {
        for (const Instance& instance : e_.instances) {
          if (find_tensor(e_.programs.at(instance.program), h.tensor) == nullptr)
            bad("tensor of print", i, "host steps");
        }
      }
      for (const auto* list : {&h.reads, &h.writes}) {
        for (const std::uint32_t s : *list) {
          if (s >= e_.streams.size()) bad("stream index", s, "host steps");
        }
      }
    }
  }

 private:
  static constexpr std::uint32_t kSramStart = 0x40000;
  static constexpr std::uint32_t kMaxSram = 16U << 20;

  [[noreturn]] void bad(const std::string& what, std::uint64_t value, const std::string& where) const {
    bad_file(origin_, fmt::format("{} {:#x} is out of range", what, value), "section " + where);
  }
  void range(std::uint64_t address, std::uint64_t bytes, const std::string& what) const {
    if (address % 4 != 0 || address < kSramStart || bytes > e_.sram_bytes ||
        address - kSramStart > e_.sram_bytes - bytes) {
      bad("address of " + what, address, "programs");
    }
  }
  void tile(const Program& p, std::uint32_t t) const {
    if (t >= p.tiles) bad("tile", t, "programs");
  }
  void program(const Program& p) const {
    if (p.tiles == 0 || p.tiles > 4095) bad("number of tiles", p.tiles, "programs");
    if (p.tile_class.size() != p.tiles) bad("number of tile classes", p.tile_class.size(), "programs");
    for (const std::uint8_t c : p.tile_class) {
      if (c > 15) bad("tile class", c, "programs");
    }
    for (const SharedBlob& b : p.shared) {
      if (b.content >= p.contents.size()) bad("content index", b.content, "programs");
      range(b.address, 4 * p.contents[b.content].size(), b.name);
      for (const TileRange& r : b.tiles) {
        tile(p, r.last);
        if (r.first > r.last) bad("tile range from", r.first, "programs");
      }
    }
    for (const TileBlob& b : p.blobs) {
      tile(p, b.tile);
      if (b.content >= p.contents.size()) bad("content index", b.content, "programs");
      range(b.address, 4 * p.contents[b.content].size(), "a tile's blob");
    }
    for (const Constant& c : p.constants) {
      for (const ConstantPiece& piece : c.pieces) {
        tile(p, piece.tile);
        range(piece.address, 4ULL * piece.words, "constant " + c.name);
        if (piece.offset > c.words.size() || piece.words > c.words.size() - piece.offset) {
          bad("words of constant " + c.name, piece.offset, "programs");
        }
      }
    }
    for (const EntryPoint& x : p.entries) {
      range(x.pc, 4, "entry " + x.name);
      for (const bool input : {true, false}) {
        for (const std::uint32_t s : input ? x.reads : x.writes) {
          if (s >= e_.streams.size() || e_.streams[s].input != input) bad("stream of entry " + x.name, s, "programs");
        }
      }
    }
    for (const TensorMap& t : p.tensors) tensor(p, t);
    for (const Tap& t : p.taps) {
      range(t.sync, 4, "tap " + t.tensor);
      if (find_tensor(p, t.tensor) == nullptr || t.names.empty()) bad("tensor of tap", t.sync, "programs");
    }
    for (const Step& s : p.steps) {
      if (s.phase != 0xFFFFFFFF && s.phase >= p.phases.size()) bad("phase index", s.phase, "programs");
    }
    for (const TileTable& t : p.tables) {
      tile(p, t.tile);
      if (t.phase >= p.phases.size()) bad("phase index", t.phase, "programs");
    }
    for (const VertexRecord& v : p.vertices) {
      tile(p, v.tile);
      if (v.name >= p.vertex_names.size()) bad("vertex name index", v.name, "programs");
    }
  }
  void tensor(const Program& p, const TensorMap& t) const {
    const std::uint64_t elements = count(t.shape, "shape of tensor " + t.name);
    for (const TensorRun& r : t.runs) {
      tile(p, r.tile);
      if (r.element > elements || r.count > elements - r.element) bad("elements of " + t.name, r.element, "programs");
      const std::int64_t last =
          static_cast<std::int64_t>(r.address) + static_cast<std::int64_t>(r.count == 0 ? 0 : r.count - 1) * r.step;
      for (const std::int64_t a : {static_cast<std::int64_t>(r.address), last}) {
        if (a < static_cast<std::int64_t>(kSramStart) ||
            a + size_of(t.type) > static_cast<std::int64_t>(kSramStart) + e_.sram_bytes) {
          bad("address of tensor " + t.name, static_cast<std::uint64_t>(a), "programs");
        }
      }
    }
  }
  void stream(const Stream& s) const {
    if (s.bytes % 4 != 0) bad("buffer size of " + s.name, s.bytes, "streams");
    for (const BufferRun& r : s.layout) {
      if (r.element > s.elements || r.count > s.elements - r.element)
        bad("elements of " + s.name, r.element, "streams");
      const __int128 last =
          static_cast<__int128>(r.offset) + static_cast<__int128>(r.count == 0 ? 0 : r.count - 1) * r.step;
      for (const __int128 a : {static_cast<__int128>(r.offset), last}) {
        if (a < 0 || a + size_of(s.type) > static_cast<__int128>(s.bytes)) {
          bad("offset in the buffer of " + s.name, r.offset, "streams");
        }
      }
    }
    for (const BufferWords& w : s.words) {
      if (w.offset > s.bytes || 4ULL * w.words > s.bytes - w.offset) bad("words of " + s.name, w.offset, "streams");
    }
  }
  [[nodiscard]] std::uint64_t count(const std::vector<std::uint64_t>& shape, const std::string& what) const {
    unsigned __int128 n = 1;
    for (const std::uint64_t d : shape) {
      n *= d;
      if (n > (std::uint64_t{1} << 40)) bad(what, d, "programs");
    }
    return static_cast<std::uint64_t>(n);
  }

  const Executable& e_;
  std::string origin_;
};

}  // namespace

void check_contents(const Executable& executable, const std::string& origin) { Checker(executable, origin).run(); }

}  // namespace tessera::executable
