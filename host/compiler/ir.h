// What the passes hand to each other: supersteps (exchange, compute, host) in a tree of control, and what they read and
// write. Internal to host/compiler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/codelets/codelet.h"
#include "host/compiler/layout.h"
#include "host/executable/executable.h"
#include "host/graph/graph.h"

namespace tessera::compiler {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

/// Words that go from one tile to another (or the same) by exchange: `rows` rows of `words` contiguous words. Places
/// are multiples of 4, strides are bytes from row to row.
struct WordMove {
  Place src, dst;
  std::uint32_t words = 0;
  std::uint32_t rows = 1;
  std::int64_t src_stride = 0, dst_stride = 0;
};

/// Variables that a superstep touches. `kills`: written in all elements before anything of them is read.
struct Touch {
  std::vector<std::uint32_t> reads, writes, kills;
};

struct ExchangeStep {
  std::string path, name;
  std::vector<WordMove> moves;
  Touch touch;
  std::uint8_t src_base = 0, dst_base = 0;  ///< 1: addresses are relative to xbase1 (dynamic slice and update)
  std::uint32_t index_variable = kNone;     ///< one word a tile: the index of a dynamic step
  bool signed_index = false;
  std::uint32_t index_limit = 0;            ///< largest index
  std::vector<std::uint32_t> index_stride;  ///< bytes from index to index, by tile
};

/// A word of vertex state: value, plus the address of a variable's block on the vertex's tile.
struct StateWord {
  std::uint32_t value = 0;
  std::uint32_t variable = kNone;
};

/// Vertices of one family on one tile.
struct Calls {
  std::uint32_t tile = 0;
  const CodeletInfo* codelet = nullptr;
  std::uint32_t name = 0;   ///< index into Ir::vertex_names
  std::uint64_t first = 0;  ///< member number of the first
  std::uint64_t count = 0;
  std::uint64_t cycles = 0;       ///< estimate for one; AMP: cycles of the tile
  std::vector<StateWord> states;  ///< count * (state_bytes / 4)
};

struct ComputeStep {
  std::string path, name;
  std::vector<Calls> calls;  ///< by tile
  Touch touch;
  /// Of a step that reads parameters of its function by address: the step of each variant, itself first. Touch is that
  /// of all of them; the others are no steps of the program.
  std::vector<std::uint32_t> by_variant;
  std::uint32_t window = kNone;  ///< of a step that reads parameters through its function's window: the function

  /// Whether some vertex is one of AMP, or some is not.
  [[nodiscard]] bool any(bool amp) const {
    return std::any_of(calls.begin(), calls.end(), [&](const Calls& c) { return c.codelet->amp == amp; });
  }
};

/// Words that a tile reads from or writes to a host buffer.
struct HostWords {
  Place place;
  std::uint32_t stream = 0;
  std::uint64_t offset = 0;  ///< bytes in the buffer
  std::uint32_t words = 0;
};

/// Streams are moved, a tensor is shown, or the run ends with a message.
struct HostStep {
  std::string path, name;
  executable::HostStep::Kind kind = executable::HostStep::Kind::streams;
  std::string text;                          ///< print: label; abort: message
  graph::Tensor shown;                       ///< print
  bool unattended = false;                   ///< streams: the host does not come in between, the entry says what moves
  std::vector<std::uint32_t> reads, writes;  ///< streams
  std::vector<HostWords> words;
  Touch touch;
};

/// Where a predicate stands.
struct Predicate {
  Place place;
  unsigned bytes = 4;
};

/// A tensor that tools look at when the program gets here.
struct TapPoint {
  std::string path;
  std::vector<std::string> names;
  graph::Tensor tensor;
};

struct Node {
  enum class Kind : std::uint8_t {
    sequence,
    exchange,
    compute,
    host,
    sync,
    repeat,
    repeat_while,
    branch,
    choice,
    call,
    undef,
    tap
  };
  Kind kind = Kind::sequence;
  std::string path;
  std::uint32_t index = 0;  ///< of the step; of the function; count of a repeat; variable of a choice's selector
  Predicate predicate;
  std::vector<Node> children;  ///< sequence: all; repeat: body; repeat_while: condition, body; branch: then, else;
                               ///< choice: cases, fallback
  std::vector<std::uint32_t> arguments{};  ///< call: constants, until resolve_parameters
  std::uint32_t variant = 0;               ///< call: which list of arguments given by address; block of a window
};

struct StreamLayout {
  std::vector<executable::BufferRun> layout;
  std::vector<HostWords> words;
  std::uint64_t bytes = 0;
  bool used = false;
};

struct VertexName {
  std::string vertex, codelet, compute_set;
};

/// Constants that a function's calls read through one set of run lists. On every tile they stand in blocks of equal
/// layout and distance, one for each list of arguments; the lists point into the first, and are changed to another
/// before a call (tessera_rebase).
struct Window {
  std::vector<std::vector<std::uint32_t>> blocks;  ///< variables, by list of arguments
};

/// The whole program between passes. The graph is a copy that staging variables are added to.
struct Ir {
  explicit Ir(const graph::Graph& source) : graph(source) {}

  graph::Graph graph;
  Layout layout;
  std::vector<std::uint32_t> alignment;  ///< of each variable's blocks, bytes, at least kIntervalAlign
  std::vector<ExchangeStep> exchanges;
  std::vector<ComputeStep> computes;
  std::vector<HostStep> hosts;
  std::vector<std::vector<std::uint32_t>> undefined;  ///< variables whose contents a node of kind undef drops
  std::vector<TapPoint> taps;
  std::vector<VertexName> vertex_names;
  std::vector<StreamLayout> streams;
  std::vector<Node> entries;            ///< as graph.entries()
  std::vector<Node> functions;          ///< as graph.functions()
  std::vector<std::uint32_t> variants;  ///< of each function: in how many ways it is called, at least 1
  std::vector<Window> windows;          ///< of each function; without blocks if it has none
  std::uint64_t relayout_bytes = 0;
  std::uint64_t staging_bytes = 0;
  std::uint64_t vertex_count = 0, edge_count = 0;
  /// May be empty. Long passes call it between their parts, also from several threads; what it throws ends the pass.
  std::function<void()> poll;
  bool keeps_moves = true;  ///< else exchanges know what they touch, but not which words

  void check_poll() const {
    if (poll) poll();
  }
  /// Adds a variable of the compiler, mapped by intervals of its flat elements.
  graph::Tensor add_variable(graph::Type type, std::uint64_t elements, std::string name,
                             const std::vector<graph::TileInterval>& mapping);
  /// Layouts of variables that were added to the graph.
  void update_layout();
};

}  // namespace tessera::compiler
