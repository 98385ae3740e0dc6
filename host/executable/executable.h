// The executable: all that the driver needs to load, run and read a compiled program, and all that reports need to name
// what ran. Where compiler and engine meet; knows neither graph nor device.
//
// In memory it is plain data; container.h writes it to bytes and reads it back (same input, same bytes). All addresses
// are byte addresses as a tile sees them; what is loaded is whole 32-bit words at addresses that are multiples of 4.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/graph/type.h"
#include "hw/types.h"

namespace tessera::executable {

using graph::Type;

/// Step code (bits 31:8 of rs1 of x.sync host) by which a program says that it has ended.
inline constexpr std::uint32_t kFinishedCode = 0xFFFFFF;

/// Word of the start region that says which entry point (index into Program::entries) runs next when the host
/// acknowledges the finish of a program. The first start needs no selector: it goes by the entry's pc.
inline constexpr Address kEntrySelector = 0x40038;

/// Tiles first .. last, both included.
struct TileRange {
  std::uint32_t first = 0, last = 0;
  friend bool operator==(const TileRange& a, const TileRange& b) { return a.first == b.first && a.last == b.last; }
};

/// One region of the memory plan, the same on all tiles; `data` ends at the end of SRAM.
struct Region {
  std::string name;  ///< start, control, code, steps, lists, exchange, stacks, data
  Address begin = 0, end = 0;
};

/// The same bytes at one address on several tiles: the start region, the control program, a codelet.
struct SharedBlob {
  std::string name;  ///< "control", "start", or the codelet
  Address address = 0;
  std::uint32_t content = 0;     ///< index into Program::contents
  std::uint16_t class_mask = 0;  ///< tile classes that get it (bit c: class c); 0: load by the tile list
  std::vector<TileRange> tiles;  ///< always the full list
};

/// Bytes of one tile: step table, lists and vertex state, exchange tables, identity words.
struct TileBlob {
  std::uint32_t tile = 0;
  Address address = 0;
  std::uint32_t content = 0;  ///< index into Program::contents; tiles with equal bytes share one
};

/// Where words of a constant go.
struct ConstantPiece {
  std::uint32_t tile = 0;
  Address address = 0;
  std::uint32_t offset = 0;  ///< first word in Constant::words
  std::uint32_t words = 0;
};

/// A constant, stored once: its tile intervals one after the other, each padded to whole words. An interval whose words
/// an earlier constant (or copy) has too has only a piece there.
struct Constant {
  std::string name;
  std::vector<std::uint32_t> words;
  std::vector<ConstantPiece> pieces;
};

struct EntryPoint {
  std::string name;
  Address pc = 0;  ///< where every supervisor starts
  /// Streams (indices) that the host has no step for: their one step is in the buffer before the entry starts, or is
  /// there when it has ended. Tiles move it in the window of a sync of group 1, which every IPU must be in.
  std::vector<std::uint32_t> reads{}, writes{};
};

/// Elements element .. element + count of a tensor (row-major) on one tile, at address + i * step bytes.
struct TensorRun {
  std::uint32_t tile = 0;
  Address address = 0;
  std::int32_t step = 0;
  std::uint64_t element = 0, count = 0;
};

/// A tensor that the host may read or write by name while the machine stands (before start, or in a host sync).
struct TensorMap {
  std::string name;
  std::string node;  ///< node of the model that made it, may be empty
  Type type = Type::f32;
  std::vector<std::uint64_t> shape;
  std::vector<TensorRun> runs;  ///< cover every element once
};

/// A tensor that tools read, from outside and without time passing, when all tiles are released from the x.sync at this
/// pc: it holds what `names` says at its first, second, .. release, then from the start again.
struct Tap {
  Address sync = 0;
  std::vector<std::string> names;
  std::string tensor;  ///< in Program::tensors; valid at that moment only
};

/// What the supervisors do at a range of program counters.
struct Step {
  enum class Kind : std::uint8_t { prologue, exchange, compute, host, control, finish };
  Address begin = 0, end = 0;  ///< pc range of the step in the control program
  Kind kind = Kind::control;
  std::string path;                    ///< program path: "main/layer1/matmul"
  std::string name;                    ///< compute set, copy or stream
  std::uint32_t predicted_cycles = 0;  ///< exchange: phase length from release, see Executable::Phase
  std::uint32_t phase = 0xFFFFFFFF;    ///< index into Program::phases; 0xFFFFFFFF is none
};

/// An exchange phase. The phase takes `cycles` cycles from its release: the last word of it is on a receiver's port in
/// cycle Z + cycles - 1. The simulator must find the same number.
struct Phase {
  std::string name;  ///< what is moved, by user-level names
  std::uint32_t cycles = 0;
  std::uint32_t bound = 0;  ///< lower bound of cycles
  std::uint64_t words_sent = 0, words_received = 0;
};

/// Where a tile's table for a phase stands, for exchange faults: descriptor address -> phase.
struct TileTable {
  std::uint32_t tile = 0;
  Address begin = 0, end = 0;
  std::uint32_t phase = 0;
};

struct VertexName {
  std::string vertex, codelet, compute_set;
};

/// A record of a run list: `count` calls for members first .. first + count of one vertex family on one tile, by the
/// workers of `workers` (bit w-1: worker w). The state of call i stands at state + i * stride (moving records: stride
/// 0).
struct VertexRecord {
  std::uint32_t tile = 0;
  std::uint8_t workers = 0;
  Address record = 0;  ///< address of the record in the list
  Address state = 0;
  std::uint32_t stride = 0, count = 0;
  std::uint32_t name = 0;  ///< index into Program::vertex_names
  std::uint64_t first = 0;

