// Bytes of the executable. Each structure lists its fields once; a writer and a reader go through the same list, so the
// two cannot disagree. Integers are little endian, lists and strings carry a 32-bit count.
//
// Layout: magic 8, format 4, sections 4, platform hash 8, content hash 8 (of all bytes behind it), then for each
// section {id 4, check 4 (of its bytes), offset 8, size 8}, then the sections in order without gaps.
#include "host/executable/container.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "hw/error.h"
#include "hw/whole_file.h"

namespace tessera::executable {

namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {'T', 'E', 'S', 'S', 'E', 'R', 'A', 0x1A};
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kSectionEntryBytes = 24;
constexpr std::size_t kHashedFrom = 32;
constexpr std::array<const char*, 6> kSectionNames = {"platform", "programs",   "instances",
                                                      "streams",  "host steps", "report"};

class Writer {
 public:
  template <typename T>
  void number(T& value) {
    std::uint64_t bits = 0;
    if constexpr (std::is_enum_v<T>) {
      bits = static_cast<std::uint64_t>(value);
    } else {
      bits = static_cast<std::uint64_t>(value);
    }
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
  }
  void text(std::string& value) {
    auto size = static_cast<std::uint32_t>(value.size());
    number(size);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  template <typename T, typename F>
  void list(std::vector<T>& values, F&& each) {
    auto size = static_cast<std::uint32_t>(values.size());
    number(size);
    for (T& value : values) each(*this, value);
  }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  Reader(const std::uint8_t* bytes, std::size_t size, std::function<void(std::size_t, const std::string&)> fail)
      : bytes_(bytes), size_(size), fail_(std::move(fail)) {}

  template <typename T>
  void number(T& value) {
    need(sizeof(T));
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<std::uint64_t>(bytes_[at_ + i]) << (8 * i);
    if constexpr (std::is_same_v<T, bool>) {
      if (bits > 1) fail_(at_, "a flag that is neither 0 nor 1");
    }
    if constexpr (std::is_same_v<T, Type>) {
      if (bits > static_cast<std::uint64_t>(Type::f32)) fail_(at_, "an unknown element type");
    }
    if constexpr (std::is_same_v<T, Step::Kind>) {
      if (bits > static_cast<std::uint64_t>(Step::Kind::finish)) fail_(at_, "an unknown kind of step");
    }
    if constexpr (std::is_same_v<T, HostStep::Kind>) {
      if (bits > static_cast<std::uint64_t>(HostStep::Kind::abort)) fail_(at_, "an unknown kind of host step");
    }
    at_ += sizeof(T);
    value = static_cast<T>(bits);
  }
  void text(std::string& value) {
    std::uint32_t size = 0;
    number(size);
    need(size);
    value.assign(reinterpret_cast<const char*>(bytes_ + at_), size);
    at_ += size;
  }
  template <typename T, typename F>
  void list(std::vector<T>& values, F&& each) {
    std::uint32_t size = 0;
    number(size);
    need(size);  // every element takes at least a byte, so a wrong count cannot ask for much memory
    values.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      values.emplace_back();
      each(*this, values.back());
    }
  }
  [[nodiscard]] std::size_t left() const { return size_ - at_; }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  void need(std::size_t count) const {
    if (size_ - at_ < count) fail_(at_, fmt::format("{} bytes needed, {} left", count, size_ - at_));
  }
  const std::uint8_t* bytes_;
  std::size_t size_;
  std::size_t at_ = 0;
  std::function<void(std::size_t, const std::string&)> fail_;
};

template <typename A, typename... T>
void numbers(A& a, T&... values) {
  (a.number(values), ...);
}

struct Each {
  template <typename A>
  void operator()(A& a, std::uint32_t& v) const {
    a.number(v);
  }
  template <typename A>
  void operator()(A& a, std::uint64_t& v) const {
    a.number(v);
  }
  template <typename A>
  void operator()(A& a, std::uint8_t& v) const {
    a.number(v);
  }
  template <typename A>
  void operator()(A& a, std::vector<std::uint32_t>& v) const {
    a.list(v, *this);
  }
  template <typename A>
  void operator()(A& a, TileRange& v) const {
    numbers(a, v.first, v.last);
  }
  template <typename A>
  void operator()(A& a, Region& v) const {
    a.text(v.name);
    numbers(a, v.begin, v.end);
  }
  template <typename A>
  void operator()(A& a, SharedBlob& v) const {
    a.text(v.name);
    numbers(a, v.address, v.content, v.class_mask);
    a.list(v.tiles, *this);
  }
  template <typename A>
  void operator()(A& a, TileBlob& v) const {
    numbers(a, v.tile, v.address, v.content);
  }
  template <typename A>
  void operator()(A& a, ConstantPiece& v) const {
    numbers(a, v.tile, v.address, v.offset, v.words);
  }
  template <typename A>
  void operator()(A& a, Constant& v) const {
    a.text(v.name);
    a.list(v.words, *this);
    a.list(v.pieces, *this);
  }
  template <typename A>
  void operator()(A& a, EntryPoint& v) const {
    a.text(v.name);
    a.number(v.pc);
    a.list(v.reads, *this);
    a.list(v.writes, *this);
  }
  template <typename A>
  void operator()(A& a, TensorRun& v) const {
    numbers(a, v.tile, v.address, v.step, v.element, v.count);
  }
  template <typename A>
  void operator()(A& a, TensorMap& v) const {
    a.text(v.name);
    a.text(v.node);
    a.number(v.type);
    a.list(v.shape, *this);
    a.list(v.runs, *this);
  }
  template <typename A>
  void operator()(A& a, Tap& v) const {
    a.number(v.sync);
    a.list(v.names, *this);
    a.text(v.tensor);
  }
  template <typename A>
  void operator()(A& a, Step& v) const {
    numbers(a, v.begin, v.end, v.kind);
    a.text(v.path);
    a.text(v.name);
    numbers(a, v.predicted_cycles, v.phase);
  }
  template <typename A>
  void operator()(A& a, Phase& v) const {
    a.text(v.name);
    numbers(a, v.cycles, v.bound, v.words_sent, v.words_received);
  }
  template <typename A>
  void operator()(A& a, TileTable& v) const {
    numbers(a, v.tile, v.begin, v.end, v.phase);
  }
  template <typename A>
  void operator()(A& a, VertexName& v) const {
    a.text(v.vertex);
    a.text(v.codelet);
    a.text(v.compute_set);
  }
  template <typename A>
  void operator()(A& a, VertexRecord& v) const {
    numbers(a, v.tile, v.workers, v.record, v.state, v.stride, v.count, v.name, v.first);
  }
  template <typename A>
  void operator()(A& a, Symbol& v) const {
    a.text(v.name);
    numbers(a, v.address, v.size);
  }
  template <typename A>
  void operator()(A& a, Line& v) const {
    numbers(a, v.address, v.file, v.line);
  }
  template <typename A>
  void operator()(A& a, std::string& v) const {
    a.text(v);
  }
  template <typename A>
  void operator()(A& a, Program& v) const {
    a.number(v.tiles);
    a.list(v.tile_class, *this);
    a.list(v.regions, *this);
    a.list(v.contents, *this);
    a.list(v.shared, *this);
    a.list(v.blobs, *this);
    a.list(v.constants, *this);
    a.list(v.entries, *this);
    a.list(v.tensors, *this);
    a.list(v.taps, *this);
    a.list(v.steps, *this);
    a.list(v.phases, *this);
    a.list(v.tables, *this);
    a.list(v.vertex_names, *this);
    a.list(v.vertices, *this);
    a.list(v.symbols, *this);
    a.list(v.files, *this);
    a.list(v.lines, *this);
  }
  template <typename A>
  void operator()(A& a, Instance& v) const {
    numbers(a, v.ipu, v.program, v.replica);
  }
  template <typename A>
  void operator()(A& a, BufferRun& v) const {
    numbers(a, v.offset, v.step, v.element, v.count);
  }
  template <typename A>
  void operator()(A& a, BufferWords& v) const {
    numbers(a, v.tile, v.address, v.offset, v.words);
  }
  template <typename A>
  void operator()(A& a, Stream& v) const {
    a.text(v.name);
    numbers(a, v.input, v.divided, v.type, v.elements, v.buffer, v.bytes);
    a.list(v.layout, *this);
    a.list(v.words, *this);
  }
  template <typename A>
  void operator()(A& a, HostStep& v) const {
    a.number(v.code);
    a.text(v.path);
    a.list(v.reads, *this);
    a.list(v.writes, *this);
    a.number(v.kind);
    a.text(v.text);
    a.text(v.tensor);
  }
};

/// Fields of section `id`, in the order of kSectionNames.
template <typename A>
void section(A& a, Executable& e, std::size_t id) {
  const Each each;
  switch (id) {
    case 0:
      a.text(e.name);
      a.text(e.platform_name);
      a.text(e.platform_json);
      a.number(e.sram_bytes);
      break;
    case 1:
      a.list(e.programs, each);
      break;
    case 2:
      a.list(e.instances, each);
      break;
    case 3:
      a.list(e.streams, each);
      break;
    case 4:
      a.list(e.host_steps, each);
      break;
    default:
      a.text(e.interface_json);
      a.text(e.report_json);
      break;
  }
}

template <typename T>
T load(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<T>(bits);
}

template <typename T>
void store(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

[[noreturn]] void bad_file(const std::string& origin, const std::string& what, const std::string& where) {
  throw Error(Category::usage, "not a usable executable: " + what, origin + (where.empty() ? "" : ", " + where),
              "compile the model again");
}

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

std::uint64_t hash_bytes(const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t h = 0xCBF29CE484222325;
  for (std::size_t i = 0; i < count; ++i) h = (h ^ bytes[i]) * 0x100000001B3;
  return h;
}

namespace {

/// Tells which section was damaged; the content hash tells that one was.
std::uint32_t section_check(const std::uint8_t* bytes, std::size_t count) {
  const std::uint64_t h = hash_bytes(bytes, count);
  return static_cast<std::uint32_t>(h ^ h >> 32);
}

}  // namespace

std::vector<std::uint8_t> write(const Executable& executable) {
  Executable copy = executable;  // the field lists serve reading too, so they take what they go through as mutable
  std::vector<std::vector<std::uint8_t>> sections;
  for (std::size_t id = 0; id < kSectionNames.size(); ++id) {
    Writer writer;
    section(writer, copy, id);
    sections.push_back(std::move(writer.bytes()));
  }
  std::vector<std::uint8_t> bytes(kHeaderBytes + kSectionEntryBytes * sections.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  store<std::uint32_t>(bytes, 8, kFormatVersion);
  store<std::uint32_t>(bytes, 12, static_cast<std::uint32_t>(sections.size()));
  store<std::uint64_t>(bytes, 16, executable.platform_hash);
  for (std::size_t id = 0; id < sections.size(); ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    store<std::uint32_t>(bytes, entry, static_cast<std::uint32_t>(id));
    store<std::uint32_t>(bytes, entry + 4, section_check(sections[id].data(), sections[id].size()));
    store<std::uint64_t>(bytes, entry + 8, bytes.size());
    store<std::uint64_t>(bytes, entry + 16, sections[id].size());
    bytes.insert(bytes.end(), sections[id].begin(), sections[id].end());
  }
  store<std::uint64_t>(
      bytes, 24, hash_bytes(bytes.data() + kHashedFrom, bytes.size() - kHashedFrom) ^ hash_bytes(bytes.data(), 24));
  return bytes;
}

Executable read(const std::vector<std::uint8_t>& bytes, const std::string& origin) {
  if (bytes.size() < kHeaderBytes) {
    bad_file(origin, fmt::format("{} bytes, a header has {}", bytes.size(), kHeaderBytes), "header");
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) bad_file(origin, "wrong magic number", "header");
  const auto format = load<std::uint32_t>(bytes, 8);
  if (format != kFormatVersion) {
    bad_file(origin, fmt::format("format {}, this build reads format {}", format, kFormatVersion), "header");
  }
  const auto count = load<std::uint32_t>(bytes, 12);
  if (count != kSectionNames.size()) bad_file(origin, fmt::format("{} sections", count), "header");
  if (bytes.size() < kHeaderBytes + kSectionEntryBytes * count) bad_file(origin, "cut short", "section table");
  Executable e;
  e.platform_hash = load<std::uint64_t>(bytes, 16);
  // Bounds come first, so that a file that was cut is told as that.
  std::uint64_t at = kHeaderBytes + kSectionEntryBytes * count;
  for (std::size_t id = 0; id < count; ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    const auto offset = load<std::uint64_t>(bytes, entry + 8);
    const auto size = load<std::uint64_t>(bytes, entry + 16);
    const std::string where = std::string("section ") + kSectionNames[id];
    if (load<std::uint32_t>(bytes, entry) != id || offset != at) bad_file(origin, "damaged section table", where);
    if (size > bytes.size() || offset > bytes.size() - size) {
      bad_file(origin,
               fmt::format("cut short: the section ends at byte {}, the file at {}", offset + size, bytes.size()),
               where);
    }
    at = offset + size;
  }
  for (std::size_t id = 0; id < count; ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    const auto offset = load<std::uint64_t>(bytes, entry + 8);
    if (section_check(bytes.data() + offset, load<std::uint64_t>(bytes, entry + 16)) !=
        load<std::uint32_t>(bytes, entry + 4))
      bad_file(origin, "its bytes were changed", std::string("section ") + kSectionNames[id]);
  }
  if (at != bytes.size()) bad_file(origin, fmt::format("{} bytes behind the end", bytes.size() - at), "end");
  const std::uint64_t hash =
      hash_bytes(bytes.data() + kHashedFrom, bytes.size() - kHashedFrom) ^ hash_bytes(bytes.data(), 24);
  const auto stored = load<std::uint64_t>(bytes, 24);
  if (hash != stored) {
    bad_file(origin, fmt::format("content hash {:016x}, the header says {:016x}", hash, stored), "contents");
  }
  for (std::size_t id = 0; id < count; ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    const auto offset = load<std::uint64_t>(bytes, entry + 8);
    const auto size = load<std::uint64_t>(bytes, entry + 16);
    const auto fail = [&](std::size_t where, const std::string& what) {
      bad_file(origin, what, fmt::format("section {}, byte {}", kSectionNames[id], where));
    };
    Reader reader(bytes.data() + offset, size, fail);
    section(reader, e, id);
    if (reader.left() != 0) fail(reader.at(), fmt::format("{} bytes too many", reader.left()));
  }
  Checker(e, origin).run();
  return e;
}

void write_file(const Executable& executable, const std::string& path) {
  const std::vector<std::uint8_t> bytes = write(executable);
  if (write_whole_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return;
  throw Error(Category::usage, "the executable cannot be written", path, "check the folder and free space");
}

Executable read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code ignored;  // directories open, but do not read
  if (!in || std::filesystem::is_directory(path, ignored) || std::filesystem::is_character_file(path, ignored))
    throw Error(Category::usage, "the executable cannot be opened", path, "check the name");
  const std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return read(bytes, path);
}

void check_platform(const Executable& executable, const std::string& platform_name, std::uint64_t platform_hash) {
  if (executable.platform_hash == platform_hash) return;
  throw Error(Category::usage,
              fmt::format("compiled for platform {} ({:016x}), the machine is {} ({:016x})", executable.platform_name,
                          executable.platform_hash, platform_name, platform_hash),
              "executable " + executable.name, "compile for this platform, or run on the other one");
}

}  // namespace tessera::executable