  /// A record of a list of AMP vertices: all six workers together. Those of run lists are one worker's.
  [[nodiscard]] bool amp() const { return workers == 0x3F; }
};

struct Symbol {
  std::string name;
  Address address = 0;
  std::uint32_t size = 0;
};

/// Source line of the code from `address` on; line 0 ends a sequence.
struct Line {
  Address address = 0;
  std::uint32_t file = 0;  ///< index into Program::files
  std::uint32_t line = 0;
};

/// One program for one IPU; every instance of it runs the same.
struct Program {
  std::uint32_t tiles = 0;               ///< active tiles 0 .. tiles-1; tile 0 is the root of host steps
  std::vector<std::uint8_t> tile_class;  ///< class number (0..15) of each active tile
  std::vector<Region> regions;
  std::vector<std::vector<std::uint32_t>> contents;  ///< distinct blobs, in order of first use
  std::vector<SharedBlob> shared;
  std::vector<TileBlob> blobs;
  std::vector<Constant> constants;
  std::vector<EntryPoint> entries;
  std::vector<TensorMap> tensors;
  std::vector<Tap> taps;    ///< sorted by sync
  std::vector<Step> steps;  ///< sorted by begin, disjoint
  std::vector<Phase> phases;
  std::vector<TileTable> tables;  ///< sorted by (tile, begin)
  std::vector<VertexName> vertex_names;
  std::vector<VertexRecord> vertices;  ///< sorted by (tile, record)
  std::vector<Symbol> symbols;         ///< sorted by address: firmware, codelets, control
  std::vector<std::string> files;      ///< sources of codelets and firmware
  std::vector<Line> lines;             ///< sorted by address
};

/// Program `program` runs on IPU `ipu` as replica `replica`.
struct Instance {
  std::uint32_t ipu = 0, program = 0, replica = 0;
};

/// Elements element .. element + count of a stream step (row-major) at offset + i * step bytes of its host buffer.
struct BufferRun {
  std::uint64_t offset = 0;
  std::int32_t step = 0;
  std::uint64_t element = 0, count = 0;
};

/// Which words of the buffer a tile reads or writes, in the order of its packet table.
struct BufferWords {
  std::uint32_t tile = 0;
  Address address = 0;
  std::uint64_t offset = 0;  ///< bytes, multiple of 4
  std::uint32_t words = 0;
};

/// A host stream; every instance has a buffer of its own. Of a divided stream instance i of n takes steps i, i + n,
/// ..., in the order of the executable's instances; of others all instances take the same input, and the output is that
/// of the first. One host buffer holds one step in tile order; the device addresses it as host buffer `buffer` from
/// offset 0. Bytes of the buffer that no run covers are padding: write 0.
struct Stream {
  std::string name;
  bool input = true;  ///< host to device
  Type type = Type::f32;
  std::uint64_t elements = 0;
  std::uint32_t buffer = 0;
  std::uint64_t bytes = 0;        ///< of the buffer, multiple of 4
  std::vector<BufferRun> layout;  ///< cover every element once
  std::vector<BufferWords> words;
  bool divided = false;  ///< its steps are shared out among the instances
};

/// What the host does when a program arrives at a host sync with this code: before it acknowledges it fills the buffers
/// of `reads` with their next step. The buffers of `writes` are written after the release and are complete when the
/// next host sync arrives (finish included): the host takes them then, before it serves that sync.
/// A print reads a tensor while the machine waits and shows it; an abort ends the run with a message.
struct HostStep {
  enum class Kind : std::uint8_t { streams, print, abort };
  std::uint32_t code = 0;
  std::string path;
  std::vector<std::uint32_t> reads, writes;  ///< indices into streams
  Kind kind = Kind::streams;
  std::string text{};    ///< print: label; abort: message
  std::string tensor{};  ///< print: name of the tensor in Program::tensors; valid in this step only
};

struct Executable {
  std::string name;  ///< of the model
  std::string platform_name;
  std::uint64_t platform_hash = 0;
  std::string platform_json;
  std::uint32_t sram_bytes = 0;
  std::vector<Program> programs;
  std::vector<Instance> instances;
  std::vector<Stream> streams;
  std::vector<HostStep> host_steps;  ///< code i + 1 is host_steps[i]
  std::string interface_json;        ///< the model's inputs and outputs and the streams that carry them
  std::string report_json;           ///< what the compiler reports: memory, passes, vertices; for --explain

  [[nodiscard]] const Stream* find_stream(const std::string& stream_name) const;
};

/// Step at a pc of the control program; nullptr outside.
[[nodiscard]] const Step* find_step(const Program& program, Address pc);
/// Tensor by name; nullptr if there is none.
[[nodiscard]] const TensorMap* find_tensor(const Program& program, const std::string& name);
/// Symbol that holds a pc; nullptr if none does.
[[nodiscard]] const Symbol* find_symbol(const Program& program, Address pc);
/// Source line at a pc: "file:line"; empty if it is not known.
[[nodiscard]] std::string find_source(const Program& program, Address pc);
/// Record of a tile's lists that calls with this state address (a0 of the call); nullptr if none.
[[nodiscard]] const VertexRecord* find_vertex(const Program& program, std::uint32_t tile, ContextId worker,
                                              Address state);
/// Exchange table that holds a descriptor address; nullptr if none.
[[nodiscard]] const TileTable* find_table(const Program& program, std::uint32_t tile, Address descriptor);

}  // namespace tessera::executable
